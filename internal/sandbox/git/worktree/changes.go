package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/objects"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/refs"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/repo"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/worktree/ignore"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// errFull ends a comparison that has found more files than its limit.
var errFull = errors.New("the limit is reached")

// changes collects the files that differ.
type changes struct {
	abi.GitChanges
	limit int
}

func (c *changes) add(path string, before, after abi.GitFileVersion) error {
	if len(c.Files) == c.limit {
		c.Truncated = true
		return errFull
	}
	c.Files = append(c.Files, abi.GitDifference{Path: []byte(path), Old: before, New: after})
	return nil
}

func (c *changes) addUnmerged(path string) error {
	err := c.add(path, abi.GitFileVersion{}, abi.GitFileVersion{})
	if err == nil {
		c.Files[len(c.Files)-1].Unmerged = true
	}
	return err
}

// result returns what was collected, unless the comparison has failed.
func (c *changes) result(err error) (abi.GitChanges, error) {
	if err != nil && err != errFull {
		return abi.GitChanges{}, err
	}
	c.Found = true
	return c.GitChanges, nil
}

// ChangesOfTrees returns at most limit files that differ between two trees. A zero hash is the empty tree.
func ChangesOfTrees(s *objects.Store, from, to plumbing.Hash, limit int) (abi.GitChanges, error) {
	c := &changes{limit: limit}
	return c.result(s.CompareTrees(from, to, func(path string, before, after *objects.TreeEntry) error {
		return c.add(path, versionOf(before), versionOf(after))
	}))
}

func versionOf(e *objects.TreeEntry) abi.GitFileVersion {
	if e == nil {
		return abi.GitFileVersion{}
	}
	return version(e.Mode, e.Hash)
}

func version(mode uint32, hash plumbing.Hash) abi.GitFileVersion {
	return abi.GitFileVersion{Mode: fmt.Sprintf("%06o", mode), Hash: hash.String()}
}

// ChangesToIndex returns at most limit files that differ between a tree, or the empty tree if its hash is zero, and the index.
func ChangesToIndex(ctx context.Context, r *repo.Repository, s *objects.Store, from plumbing.Hash, limit int) (abi.GitChanges, error) {
	x, err := readIndex(ctx, r)
	if err != nil {
		return abi.GitChanges{}, err
	}
	c := &changes{limit: limit}
	return c.result(compareIndex(s, from, x, func(path string, tree *objects.TreeEntry, first, last int) error {
		before := versionOf(tree)
		if first == last || x.entries[first].intent {
			if tree == nil {
				return nil
			}
			return c.add(path, before, abi.GitFileVersion{})
		}
		e := &x.entries[first]
		after := version(e.mode, e.hash)
		switch {
		case e.stage != 0:
			return c.addUnmerged(path)
		case before == after:
			return nil
		}
		return c.add(path, before, after)
	}))
}

// compareIndex visits the paths of a tree and of the index in their order, with the entries of the index from first to last that have
// this path.
func compareIndex(s *objects.Store, tree plumbing.Hash, x *index, visit func(path string, tree *objects.TreeEntry, first, last int) error) error {
	at := 0
	next := func(path string, tree *objects.TreeEntry) error {
		first := at
		for at < len(x.entries) && x.entries[at].name == path {
			at++
		}
		return visit(path, tree, first, at)
	}
	if !tree.IsZero() {
		w := objects.Walk{Store: s, Visit: func(path string, e objects.TreeEntry) error {
			for at < len(x.entries) && x.entries[at].name < path {
				if err := next(x.entries[at].name, nil); err != nil {
					return err
				}
			}
			return next(path, &e)
		}}
		if err := w.Tree(tree); err != nil {
			return err
		}
	}
	for at < len(x.entries) {
		if err := next(x.entries[at].name, nil); err != nil {
			return err
		}
	}
	return nil
}

