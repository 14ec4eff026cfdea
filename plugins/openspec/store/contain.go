package store

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// ErrLink means that a call would write through a symbolic link, or to a path that is neither a directory nor a regular
// file.
var ErrLink = errors.New("is a symbolic link or special file; nothing was written, replace it by a directory or file")

// contained returns an error if one of the directories to which calls write resolves to a path outside of the project.
func (r *Root) contained() error {
	for _, dir := range []string{r.Dir, r.SpecsDir(), r.ChangesDir(), r.ArchiveDir()} {
		if !r.missing(dir) && !r.reachable(dir) {
			return &fs.PathError{Op: "write to", Path: dir, Err: ErrLink}
		}
	}
	return nil
}

// plain returns an error if the path of a main spec contains a symbolic link. ReadSpec omits such a spec. So a merge
// would treat the spec as new, and would overwrite the target of the link without reading it.
func (r *Root) plain(id string) error {
	folder, err := r.plainDirs(id)
	if err != nil || folder == "" {
		return err
	}
	return r.requireKind(filepath.Join(folder, specFile), fs.FileMode.IsRegular)
}

// plainDirs returns an error if one of the directories in the path of a spec exists and is not a directory. Otherwise
// it returns the innermost directory; "" if that directory does not exist.
func (r *Root) plainDirs(id string) (innermost string, err error) {
	dir := r.SpecsDir()
	for segment := range strings.SplitSeq(id, "/") {
		dir = filepath.Join(dir, segment)
		if r.missing(dir) {
			return "", nil
		}
		if err := r.requireKind(dir, fs.FileMode.IsDir); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// requireKind returns an error if path exists and the function kind returns false for its mode.
func (r *Root) requireKind(path string, kind func(fs.FileMode) bool) error {
	info, err := r.files.Lstat(path)
	if err != nil {
		return filesystem.IgnoreAbsent(err)
	}
	if !kind(info.Mode()) {
		return &fs.PathError{Op: "write to", Path: path, Err: ErrLink}
	}
	return nil
}
