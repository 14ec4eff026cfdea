//go:build linux || darwin

package vfs

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// Mount is one granted folder. It appears in the tree at the path it has on the host.
type Mount struct {
	// Path is absolute and clean. Links on the way to it are the host's word and are followed,
	// except inside another mount: there a module may have made them.
	Path string
	// Write allows changes; false: the folder can only be read.
	Write bool
}

// mounts are the granted folders, longest path first.
type mounts []Mount

func newMounts(list []Mount) (mounts, error) {
	ms := mounts(slices.Clone(list))
	for _, m := range ms {
		if !path.IsAbs(m.Path) || path.Clean(m.Path) != m.Path || strings.ContainsRune(m.Path, 0) {
			return nil, fmt.Errorf("mount %q: the path must be absolute and clean", m.Path)
		}
	}
	slices.SortFunc(ms, func(a, b Mount) int {
		if d := len(b.Path) - len(a.Path); d != 0 {
			return d
		}
		return strings.Compare(a.Path, b.Path)
	})
	for i := 1; i < len(ms); i++ {
		if ms[i].Path == ms[i-1].Path {
			return nil, fmt.Errorf("mount %q is given twice", ms[i].Path)
		}
	}
	return ms, nil
}

// at is the mount whose folder is p itself; nil: none.
func (ms mounts) at(p string) *Mount {
	for i := range ms {
		if ms[i].Path == p {
			return &ms[i]
		}
	}
	return nil
}

// holding is the mount that serves p: the longest that is p or an ancestor of it; nil: none.
func (ms mounts) holding(p string) *Mount {
	for i := range ms {
		if inside(ms[i].Path, p) {
			return &ms[i]
		}
	}
	return nil
}

// below reports whether some mount lies further down than p.
func (ms mounts) below(p string) bool {
	return slices.ContainsFunc(ms, func(m Mount) bool { return m.Path != p && inside(p, m.Path) })
}

// inside reports whether p is dir or lies in it, by whole components.
func inside(dir, p string) bool {
	return dir == "/" || p == dir || (strings.HasPrefix(p, dir) && p[len(dir)] == '/')
}

// children are the names that a bare folder shows, sorted: the next component towards each mount.
// A mount whose folder is not there is not shown.
func (ms mounts) children(dir string) []string {
	var names []string
	for _, m := range ms {
		if m.Path == dir || !inside(dir, m.Path) {
			continue
		}
		name, _, deeper := strings.Cut(strings.TrimPrefix(m.Path[len(dir):], "/"), "/")
		if info, err := os.Stat(m.Path); deeper || (err == nil && info.IsDir()) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// rootIdentity says which folder of the host a mount's path leads to at this moment.
type rootIdentity struct {
	info  fs.FileInfo
	mount *Mount
}

// readOnly are the identities of the mounts that can only be read, without those that are not there.
func (ms mounts) readOnly() []rootIdentity {
	ids := make([]rootIdentity, 0, len(ms)) // never nil: nil is "not asked yet" to a walk
	for i := range ms {
		if ms[i].Write {
			continue
		}
		if info, err := os.Stat(ms[i].Path); err == nil {
			ids = append(ids, rootIdentity{info, &ms[i]})
		}
	}
	return ids
}

// anchors reports whether info is a folder or link that some mount's path leads through. Moving it
// would put something else in the mount's place. Names are not enough to tell: a file system that
// ignores case, or a mount reached through a link of the host's, has other names for the same folder.
func (ms mounts) anchors(info fs.FileInfo) bool {
	return slices.ContainsFunc(ms, func(m Mount) bool { return leadsThrough(m.Path, info, maxLinks) })
}

func leadsThrough(p string, info fs.FileInfo, links int) bool {
	for ; p != "/"; p = path.Dir(p) {
		step, err := os.Lstat(p)
		if err != nil {
			continue
		}
		if os.SameFile(step, info) {
			return true
		}
		if step.Mode()&fs.ModeSymlink == 0 || links == 0 {
			continue
		}
		target, err := os.Readlink(p)
		if err != nil {
			continue
		}
		if !path.IsAbs(target) {
			target = path.Join(path.Dir(p), target)
		}
		links--
		if leadsThrough(path.Clean(target), info, links) {
			return true
		}
	}
	return false
}
