package git

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/go-git/go-git/v5/plumbing"
)

const (
	usualStatus = 1000   // paths that Status gives if it is not told how many
	maxStatus   = 10_000 // that it gives at most
)

// Status tells what git status --porcelain --no-renames would, first of tracked files and then of untracked
// ones. No filter runs: a file whose time stamps say that it may have changed is compared with the index
// byte for byte, so that one that git would convert (line ends, LFS) may be called changed. A submodule
// counts as changed if it is at another commit.
func (o *Ops) Status(ctx context.Context, q abi.GitStatusQuery) (abi.GitStatus, error) {
	if q.Limit < 0 || q.Limit > maxStatus {
		return abi.GitStatus{}, invalid("limit: %d: give at most %d", q.Limit, maxStatus)
	}
	if q.Limit == 0 {
		q.Limit = usualStatus
	}
	var answer abi.GitStatus
	err := o.in(ctx, q.Repo, func(r *repository) (err error) {
		answer, err = r.status(ctx, o.config.User.Excludes, q.Limit)
		return err
	})
	if err != nil {
		return abi.GitStatus{}, err
	}
	return answer, nil
}

func (r *repository) status(ctx context.Context, user []byte, limit int) (abi.GitStatus, error) {
	var none abi.GitStatus
	s, err := r.settings()
	if err == nil {
		err = s.checkFormat()
	}
	if err != nil {
		return none, err
	}
	d, err := r.readIndex(ctx)
	if err != nil {
		return none, err
	}
	g, err := r.ignorer(ctx, s, user)
	if err != nil {
		return none, err
	}
	changes := &statusChanges{limit: limit, index: d, staged: make([]byte, len(d.entries))}
	if err := changes.compareHead(ctx, r); err != nil {
		return none, err
	}
	w := &workWalk{ctx: ctx, repo: r, index: d, ignore: g, fileMode: s.boolean("core", "filemode", true),
		state: make([]byte, len(d.entries)), limit: limit}
	if err := w.folder("", g.top); err != nil {
		return none, err
	}
	return changes.answer(w), nil
}

// statusChanges collects what Status answers. A code of 0 stands for no change.
type statusChanges struct {
	limit   int
	index   *dircache
	staged  []byte   // for each entry of the index
	removed []string // in HEAD and not in the index
}

// compareHead compares the index with HEAD's tree. Both are sorted alike.
func (c *statusChanges) compareHead(ctx context.Context, r *repository) error {
	at := 0
	added := func(until func(name string) bool) {
		for ; at < len(c.index.entries) && until(c.index.entries[at].name); at++ {
			if e := &c.index.entries[at]; e.stage == 0 && !e.intent {
				c.staged[at] = 'A'
			}
		}
	}
	err := r.walkHead(ctx, func(path string, n named) error {
		added(func(name string) bool { return name < path })
		if at == len(c.index.entries) || c.index.entries[at].name != path {
			if len(c.removed) <= c.limit {
				c.removed = append(c.removed, path)
			}
			return nil
		}
		for ; at < len(c.index.entries) && c.index.entries[at].name == path; at++ {
			e := &c.index.entries[at]
			switch {
			case e.stage != 0 || e.intent:
			case e.mode&^0o777 != n.mode&^0o777:
				c.staged[at] = 'T'
			case e.mode != n.mode || e.hash != n.hash:
				c.staged[at] = 'M'
			}
		}
		return nil
	})
	added(func(string) bool { return true })
	return err
}

// walkHead visits the files of HEAD's commit; there are none on a branch without one.
func (r *repository) walkHead(ctx context.Context, visit func(string, named) error) error {
	head, ok, err := r.resolve(ctx, "HEAD")
	if err != nil || !ok {
		return err
	}
	s, err := r.openStore(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	c, err := s.commit(head)
	if err != nil {
		return err
	}
	return (&treeWalk{store: s, visit: visit, left: maxTracked}).files(c.tree, "")
}

// commit reads a commit.
func (s *store) commit(hash plumbing.Hash) (commit, error) {
	data, err := s.get(hash, plumbing.CommitObject, maxMeta)
	if err != nil {
		return commit{}, err
	}
	c, err := parseCommit(data)
	if err != nil {
		return commit{}, fmt.Errorf("commit %s: %w", hash, err)
	}
	return c, nil
}

// answer merges what was found, in the order of paths.
func (c *statusChanges) answer(w *workWalk) abi.GitStatus {
	answer := abi.GitStatus{Found: true}
	add := func(path string, staged, unstaged byte) {
		if len(answer.Paths) == c.limit {
			answer.Truncated = true
			return
		}
		text := func(code byte) string { return strings.ReplaceAll(string([]byte{code}), "\x00", " ") }
		answer.Paths = append(answer.Paths, abi.GitPathStatus{
			Path: strings.ToValidUTF8(path, "\uFFFD"), Staged: text(staged), Unstaged: text(unstaged)})
	}
	removed := c.removed
	before := func(name string) {
		for len(removed) > 0 && (name == "" || removed[0] < name) {
			add(removed[0], 'D', 0)
			removed = removed[1:]
		}
	}
	for i := 0; i < len(c.index.entries) && !answer.Truncated; i++ {
		e := &c.index.entries[i]
		before(e.name)
		staged, unstaged := c.staged[i], w.code(i)
		if e.stage != 0 {
			var stages int
			for stages = 1 << (e.stage - 1); i+1 < len(c.index.entries) && c.index.entries[i+1].name == e.name; i++ {
				stages |= 1 << (c.index.entries[i+1].stage - 1)
			}
			both := [...]string{"  ", "DD", "AU", "UD", "UA", "DU", "AA", "UU"}[stages&7]
			staged, unstaged = both[0], both[1]
		}
		if staged != 0 || unstaged != 0 {
			add(e.name, staged, unstaged)
		}
	}
	before("")
	slices.Sort(w.untracked)
	for _, name := range w.untracked {
		add(name, '?', '?')
	}
	return answer
}
