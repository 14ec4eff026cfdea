//go:build linux || darwin

package vfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/bulkhead-mcp/bulkhead/host/sandbox/beneath"
)

// FileID tells files apart for as long as they are there.
type FileID = beneath.FileID

// Mount is one granted directory. It appears in the tree at the path it has on the host.
type Mount struct {
	// Path is absolute, clean and free of symbolic links, by the word of whoever resolved it. The tree
	// opens nothing by it.
	Path string
	// Write allows changes; false: the directory can only be read.
	Write bool
	// Dir is the directory, on Linux possibly opened with O_PATH; nil: it is not there yet. It must stay
	// open for as long as the trees are in use.
	Dir *os.File
	// Create makes the directory when Dir is nil and a module makes a directory of the mount's own path. All
	// trees use what it returns from then on. nil: the directory cannot be made.
	Create func() (*os.File, error)
	// Anchors are the directories and symbolic links that lead to the mount, which no module may move or
	// replace: whoever can put something else in their place would choose what is granted next time.
	Anchors []FileID
	// InGit says that the directory is, or lies in, what InGitDirectory calls a git directory: nothing in it
	// can be changed.
	InGit bool
}

// Mounts are the granted directories of one plugin, for all of its trees.
type Mounts struct {
	list    []*mount // longest path first
	anchors map[FileID]bool
}

// mount is a granted directory, and what is known of it by now.
type mount struct {
	Mount
	creating sync.Mutex
	handle   atomic.Pointer[handleOf]
}

// handleOf is the open directory of a mount.
type handleOf struct {
	dir *beneath.Dir
	id  FileID
}

// NewMounts checks the mounts of a plugin. It is an error if a path is not absolute and clean, or is given
// twice, or a handle is not that of a directory.
func NewMounts(list []Mount) (*Mounts, error) {
	ms := &Mounts{anchors: map[FileID]bool{}}
	for _, m := range list {
		if !path.IsAbs(m.Path) || path.Clean(m.Path) != m.Path || strings.ContainsRune(m.Path, 0) {
			return nil, fmt.Errorf("mount %q: the path must be absolute and clean", m.Path)
		}
		out := &mount{Mount: m}
		if m.Dir != nil {
			if err := out.use(m.Dir); err != nil {
				return nil, fmt.Errorf("mount %q: %w", m.Path, err)
			}
		}
		for _, id := range m.Anchors {
			ms.anchors[id] = true
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
			return nil, fmt.Errorf("mount %q is given twice", ms.list[i].Path)
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
	m.handle.Store(&handleOf{dir, st.FileID})
	return nil
}

// dir is the mount's directory; nil: it is not there yet.
func (m *mount) dir() *beneath.Dir {
	if h := m.handle.Load(); h != nil {
		return h.dir
	}
	return nil
}

// create makes the mount's directory. Of several that try at the same time one succeeds.
func (m *mount) create() error {
	m.creating.Lock()
	defer m.creating.Unlock()
	switch {
	case m.dir() != nil:
		return fs.ErrExist
	case m.Create == nil:
		return errCannotCreate
	}
	file, err := m.Create()
	if err != nil {
		return err
	}
	return m.use(file)
}

var errCannotCreate = errors.New("the granted directory is not there and cannot be made")

// at is the mount whose directory is p itself; nil: none.
func (ms *Mounts) at(p string) *mount {
	for _, m := range ms.list {
		if m.Path == p {
			return m
		}
	}
	return nil
}

// holding is the mount that serves p: the longest that is p or an ancestor of it; nil: none.
func (ms *Mounts) holding(p string) *mount {
	for _, m := range ms.list {
		if inside(m.Path, p) {
			return m
		}
	}
	return nil
}

// open is the longest mount whose directory is there and that is p or an ancestor of it; nil: none.
func (ms *Mounts) open(p string) *mount {
	for _, m := range ms.list {
		if inside(m.Path, p) && m.dir() != nil {
			return m
		}
	}
	return nil
}

// below reports whether some mount lies further down than p.
func (ms *Mounts) below(p string) bool {
	return slices.ContainsFunc(ms.list, func(m *mount) bool { return m.Path != p && inside(p, m.Path) })
}

// inside reports whether p is dir or lies in it, by whole components.
func inside(dir, p string) bool {
	return dir == "/" || p == dir || (strings.HasPrefix(p, dir) && p[len(dir)] == '/')
}

// children are the names that a bare directory shows, sorted: the next component towards each mount.
// A mount whose directory is not there is not shown.
func (ms *Mounts) children(dir string) []string {
	var names []string
	for _, m := range ms.list {
		if m.Path == dir || !inside(dir, m.Path) {
			continue
		}
		name, _, deeper := strings.Cut(strings.TrimPrefix(m.Path[len(dir):], "/"), "/")
		if deeper || m.dir() != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// aliased is the mount that can only be read and whose directory has this identity; nil: none.
func (ms *Mounts) aliased(id FileID) *mount {
	for _, m := range ms.list {
		if h := m.handle.Load(); !m.Write && h != nil && h.id == id {
			return m
		}
	}
	return nil
}
