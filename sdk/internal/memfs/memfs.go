// Package memfs is a file system in memory that can lose its power, for tests. LosePower forgets what was not synced, in ways that a real
// file system may.
package memfs

import (
	"bytes"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// FS is the file system. It has no symbolic links.
type FS struct {
	root  *node
	nodes []*node // all nodes that were ever created
	moves []move  // renames between directories since the last loss of power
}

// move is a rename from one directory to another. A journaling file system loses such a rename completely or not at all, and never loses the
// node.
type move struct {
	node     *node
	from, to *node
	name     string // name of the node's entry in the directory from
}

var _ filesystem.FS = (*FS)(nil)

// node is a file or directory.
type node struct {
	mode     fs.FileMode
	data     []byte
	synced   []byte             // for a file: the data at the last sync, which a loss of power preserves
	entries  map[string]*node   // for a directory: the nodes of the entries, keyed by name
	versions []map[string]*node // for a directory: the entries at the last sync, and after each later change
}

// New returns an empty file system.
func New() *FS {
	root := newDir()
	return &FS{root: root, nodes: []*node{root}}
}

func newDir() *node {
	return &node{mode: fs.ModeDir | 0o755, entries: map[string]*node{}, versions: []map[string]*node{{}}}
}

// LosePower simulates a loss of power. Each directory gets one of the states that it has had since its last sync. A file with data that was
// not synced may get back the data of its last sync. choose makes these choices: it returns a number from 0 to n-1.
func (f *FS) LosePower(choose func(n int) int) {
	for _, n := range f.nodes {
		if n.mode.IsDir() {
			n.entries = n.versions[choose(len(n.versions))]
		} else if choose(2) == 0 {
			n.data = n.synced
		}
	}
	for _, m := range slices.Backward(f.moves) {
		switch arrived := slices.Contains(slices.Collect(maps.Values(m.to.entries)), m.node); {
		case arrived && m.from.entries[m.name] == m.node:
			delete(m.from.entries, m.name)
		case !arrived && m.from.entries[m.name] == nil:
			m.from.entries[m.name] = m.node
		}
	}
	f.moves = nil
	for _, n := range f.nodes {
		n.versions = []map[string]*node{maps.Clone(n.entries)}
		n.synced = n.data
	}
}

// Files returns the contents of all files, keyed by path. The paths of directories end in a slash.
func (f *FS) Files() map[string]string {
	all := map[string]string{}
	f.root.list("", all)
	return all
}

func (n *node) list(path string, all map[string]string) {
	for name, entry := range n.entries {
		if below := path + "/" + name; entry.mode.IsDir() {
			all[below+"/"] = ""
			entry.list(below, all)
		} else {
			all[below] = string(entry.data)
		}
	}
}

func fail(op, path string, errno syscall.Errno) error {
	return &fs.PathError{Op: op, Path: path, Err: errno}
}

func (f *FS) find(op, path string) (*node, error) {
	at := f.root
	for name := range strings.SplitSeq(strings.Trim(filepath.ToSlash(path), "/"), "/") {
		if name == "" {
			continue
		}
		if !at.mode.IsDir() {
			return nil, fail(op, path, syscall.ENOTDIR)
		}
		if at = at.entries[name]; at == nil {
			return nil, fail(op, path, syscall.ENOENT)
		}
	}
	return at, nil
}

// change sets the node of an entry in a directory. If to is nil, it removes the entry.
func (f *FS) change(op, path string, to *node) error {
	dir, err := f.find(op, filepath.Dir(path))
	if err != nil {
		return err
	}
	if dir.entries == nil {
		return fail(op, path, syscall.ENOTDIR)
	}
	if name := filepath.Base(path); to == nil {
		delete(dir.entries, name)
	} else {
		dir.entries[name] = to
	}
	dir.versions = append(dir.versions, maps.Clone(dir.entries))
	return nil
}

func (f *FS) add(op, path string, n *node) error {
	if _, err := f.find(op, path); err == nil {
		return fail(op, path, syscall.EEXIST)
	}
	f.nodes = append(f.nodes, n)
	return f.change(op, path, n)
}

type info struct {
	name string
	node *node
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return int64(len(i.node.data)) }
func (i info) Mode() fs.FileMode  { return i.node.mode }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.node.mode.IsDir() }
func (i info) Sys() any           { return i.node }

