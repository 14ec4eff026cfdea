//go:build linux || darwin

package vfs

import (
	"slices"
	"strings"

	"github.com/tetratelabs/wazero/experimental/sys"
	wsys "github.com/tetratelabs/wazero/sys"
)

// plain is where a path leads if no link is on it, and its way from there; false where that does not settle
// who grants it, or something on it is hidden.
func (f *FS) plain(name string) (at *place, rel string, ok bool) {
	parts, dirOnly, err := split(name)
	if err != nil || dirOnly || slices.Contains(parts, "..") {
		return nil, "", false
	}
	at = &place{path: "/" + strings.Join(parts, "/")}
	for i := range f.mounts {
		if !inside(f.mounts[i].Path, at.path) {
			continue
		}
		if at.mount != nil {
			return nil, "", false
		}
		at.mount = &f.mounts[i]
	}
	if at.mount == nil || at.mount.Path == at.path {
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

// quickStat is stat for a path that quick can find.
func (f *FS) quickStat(name string) (st wsys.Stat_t, err error, ok bool) {
	at, file, err, ok := f.quick(name)
	if !ok || err != nil {
		return st, err, ok
	}
	defer func() { _ = file.Close() }() // nothing was written to it
	return realStat(at.info), nil, true
}

// quickOpen opens a regular file to be read, at a path that quick can find.
func (f *FS) quickOpen(name string) (sys.File, error, bool) {
	at, found, err, ok := f.quick(name)
	if !ok || err != nil {
		return nil, err, ok
	}
	defer func() { _ = found.Close() }()
	if !at.info.Mode().IsRegular() {
		return nil, nil, false
	}
	osFile, err := reopen(found)
	if err != nil {
		return nil, nil, false
	}
	file, err := f.newFile(osFile, at, at.info, sys.O_RDONLY)
	return file, err, true
}
