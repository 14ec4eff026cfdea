package objects

import (
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// CompareTrees calls visit for each file that differs between two trees, in the order of paths. Either hash may be zero, which stands for the
// empty tree. The entry of a side that lacks the file is nil. If visit returns an error, CompareTrees returns that error.
func (s *Store) CompareTrees(before, after plumbing.Hash, visit func(path string, before, after *TreeEntry) error) error {
	c := treeComparison{store: s, visit: visit}
	return c.directory(before, after, "")
}

type treeComparison struct {
	store   *Store
	visit   func(path string, before, after *TreeEntry) error
	visited int
}

func (c *treeComparison) directory(before, after plumbing.Hash, prefix string) error {
	old, err := c.entries(before)
	if err != nil {
		return err
	}
	now, err := c.entries(after)
	if err != nil {
		return err
	}
	for len(old) > 0 || len(now) > 0 {
		order := 1
		switch {
		case len(now) == 0:
			order = -1
		case len(old) > 0:
			order = strings.Compare(old[0].sortKey(), now[0].sortKey())
		}
		var x, y *TreeEntry
		if order <= 0 {
			x, old = &old[0], old[1:]
		}
		if order >= 0 {
			y, now = &now[0], now[1:]
		}
		if err := c.entry(x, y, prefix); err != nil {
			return err
		}
	}
	return nil
}

func (c *treeComparison) entries(tree plumbing.Hash) ([]TreeEntry, error) {
	if tree.IsZero() {
		return nil, nil
	}
	return c.store.tree(tree)
}

// entry compares two entries of one name and kind. At most one of them is nil.
func (c *treeComparison) entry(before, after *TreeEntry, prefix string) error {
	some := before
	if some == nil {
		some = after
	}
	if before != nil && after != nil && *before == *after {
		return nil
	}
	if c.visited++; c.visited > MaxFiles {
		return errTooManyFiles
	}
	path := prefix + some.Name
	if len(path) > MaxPath {
		return errPathTooLong
	}
	if some.Mode != ModeDir {
		return c.visit(path, before, after)
	}
	var from, to plumbing.Hash
	if before != nil {
		from = before.Hash
	}
	if after != nil {
		to = after.Hash
	}
	if err := c.store.spend(0); err != nil {
		return err
	}
	return c.directory(from, to, path+"/")
}
