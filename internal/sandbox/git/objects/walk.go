package objects

import (
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
)

// MaxFiles is the maximum number of files in one tree or index.
const MaxFiles = 1_000_000

// ErrStop ends a Walk when Visit returns it.
var ErrStop = errors.New("the walk was stopped")

var (
	errTooManyFiles = fmt.Errorf("there are more than %d files", MaxFiles)
	errPathTooLong  = fmt.Errorf("a path is longer than %d bytes", MaxPath)
)

// Walk visits the files of a tree in the order of the files' paths.
type Walk struct {
	Store *Store
	// Visit is called for each entry that is not a directory.
	Visit func(path string, e TreeEntry) error
	// SkipDir reports whether to leave out a directory. Its path ends in a slash. If SkipDir is nil, no directory is left out.
	SkipDir func(dir string) bool

	visited int
}

// Tree walks a tree. A few small trees that contain each other many times can describe exponentially many files, so the number of visited
// entries is bounded.
func (w *Walk) Tree(tree plumbing.Hash) error { return w.walk(tree, "") }

func (w *Walk) walk(tree plumbing.Hash, prefix string) error {
	if err := w.Store.spend(0); err != nil {
		return err
	}
	all, err := w.Store.tree(tree)
	if err != nil {
		return err
	}
	for _, e := range all {
		path := prefix + e.Name
		if w.visited++; w.visited > MaxFiles {
			return errTooManyFiles
		}
		switch {
		case len(path) > MaxPath:
			return fmt.Errorf("a path is longer than %d bytes", MaxPath)
		case e.Mode != ModeDir:
			err = w.Visit(path, e)
		case w.SkipDir == nil || !w.SkipDir(path+"/"):
			err = w.walk(e.Hash, path+"/")
		}
		if err != nil {
			return err
		}
	}
	return nil
}