// Lstat implements filesystem.FS, as the following methods do.
func (f *FS) Lstat(path string) (fs.FileInfo, error) {
	n, err := f.find("lstat", path)
	if err != nil {
		return nil, err
	}
	return info{filepath.Base(path), n}, nil
}

// Stat does the same as Lstat, since there are no symbolic links.
func (f *FS) Stat(path string) (fs.FileInfo, error) { return f.Lstat(path) }

// Readlink fails, because there are no symbolic links.
func (f *FS) Readlink(path string) (string, error) { return "", fail("readlink", path, syscall.EINVAL) }

// ReadDir implements filesystem.FS.
func (f *FS) ReadDir(path string) ([]fs.DirEntry, error) {
	n, err := f.find("readdir", path)
	if err != nil {
		return nil, err
	}
	var entries []fs.DirEntry
	for _, name := range slices.Sorted(maps.Keys(n.entries)) {
		entries = append(entries, fs.FileInfoToDirEntry(info{name, n.entries[name]}))
	}
	return entries, nil
}

// Open implements filesystem.FS.
func (f *FS) Open(path string) (io.ReadCloser, error) {
	n, err := f.find("open", path)
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(n.data)), nil
}

// Create implements filesystem.FS.
func (f *FS) Create(path string, mode fs.FileMode) (filesystem.File, error) {
	n := &node{mode: mode}
	if err := f.add("create", path, n); err != nil {
		return nil, err
	}
	return n, nil
}

func (n *node) Write(data []byte) (int, error) {
	n.data = append(slices.Clip(n.data), data...)
	return len(data), nil
}

func (n *node) Sync() error {
	n.synced = n.data
	return nil
}

func (n *node) Close() error { return nil }

// Mkdir implements filesystem.FS.
func (f *FS) Mkdir(path string, _ fs.FileMode) error { return f.add("mkdir", path, newDir()) }

// Symlink fails, because there are no symbolic links.
func (f *FS) Symlink(_, path string) error { return fail("symlink", path, syscall.ENOTSUP) }

// Link implements filesystem.FS.
func (f *FS) Link(from, to string) error {
	n, err := f.find("link", from)
	if err != nil {
		return err
	}
	return f.add("link", to, n)
}

// Rename implements filesystem.FS. A rename within a directory is one change; any other rename is two changes.
func (f *FS) Rename(from, to string) error {
	n, err := f.find("rename", from)
	if err != nil {
		return err
	}
	if there, err := f.find("rename", to); err == nil && there == n {
		return nil // two hard links to one file stay unchanged, as POSIX specifies
	}
	if err := f.change("rename", to, n); err != nil {
		return err
	}
	if err := f.change("rename", from, nil); err != nil {
		return err
	}
	source, _ := f.find("rename", filepath.Dir(from))
	target, _ := f.find("rename", filepath.Dir(to))
	if source == target {
		source.versions = slices.Delete(source.versions, len(source.versions)-2, len(source.versions)-1)
	} else {
		f.moves = append(f.moves, move{n, source, target, filepath.Base(from)})
	}
	return nil
}

// Remove implements filesystem.FS.
func (f *FS) Remove(path string) error {
	n, err := f.find("remove", path)
	if err != nil {
		return err
	}
	if len(n.entries) > 0 {
		return fail("remove", path, syscall.ENOTEMPTY)
	}
	return f.change("remove", path, nil)
}

// CopyMode implements filesystem.FS.
func (f *FS) CopyMode(from, to string) error {
	source, err := f.find("chmod", from)
	if err != nil {
		return err
	}
	target, err := f.find("chmod", to)
	if err != nil {
		return err
	}
	target.mode = source.mode
	return nil
}

// SyncDir implements filesystem.FS.
func (f *FS) SyncDir(path string) error {
	n, err := f.find("sync", path)
	if err != nil {
		return err
	}
	n.versions = []map[string]*node{maps.Clone(n.entries)}
	return nil
}

// CheckWritable implements filesystem.FS.
func (f *FS) CheckWritable(path string) error {
	_, err := f.find("check", path)
	return err
}
