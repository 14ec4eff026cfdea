//go:build linux || darwin

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

// Most paths have no link on them. Those are looked at and opened in one step, where a walk takes several
// for each component. Where a link, "..", a hidden name or anything else leaves a doubt, ok is false, nothing
// is said, and the walk has to answer.

// plain is where a path leads if no link is on it, and its way there from the mount's directory.
func (f *FS) plain(name string) (at *place, rel string, ok bool) {
	parts, dirOnly, err := split(name)
	if err != nil || dirOnly || slices.Contains(parts, "..") {
		return nil, "", false
	}
	at = &place{path: "/" + strings.Join(parts, "/")}
	at.mount = f.mounts.holding(at.path)
	if at.mount == nil || at.mount.Path == at.path {
		return nil, "", false
	}
	if at.dir = at.mount.dir(); at.dir == nil {
		return nil, "", false
	}
	begin := len(strings.TrimSuffix(at.mount.Path, "/")) + 1
	for end := begin; f.policy.hidden != nil && end < len(at.path); end++ {
		if at.path[end] == '/' && f.policy.hides(at.path[:end]) {
			return nil, "", false
		}
	}
	return at, at.path[begin:], !f.policy.hides(at.path)
}

// quickStat is stat for a plain path.
func (f *FS) quickStat(name string) (out wsys.Stat_t, err error, ok bool) {
	at, rel, ok := f.plain(name)
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
	return realStat(st), nil, true
}

// quickOpen opens a regular file to be read, at a plain path.
func (f *FS) quickOpen(name string) (sys.File, error, bool) {
	at, rel, ok := f.plain(name)
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
		_ = osFile.Close() // a directory
		return nil, nil, false
	}
	file, err := f.newFile(osFile, at, st, sys.O_RDONLY)
	return file, err, true
}
