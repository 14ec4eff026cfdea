package vfs

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero/experimental/sys"
	wsys "github.com/tetratelabs/wazero/sys"
)

// Most paths contain no symbolic link. The functions in this file open such a path with one system call, whereas a walk needs
// several for each component. Package beneath follows no link here, so a path with a symbolic link fails. If a path contains a
// symbolic link, "..", or a hidden name, or cannot be decided here for another reason, the result ok is false, nothing is reported,
// and the walk decides.

// lexicalPlace returns the place of a path that contains no symbolic link, and its name relative to the mount.
func (f *FS) lexicalPlace(name string) (at *place, rel string, ok bool) {
	parts, dirOnly, err := split(name)
	if err != nil || dirOnly || slices.Contains(parts, "..") {
		return nil, "", false
	}
	at = &place{path: "/" + strings.Join(parts, "/")}
	at.mount = f.config.Mounts.containing(at.path)
	if at.mount == nil || at.mount.Path == at.path {
		return nil, "", false
	}
	if at.dir = at.mount.dir(); at.dir == nil {
		return nil, "", false
	}
	begin := len(strings.TrimSuffix(at.mount.Path, "/")) + 1
	for end := begin; f.config.Hidden != nil && end < len(at.path); end++ {
		if at.path[end] == '/' && f.isHidden(at.path[:end]) {
			return nil, "", false
		}
	}
	return at, at.path[begin:], !f.isHidden(at.path)
}

// fastStat is stat for a path without symbolic links.
func (f *FS) fastStat(name string) (out wsys.Stat_t, err error, ok bool) {
	at, rel, ok := f.lexicalPlace(name)
	if !ok {
		return out, nil, false
	}
	st, err := at.dir.Lstat(rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return out, sys.ENOENT, true
	case err != nil || st.IsLink():
		return out, nil, false
	}
	f.config.Reading(at.mount.Path)
	return realStat(st), nil, true
}

// fastOpen opens a regular file for reading, for a path without symbolic links.
func (f *FS) fastOpen(name string) (sys.File, error, bool) {
	at, rel, ok := f.lexicalPlace(name)
	if !ok {
		return nil, nil, false
	}
	osFile, st, err := at.dir.Open(rel, os.O_RDONLY, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, sys.ENOENT, true
	case err != nil:
		return nil, nil, false
	case !st.Mode.IsRegular():
		_ = osFile.Close() // the walk opens directories
		return nil, nil, false
	}
	f.config.Reading(at.mount.Path)
	file, err := f.newFile(osFile, at, st, sys.O_RDONLY)
	return file, err, true
}
