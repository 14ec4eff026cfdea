package store

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// ErrLink says that there is a link, or something else that is neither folder nor file, where a call writes.
var ErrLink = errors.New("is no real folder or file; nothing was written, put one in its place")

// contained refuses a project of which one of the folders that calls write to leads out of it.
func (r *Root) contained() error {
	for _, dir := range []string{r.Folder, r.SpecsDir(), r.ChangesDir(), r.ArchiveDir()} {
		if !r.missing(dir) && !r.reachable(dir) {
			return &fs.PathError{Op: "write to", Path: dir, Err: ErrLink}
		}
	}
	return nil
}

// plain refuses a main spec that is written through a link, or in the place of one. Reading leaves such a
// spec out, so that a merge takes it for a new one: what is behind the link would be overwritten unseen.
func (r *Root) plain(id string) error {
	folder, err := r.plainFolders(id)
	if err != nil || folder == "" {
		return err
	}
	return r.is(filepath.Join(folder, specFile), fs.FileMode.IsRegular)
}

// plainFolders looks at the folders of an id, and returns the innermost one; "" if it is not there yet.
func (r *Root) plainFolders(id string) (innermost string, err error) {
	dir := r.SpecsDir()
	for segment := range strings.SplitSeq(id, "/") {
		dir = filepath.Join(dir, segment)
		if r.missing(dir) {
			return "", nil
		}
		if err := r.is(dir, fs.FileMode.IsDir); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// is refuses what is there and not of a kind.
func (r *Root) is(path string, kind func(fs.FileMode) bool) error {
	info, err := r.files.Lstat(path)
	if err != nil {
		return filesystem.IgnoreAbsent(err)
	}
	if !kind(info.Mode()) {
		return &fs.PathError{Op: "write to", Path: path, Err: ErrLink}
	}
	return nil
}