// ChangesToWorktree returns at most limit tracked files that differ between a tree, or the index if tree is nil, and the working tree.
func ChangesToWorktree(ctx context.Context, r *repo.Repository, s *objects.Store, tree *plumbing.Hash, limit int) (abi.GitChanges, error) {
	w, err := newWalk(ctx, r, nil)
	if err != nil {
		return abi.GitChanges{}, err
	}
	if err := w.dir("", w.ignore.Top()); err != nil {
		return abi.GitChanges{}, err
	}
	c := &changes{limit: limit}
	if tree == nil {
		return c.result(w.changedEntries(c))
	}
	return c.result(compareIndex(s, *tree, w.index, func(path string, e *objects.TreeEntry, first, last int) error {
		before := versionOf(e)
		if first == last {
			return c.add(path, before, abi.GitFileVersion{})
		}
		after, err := w.version(first)
		if err != nil || before == after {
			return err
		}
		return c.add(path, before, after)
	}))
}

// changedEntries adds the entries of the index that differ from the working tree.
func (w *walk) changedEntries(c *changes) error {
	for i := range w.index.entries {
		e := &w.index.entries[i]
		if e.stage != 0 {
			if i > 0 && w.index.entries[i-1].name == e.name {
				continue
			}
			if err := c.addUnmerged(e.name); err != nil {
				return err
			}
			continue
		}
		if w.code(i) == 0 {
			continue
		}
		before := version(e.mode, e.hash)
		if e.intent {
			before = abi.GitFileVersion{}
		}
		after, err := w.version(i)
		if err == nil && before != after {
			err = c.add(e.name, before, after)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// version returns the version of an entry of the index that the working tree has. It has no mode if the file is absent.
func (w *walk) version(i int) (abi.GitFileVersion, error) {
	e := &w.index.entries[i]
	if e.stage == 0 && w.code(i) == 0 {
		return version(e.mode, e.hash), nil
	}
	if w.codes[i] == notSeen {
		return abi.GitFileVersion{}, nil
	}
	name := path.Join(w.repo.Top, e.name)
	info, err := w.repo.Work.Handle.Lstat(name)
	switch {
	case repo.IsAbsent(err):
		return abi.GitFileVersion{}, nil
	case err != nil:
		return abi.GitFileVersion{}, err
	case info.IsDir():
		head, _, err := w.submoduleHead(e.name)
		if err != nil || head.IsZero() {
			return abi.GitFileVersion{}, err
		}
		return version(objects.ModeSubmodule, head), nil
	case info.Mode&^fs.ModePerm&^fs.ModeSymlink != 0 && !info.Mode.IsRegular():
		return abi.GitFileVersion{}, nil // git shows a named pipe or the like as an absent file
	}
	return abi.GitFileVersion{Mode: fmt.Sprintf("%06o", w.modeOf(e, info))}, nil
}

// newWalk returns a walk of the working tree of a repository with its index.
func newWalk(ctx context.Context, r *repo.Repository, userPatterns []byte) (*walk, error) {
	config, err := r.CheckedConfig()
	if err != nil {
		return nil, err
	}
	x, err := readIndex(ctx, r)
	if err != nil {
		return nil, err
	}
	matcher, err := ignore.New(ctx, r, config.Bool("core", "ignorecase", false), userPatterns)
	if err != nil {
		return nil, err
	}
	return &walk{ctx: ctx, repo: r, index: x, ignore: matcher, fileMode: config.Bool("core", "filemode", true),
		codes: make([]byte, len(x.entries))}, nil
}

// submoduleHead returns the commit that a submodule has checked out. The bool is false if the submodule is absent, or if its repository
// cannot be opened below the grant.
func (w *walk) submoduleHead(name string) (plumbing.Hash, bool, error) {
	var head plumbing.Hash
	ok := false
	sub, err := w.repo.Work.OpenRepository(path.Join(w.repo.Top, name))
	if err == nil && sub != nil {
		head, ok, err = refs.Resolve(w.ctx, sub, "HEAD")
	}
	return head, ok && err == nil, w.ctx.Err()
}
