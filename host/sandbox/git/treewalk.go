package git

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-git/go-git/v5/plumbing"
)

// Modes of a tree's entries.
const (
	modeFile       = 0o100644
	modeExecutable = 0o100755
	modeLink       = 0o120000
	modeSubmodule  = 0o160000
	modeDir        = 0o040000
)

// bits reads an entry's mode as git does: a file's permissions are one of two.
func (e entry) bits() (uint32, error) {
	bits, err := strconv.ParseUint(e.mode, 8, 32)
	if err != nil || len(e.mode) > 7 {
		return 0, fmt.Errorf("damaged: the mode %q", shorten(e.mode))
	}
	switch mode := uint32(bits); mode &^ 0o7777 {
	case modeFile &^ 0o7777:
		if mode&0o100 != 0 {
			return modeExecutable, nil
		}
		return modeFile, nil
	case modeLink, modeSubmodule, modeDir:
		return mode &^ 0o7777, nil
	}
	return 0, fmt.Errorf("damaged: the mode %q", shorten(e.mode))
}

// named is an entry of a tree with its name.
type named struct {
	name string
	mode uint32
	hash plumbing.Hash
}

// key is what a tree is sorted by: a folder stands where its files do.
func (n named) key() string {
	if n.mode == modeDir {
		return n.name + "/"
	}
	return n.name
}

// tree reads a tree whole. Its names are those of files, each once and in git's order.
func (s *store) tree(hash plumbing.Hash) ([]named, error) {
	data, err := s.get(hash, plumbing.TreeObject, maxMeta)
	if err != nil {
		return nil, err
	}
	var all []named
	for len(data) > 0 {
		var name []byte
		var e entry
		var mode uint32
		if name, e, data, err = nextEntry(data); err == nil {
			mode, err = e.bits()
		}
		n := named{string(name), mode, e.hash}
		switch {
		case err != nil:
		case checkPath(n.name) != nil || slices.Contains(name, '/'):
			err = fmt.Errorf("damaged: the name %q", shorten(n.name))
		case len(all) > 0 && all[len(all)-1].key() >= n.key():
			err = errors.New("damaged: out of order")
		}
		if err != nil {
			return nil, fmt.Errorf("tree %s: %w", hash, err)
		}
		all = append(all, n)
	}
	return all, nil
}

// treeWalk goes through the files of a tree in the order of their paths.
type treeWalk struct {
	store *store
	visit func(path string, n named) error // of what is no folder; errStop ends the walk
	// skip leaves a folder out that is not to be looked into; nil leaves out none.
	skip func(folder string) bool
	left int // entries that may yet be seen: a small tree can hold itself very often
}

var errStop = errors.New("no more is wanted")

// files visits the files of a tree whose paths begin with prefix.
func (w *treeWalk) files(tree plumbing.Hash, prefix string) error {
	if err := w.store.spend(0); err != nil {
		return err
	}
	all, err := w.store.tree(tree)
	if err != nil {
		return err
	}
	for _, n := range all {
		path := prefix + n.name
		if w.left--; w.left < 0 {
			return fmt.Errorf("over %d files", maxTracked)
		}
		switch {
		case len(path) > maxPath:
			return fmt.Errorf("a path of over %d bytes", maxPath)
		case n.mode != modeDir:
			err = w.visit(path, n)
		case w.skip == nil || !w.skip(path+"/"):
			err = w.files(n.hash, path+"/")
		}
		if err != nil {
			return err
		}
	}
	return nil
}
