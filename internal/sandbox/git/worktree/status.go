package worktree

import (
	"context"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/objects"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/refs"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/repo"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Status returns the changes that git status --porcelain --no-renames reports: first tracked paths and then untracked paths, at most limit in
// total. userPatterns is the content of the user's own ignore file. No filter runs, so a file whose stat data differs is compared byte for
// byte. A file that git would convert (line endings, LFS) may therefore be reported as modified. A submodule is reported as modified if its
// HEAD is a commit other than the one in the index.
func Status(ctx context.Context, r *repo.Repository, userPatterns []byte, limit int) (abi.GitStatus, error) {
	var none abi.GitStatus
	w, err := newWalk(ctx, r, userPatterns)
	if err != nil {
		return none, err
	}
	w.limit = limit
	staged := &stagedChanges{limit: limit, index: w.index, codes: make([]byte, len(w.index.entries))}
	if err := staged.compareHead(ctx, r); err != nil {
		return none, err
	}
	if err := w.dir("", w.ignore.Top()); err != nil {
		return none, err
	}
	return merge(staged, w), nil
}

// stagedChanges are the differences between HEAD and the index. The code 0 means unchanged.
type stagedChanges struct {
	limit   int
	index   *index
	codes   []byte   // code of each entry, by its position in the index
	removed []string // paths that are in HEAD and not in the index
}

// compareHead compares the index with the tree of HEAD.
func (c *stagedChanges) compareHead(ctx context.Context, r *repo.Repository) error {
	s, err := objects.Open(ctx, r)
	if err != nil {
		return err
	}
	defer s.Close()
	tree, err := headTree(ctx, r, s)
	if err != nil {
		return err
	}
	return compareIndex(s, tree, c.index, func(path string, tree *objects.TreeEntry, first, last int) error {
		if first == last && len(c.removed) <= c.limit {
			c.removed = append(c.removed, path)
		}
		for i := first; i < last; i++ {
			e := &c.index.entries[i]
			switch {
			case e.stage != 0 || e.intent:
			case tree == nil:
				c.codes[i] = 'A'
			case e.mode&^0o777 != tree.Mode&^0o777:
				c.codes[i] = 'T'
			case e.mode != tree.Mode || e.hash != tree.Hash:
				c.codes[i] = 'M'
			}
		}
		return nil
	})
}

// headTree returns the tree of HEAD's commit; the zero hash on an unborn branch.
func headTree(ctx context.Context, r *repo.Repository, s *objects.Store) (plumbing.Hash, error) {
	head, ok, err := refs.Resolve(ctx, r, "HEAD")
	if err != nil || !ok {
		return plumbing.ZeroHash, err
	}
	c, err := s.Commit(head)
	return c.Tree, err
}

// merge combines staged and unstaged changes in the order of paths.
func merge(c *stagedChanges, w *walk) abi.GitStatus {
	status := abi.GitStatus{Found: true}
	add := func(path string, staged, unstaged byte) {
		if len(status.Paths) == c.limit {
			status.Truncated = true
			return
		}
		text := func(code byte) string { return strings.ReplaceAll(string([]byte{code}), "\x00", " ") }
		status.Paths = append(status.Paths, abi.GitPathStatus{
			Path: strings.ToValidUTF8(path, "\uFFFD"), Staged: text(staged), Unstaged: text(unstaged)})
	}
	removed := c.removed
	addRemoved := func(before string) { // adds the removed paths that precede the path before; if it is empty, all that remain
		for len(removed) > 0 && (before == "" || removed[0] < before) {
			add(removed[0], 'D', 0)
			removed = removed[1:]
		}
	}
	entries := c.index.entries
	for i := 0; i < len(entries) && !status.Truncated; i++ {
		e := &entries[i]
		addRemoved(e.name)
		staged, unstaged := c.codes[i], w.code(i)
		if e.stage != 0 {
			var stages int
			for stages = 1 << (e.stage - 1); i+1 < len(entries) && entries[i+1].name == e.name; i++ {
				stages |= 1 << (entries[i+1].stage - 1)
			}
			both := [...]string{"  ", "DD", "AU", "UD", "UA", "DU", "AA", "UU"}[stages&7]
			staged, unstaged = both[0], both[1]
		}
		if staged != 0 || unstaged != 0 {
			add(e.name, staged, unstaged)
		}
	}
	addRemoved("")
	slices.Sort(w.untracked)
	for _, name := range w.untracked {
		add(name, '?', '?')
	}
	return status
}
