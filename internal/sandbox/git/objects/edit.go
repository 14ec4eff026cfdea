package objects

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/hosterror"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Edit is a validated set of changes to a tree. It is a trie of path components: each node has the change of the file at the node's path,
// and the nodes below that path.
type Edit struct {
	change   *abi.GitChange
	children map[string]*Edit
}

// NewEdit validates changes.
func NewEdit(changes []abi.GitChange) (*Edit, error) {
	top := &Edit{}
	for i := range changes {
		c := &changes[i]
		if err := checkNewPath(c.Path); err != nil {
			return nil, err
		}
		if c.Mode != "" && c.Mode != abi.GitModeFile && c.Mode != abi.GitModeExecutable {
			return nil, hosterror.Invalid("%s: mode %q: give %s or %s, or none", hosterror.Truncate(c.Path), hosterror.Truncate(c.Mode), abi.GitModeFile, abi.GitModeExecutable)
		}
		if c.Deleted && (c.Mode != "" || len(c.Content) > 0) {
			return nil, hosterror.Invalid("%s: a deleted file has neither content nor mode", hosterror.Truncate(c.Path))
		}
		at := top
		for part := range strings.SplitSeq(c.Path, "/") {
			if at.children == nil {
				at.children = map[string]*Edit{}
			}
			if at.children[part] == nil {
				at.children[part] = &Edit{}
			}
			at = at.children[part]
		}
		if at.change != nil {
			return nil, hosterror.Invalid("%s: there are two changes of this path: merge them", hosterror.Truncate(c.Path))
		}
		at.change = c
	}
	return top, nil
}

// Batch collects new objects in memory. Only Write writes them, so an error before that leaves the repository unchanged.
type Batch struct {
	store   *Store
	objects []object
}

// NewBatch returns an empty batch.
func (s *Store) NewBatch() *Batch { return &Batch{store: s} }

// Add adds an object and returns its hash.
func (b *Batch) Add(kind plumbing.ObjectType, data []byte) plumbing.Hash {
	b.objects = append(b.objects, object{kind, data})
	return HashOf(kind, data)
}

// Write writes the objects in the order in which they were added. An object is therefore written after all objects to which it refers.
func (b *Batch) Write() error {
	for _, o := range b.objects {
		if err := b.store.write(o); err != nil {
			return err
		}
	}
	return nil
}

// AddTree adds the blobs and trees that result from applying an edit to a tree, and returns the new tree.
func (b *Batch) AddTree(base plumbing.Hash, edit *Edit) (plumbing.Hash, error) {
	all, err := b.apply(&base, edit, "")
	if err != nil {
		return plumbing.ZeroHash, err
	}
	return b.AddEntries(all), nil
}

// apply returns the entries of a directory after an edit. base is the directory's tree; nil for a new directory.
func (b *Batch) apply(base *plumbing.Hash, edit *Edit, prefix string) ([]TreeEntry, error) {
	var all []TreeEntry
	if base != nil {
		var err error
		if all, err = b.store.tree(*base); err != nil {
			return nil, err
		}
	}
	for name, child := range edit.children {
		i := slices.IndexFunc(all, func(e TreeEntry) bool { return e.Name == name })
		var old *TreeEntry
		if i >= 0 {
			e := all[i]
			old, all = &e, slices.Delete(all, i, i+1)
		}
		now, err := b.applyEntry(old, child, prefix+name)
		if err != nil {
			return nil, err
		}
		if now != nil {
			now.Name = name
			all = append(all, *now)
		}
	}
	return all, nil
}

// applyEntry returns the entry at a path after an edit; nil if the entry is deleted. Git has no empty directories, so a directory that loses
// its last file is deleted.
func (b *Batch) applyEntry(old *TreeEntry, edit *Edit, path string) (*TreeEntry, error) {
	if edit.change != nil && edit.change.Deleted {
		if old == nil || old.Mode == ModeDir {
			return nil, fmt.Errorf("%s: cannot be deleted, because it does not exist", hosterror.Truncate(path))
		}
		old = nil
	}
	if edit.children != nil {
		var base *plumbing.Hash
		switch {
		case old != nil && old.Mode != ModeDir:
			return nil, fmt.Errorf("%s: is %s, and cannot contain files", hosterror.Truncate(path), kindOf(old.Mode))
		case old != nil:
			base = &old.Hash
		}
		all, err := b.apply(base, edit, path+"/")
		if err != nil {
			return nil, err
		}
		if old = nil; len(all) > 0 {
			old = &TreeEntry{Mode: ModeDir, Hash: b.AddEntries(all)}
		}
	}
	if edit.change == nil || edit.change.Deleted {
		return old, nil
	}
	if old != nil && old.Mode != ModeFile && old.Mode != ModeExecutable {
		return nil, fmt.Errorf("%s: is %s: only a regular file can be replaced", hosterror.Truncate(path), kindOf(old.Mode))
	}
	now := &TreeEntry{Mode: ModeFile, Hash: b.Add(plumbing.BlobObject, edit.change.Content)}
	if edit.change.Mode == abi.GitModeExecutable || edit.change.Mode == "" && old != nil && old.Mode == ModeExecutable {
		now.Mode = ModeExecutable
	}
	return now, nil
}

// AddEntries adds a tree with entries in any order, and returns its hash.
func (b *Batch) AddEntries(all []TreeEntry) plumbing.Hash {
	slices.SortFunc(all, func(x, y TreeEntry) int { return strings.Compare(x.sortKey(), y.sortKey()) })
	var data bytes.Buffer
	for _, e := range all {
		fmt.Fprintf(&data, "%o %s\x00%s", e.Mode, e.Name, e.Hash[:])
	}
	return b.Add(plumbing.TreeObject, data.Bytes())
}

func kindOf(mode uint32) string {
	switch mode {
	case ModeDir:
		return "a directory"
	case ModeLink:
		return "a symbolic link"
	case ModeSubmodule:
		return "a submodule"
	}
	return "a file"
}
