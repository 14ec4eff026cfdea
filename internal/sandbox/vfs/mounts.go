package vfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
)

// FileID identifies a file while it exists.
type FileID = beneath.FileID

// Mount is one granted directory. Its path in the tree is its path on the host.
type Mount struct {
	// Path is absolute and clean, and resolved by the caller. The tree does not open it.
	Path string
	// Aliases are paths with symbolic links by which modules name the directory as well. An alias inside another mount has no
	// effect, since the symbolic links of that mount are followed.
	Aliases []string
	// Write allows changes; otherwise the directory is read-only.
	Write bool
	// Dir is the open directory, on Linux possibly with O_PATH; nil means that it does not exist yet. It must stay open
	// while the trees are used.
	Dir *os.File
	// Create creates the directory if Dir is nil and a module calls mkdir with the mount's path. Its context is the context of
	// the module's call. All trees then use the created directory. nil means that it cannot be created.
	Create func(context.Context) (*os.File, error)
	// Anchors are the directories and symbolic links on the granted path. No module may move or replace them: it could
	// otherwise choose the directory that is granted at the next start.
	Anchors []FileID
	// InGit means that InGitDirectory is true for the directory, so nothing in it can be changed. The same applies if an alias
	// is in a .git directory, since git finds the directory there.
	InGit bool
}

// Mounts are the granted directories of one plugin, for all of its trees.
type Mounts struct {
	list    []*mount // longest path first
	aliases map[string]*mount
	anchors map[FileID]bool
}

// mount is a granted directory and its current handle.
type mount struct {
	Mount
	creating sync.Mutex
	handle   atomic.Pointer[mountHandle]
}

// mountHandle is the open directory of a mount.
type mountHandle struct {
	dir *beneath.Dir
	id  FileID
}

// NewMounts validates the mounts of a plugin. It fails if a path is relative, not clean or a duplicate, or if a handle is
// not a directory.
func NewMounts(list []Mount) (*Mounts, error) {
	ms := &Mounts{aliases: map[string]*mount{}, anchors: map[FileID]bool{}}
	for _, m := range list {
		for _, p := range append([]string{m.Path}, m.Aliases...) {
			if !path.IsAbs(p) || path.Clean(p) != p || strings.ContainsRune(p, 0) {
				return nil, fmt.Errorf("mount %q: the path must be absolute and clean", p)
			}
		}
		out := &mount{Mount: m}
		out.InGit = m.InGit || slices.ContainsFunc(m.Aliases, InGit)
		if m.Dir != nil {
			if err := out.use(m.Dir); err != nil {
				return nil, fmt.Errorf("mount %q: %w", m.Path, err)
			}
		}
		for _, id := range m.Anchors {
			ms.anchors[id] = true
		}
		for _, alias := range m.Aliases {
			ms.aliases[alias] = out
		}
		ms.list = append(ms.list, out)
	}
	slices.SortFunc(ms.list, func(a, b *mount) int {
		if d := len(b.Path) - len(a.Path); d != 0 {
			return d
		}
		return strings.Compare(a.Path, b.Path)
	})
	for i := 1; i < len(ms.list); i++ {
		if ms.list[i].Path == ms.list[i-1].Path {
			return nil, fmt.Errorf("mount %q is a duplicate", ms.list[i].Path)
		}
	}
	return ms, nil
}

func (m *mount) use(file *os.File) error {
	dir, err := beneath.New(file)
	if err != nil {
		return err
	}
	st, err := dir.Stat()
	if err != nil {
		return err
	}
	m.handle.Store(&mountHandle{dir, st.FileID})
	return nil
}

// Created supplies the directory of a mount that did not exist, if the caller has created it.
func (ms *Mounts) Created(p string, dir *os.File) error {
	m := ms.at(p)
	if m == nil {
		return fmt.Errorf("%s is no mount", p)
	}
	return m.use(dir)
}

// dir returns the mount's directory; nil if it does not exist yet.
func (m *mount) dir() *beneath.Dir {
	if h := m.handle.Load(); h != nil {
		return h.dir
	}
	return nil
}

// create creates the mount's directory. If it is called concurrently, one call succeeds and the others fail with
// fs.ErrExist.
func (m *mount) create(ctx context.Context) error {
	m.creating.Lock()
	defer m.creating.Unlock()
	switch {
	case m.dir() != nil:
		return fs.ErrExist
	case m.Create == nil:
		return errCannotCreate
	}
	file, err := m.Create(ctx)
	if err != nil {
		return err
	}
	return m.use(file)
}

var errCannotCreate = errors.New("the granted directory does not exist, and the host cannot create it: create it yourself, or grant it with access = \"rw\"")

// at returns the mount whose path is p; nil if there is none.
func (ms *Mounts) at(p string) *mount {
	for _, m := range ms.list {
		if m.Path == p {
			return m
		}
	}
	return nil
}

// containing returns the innermost mount whose path is p or an ancestor of it; nil if there is none.
func (ms *Mounts) containing(p string) *mount {
	for _, m := range ms.list {
		if Inside(m.Path, p) {
			return m
		}
	}
	return nil
}

// open returns the innermost mount that exists and whose path is p or an ancestor of it; nil if there is none.
func (ms *Mounts) open(p string) *mount {
	for _, m := range ms.list {
		if Inside(m.Path, p) && m.dir() != nil {
			return m
		}
	}
	return nil
}

// atAlias returns the mount of which p is the path or an alias; nil if there is none.
func (ms *Mounts) atAlias(p string) *mount {
	if m := ms.at(p); m != nil {
		return m
	}
	return ms.aliases[p]
}

// hasBelow reports whether the path or an alias of some mount is below p.
func (ms *Mounts) hasBelow(p string) bool {
	for alias := range ms.aliases {
		if alias != p && Inside(p, alias) {
			return true
		}
	}
	return slices.ContainsFunc(ms.list, func(m *mount) bool { return m.Path != p && Inside(p, m.Path) })
}

// Inside reports whether p is dir or below it.
func Inside(dir, p string) bool {
	return dir == "/" || p == dir || (strings.HasPrefix(p, dir) && p[len(dir)] == '/')
}

// children returns the sorted entries of a virtual directory: the next component of each path of a mount below it.
// Absent mounts are left out.
func (ms *Mounts) children(dir string) []string {
	var names []string
	add := func(p string, m *mount) {
		if p == dir || !Inside(dir, p) {
			return
		}
		name, _, deeper := strings.Cut(strings.TrimPrefix(p[len(dir):], "/"), "/")
		if deeper || m.dir() != nil {
			names = append(names, name)
		}
	}
	for _, m := range ms.list {
		add(m.Path, m)
	}
	for alias, m := range ms.aliases {
		add(alias, m)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// aliased returns the read-only mount whose directory has this identity; nil if there is none.
func (ms *Mounts) aliased(id FileID) *mount {
	for _, m := range ms.list {
		if h := m.handle.Load(); !m.Write && h != nil && h.id == id {
			return m
		}
	}
	return nil
}
