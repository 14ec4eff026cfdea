package worktree

import (
	"context"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/objects"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/refs"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/repo"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/worktree/ignore"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Status returns the changes that git status --porcelain --no-renames reports: first tracked paths and then untracked paths, at most limit in
// total. userPatterns is the content of the user's own ignore file. No filter runs, so a file whose stat data differs is compared byte for
// byte. A file that git would convert (line endings, LFS) may therefore be reported as modified. A submodule is reported as modified if its
// HEAD is a commit other than the one in the index.
func Status(ctx context.Context, r *repo.Repository, userPatterns []byte, limit int) (abi.GitStatus, error) {
	var none abi.GitStatus
	config, err := r.CheckedConfig()
	if err != nil {
		return none, err
	}
	x, err := readIndex(ctx, r)
	if err != nil {
		return none, err
	}
	matcher, err := ignore.New(ctx, r, config.Bool("core", "ignorecase", false), userPatterns)
	if err != nil {
		return none, err
	}
	staged := &stagedChanges{limit: limit, index: x, codes: make([]byte, len(x.entries))}
	if err := staged.compareHead(ctx, r); err != nil {
		return none, err
	}
	w := &walk{ctx: ctx, repo: r, index: x, ignore: matcher, fileMode: config.Bool("core", "filemode", true),
		codes: make([]byte, len(x.entries)), limit: limit}
	if err := w.dir("", matcher.Top()); err != nil {
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

// compareHead compares the index with the tree of HEAD. One pass suffices, since both are sorted by path.
func (c *stagedChanges) compareHead(ctx context.Context, r *repo.Repository) error {
	entries := c.index.entries
	at := 0
	markAdded := func(while func(name string) bool) {
		for ; at < len(entries) && while(entries[at].name); at++ {
			if e := &entries[at]; e.stage == 0 && !e.intent {
				c.codes[at] = 'A'
			}
		}
	}
	err := walkHead(ctx, r, func(path string, tree objects.TreeEntry) error {
		markAdded(func(name string) bool { return name < path })
		if at == len(entries) || entries[at].name != path {
			if len(c.removed) <= c.limit {
				c.removed = append(c.removed, path)
			}
			return nil
		}
		for ; at < len(entries) && entries[at].name == path; at++ {
			e := &entries[at]
			switch {
			case e.stage != 0 || e.intent:
			case e.mode&^0o777 != tree.Mode&^0o777:
				c.codes[at] = 'T'
			case e.mode != tree.Mode || e.hash != tree.Hash:
				c.codes[at] = 'M'
			}
		}
		return nil
	})
	markAdded(func(string) bool { return true })
	return err
}

// walkHead visits the files of HEAD's commit. On an unborn branch there are none.
func walkHead(ctx context.Context, r *repo.Repository, visit func(string, objects.TreeEntry) error) error {
	head, ok, err := refs.Resolve(ctx, r, "HEAD")
	if err != nil || !ok {
		return err
	}
	s, err := objects.Open(ctx, r)
	if err != nil {
		return err
	}
	defer s.Close()
	c, err := s.Commit(head)
	if err != nil {
		return err
	}
	return (&objects.Walk{Store: s, Visit: visit}).Tree(c.Tree)
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
