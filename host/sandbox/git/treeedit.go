package git

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/go-git/go-git/v5/plumbing"
)

// treeEdit is what is to be changed at one path: the file there, and what lies below it.
type treeEdit struct {
	change *abi.GitChange
	below  map[string]*treeEdit
}

// newTreeEdit sorts changes into a tree.
func newTreeEdit(changes []abi.GitChange) (*treeEdit, error) {
	top := &treeEdit{}
	for i := range changes {
		c := &changes[i]
		if err := checkNewPath(c.Path); err != nil {
			return nil, err
		}
		if c.Mode != "" && c.Mode != abi.GitModeFile && c.Mode != abi.GitModeExecutable {
			return nil, invalid("%s: mode %q: give %s or %s, or none", shorten(c.Path), shorten(c.Mode), abi.GitModeFile, abi.GitModeExecutable)
		}
		if c.Deleted && (c.Mode != "" || len(c.Content) > 0) {
			return nil, invalid("%s: is to be deleted, and has a content or a mode", shorten(c.Path))
		}
		at := top
		for part := range strings.SplitSeq(c.Path, "/") {
			if at.below == nil {
				at.below = map[string]*treeEdit{}
			}
			if at.below[part] == nil {
				at.below[part] = &treeEdit{}
			}
			at = at.below[part]
		}
		if at.change != nil {
			return nil, invalid("%s: is changed twice", shorten(c.Path))
		}
		at.change = c
	}
	return top, nil
}

// treeBuilder makes the objects of a changed tree. It keeps them: nothing is written until all is well.
type treeBuilder struct {
	store   *store
	objects []object
}

func (b *treeBuilder) add(kind plumbing.ObjectType, data []byte) plumbing.Hash {
	o := object{kind, data}
	b.objects = append(b.objects, o)
	return hashOf(o)
}

// build gives the tree that changes make of another.
func (b *treeBuilder) build(base plumbing.Hash, edit *treeEdit) (plumbing.Hash, error) {
	all, err := b.folder(&base, edit, "")
	if err != nil {
		return plumbing.ZeroHash, err
	}
	return b.addTree(all), nil
}

// folder gives the entries of a folder; base is nil for a new one.
func (b *treeBuilder) folder(base *plumbing.Hash, edit *treeEdit, prefix string) ([]named, error) {
	var all []named
	if base != nil {
		var err error
		if all, err = b.store.tree(*base); err != nil {
			return nil, err
		}
	}
	for name, e := range edit.below {
		i := slices.IndexFunc(all, func(n named) bool { return n.name == name })
		var old *named
		if i >= 0 {
			o := all[i]
			old, all = &o, slices.Delete(all, i, i+1)
		}
		now, err := b.entry(old, e, prefix+name)
		if err != nil {
			return nil, err
		}
		if now != nil {
			now.name = name
			all = append(all, *now)
		}
	}
	return all, nil
}

// entry gives what stands at a path; nil if nothing does. A folder that loses its last file goes.
func (b *treeBuilder) entry(old *named, e *treeEdit, path string) (*named, error) {
	if e.change != nil && e.change.Deleted {
		if old == nil || old.mode == modeDir {
			return nil, fmt.Errorf("%s: there is no such file to delete", shorten(path))
		}
		old = nil
	}
	if e.below != nil {
		var base *plumbing.Hash
		switch {
		case old != nil && old.mode != modeDir:
			return nil, fmt.Errorf("%s: is %s, so nothing can be below it", shorten(path), kindOf(old.mode))
		case old != nil:
			base = &old.hash
		}
		all, err := b.folder(base, e, path+"/")
		if err != nil {
			return nil, err
		}
		if old = nil; len(all) > 0 {
			old = &named{mode: modeDir, hash: b.addTree(all)}
		}
	}
	if e.change == nil || e.change.Deleted {
		return old, nil
	}
	if old != nil && old.mode != modeFile && old.mode != modeExecutable {
		return nil, fmt.Errorf("%s: is %s, and is not written over", shorten(path), kindOf(old.mode))
	}
	now := &named{mode: modeFile, hash: b.add(plumbing.BlobObject, e.change.Content)}
	if e.change.Mode == abi.GitModeExecutable || e.change.Mode == "" && old != nil && old.mode == modeExecutable {
		now.mode = modeExecutable
	}
	return now, nil
}

func (b *treeBuilder) addTree(all []named) plumbing.Hash {
	slices.SortFunc(all, func(x, y named) int { return strings.Compare(x.key(), y.key()) })
	var data bytes.Buffer
	for _, n := range all {
		fmt.Fprintf(&data, "%o %s\x00%s", n.mode, n.name, n.hash[:])
	}
	return b.add(plumbing.TreeObject, data.Bytes())
}

func kindOf(mode uint32) string {
	switch mode {
	case modeDir:
		return "a folder"
	case modeLink:
		return "a symbolic link"
	case modeSubmodule:
		return "a submodule"
	}
	return "a file"
}
