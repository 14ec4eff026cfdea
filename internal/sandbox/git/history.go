package git

import (
	"context"
	"errors"
	"path"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/hosterror"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/objects"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/refs"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/repo"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/worktree"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

const (
	maxHashes      = 1000 // most hashes in one call of Objects and Abbreviate
	maxRange       = 100  // most commits that bound a range of History
	defaultCommits = 100
	maxCommits     = 10_000 // highest limit of History
	maxPseudoRef   = 64 << 10
)

// Refs returns the references below a directory of references.
func (o *Ops) Refs(ctx context.Context, q abi.GitRefsQuery) (abi.GitRefs, error) {
	if err := refs.CheckPrefix(q.Prefix); err != nil {
		return abi.GitRefs{}, err
	}
	return query(ctx, o, q.Repo, func(r *repo.Repository) (abi.GitRefs, error) {
		all, err := refs.List(ctx, r, q.Prefix)
		var answer abi.GitRefs
		for _, ref := range all {
			answer.Refs = append(answer.Refs, abi.GitReference{Name: ref.Name, Hash: ref.Hash.String(), Target: ref.Target})
		}
		return answer, err
	})
}

// queryObjects runs f on the objects of the repository that contains dir. If there is no such repository, the answer is the zero value.
func queryObjects[A any](ctx context.Context, o *Ops, dir string, f func(*repo.Repository, *objects.Store) (A, error)) (A, error) {
	return query(ctx, o, dir, func(r *repo.Repository) (A, error) {
		s, err := objects.Open(ctx, r)
		if err != nil {
			var none A
			return none, err
		}
		defer s.Close()
		return f(r, s)
	})
}

// parseHashes parses the full hashes of a request.
func parseHashes(name string, all []string, limit int) ([]plumbing.Hash, error) {
	if len(all) > limit {
		return nil, hosterror.Invalid("%s: there are %d: give at most %d", name, len(all), limit)
	}
	hashes := make([]plumbing.Hash, len(all))
	for i, text := range all {
		if !plumbing.IsHash(text) {
			return nil, hosterror.Invalid("%s: %q: give a hash of 40 digits", name, hosterror.Truncate(text))
		}
		hashes[i] = plumbing.NewHash(text)
	}
	return hashes, nil
}

// Objects returns the contents of objects.
func (o *Ops) Objects(ctx context.Context, q abi.GitHashes) (abi.GitObjects, error) {
	hashes, err := parseHashes("hashes", q.Hashes, maxHashes)
	if err != nil {
		return abi.GitObjects{}, err
	}
	return queryObjects(ctx, o, q.Repo, func(_ *repo.Repository, s *objects.Store) (abi.GitObjects, error) {
		var answer abi.GitObjects
		left := o.config.MaxFile
		for _, hash := range hashes {
			kind, content, err := s.Any(hash, o.config.MaxFile)
			if err != nil {
				return answer, err
			}
			if left -= int64(len(content)); left < 0 {
				answer.More = true
				break
			}
			answer.Objects = append(answer.Objects, abi.GitStoredObject{Hash: hash.String(), Type: kind, Content: content})
		}
		return answer, nil
	})
}

// Abbreviate returns the abbreviations of hashes.
func (o *Ops) Abbreviate(ctx context.Context, q abi.GitHashes) (abi.GitAbbreviated, error) {
	hashes, err := parseHashes("hashes", q.Hashes, maxHashes)
	if err != nil {
		return abi.GitAbbreviated{}, err
	}
	return queryObjects(ctx, o, q.Repo, func(_ *repo.Repository, s *objects.Store) (abi.GitAbbreviated, error) {
		var answer abi.GitAbbreviated
		for _, hash := range hashes {
			short, err := s.Abbreviate(hash)
			if err != nil {
				return answer, err
			}
			answer.Hashes = append(answer.Hashes, short)
		}
		return answer, nil
	})
}

// History returns the commits of a range.
func (o *Ops) History(ctx context.Context, q abi.GitHistoryQuery) (abi.GitHistory, error) {
	from, err := parseHashes("from", q.From, maxRange)
	if err != nil {
		return abi.GitHistory{}, err
	}
	exclude, err := parseHashes("exclude", q.Exclude, maxRange)
	if err != nil {
		return abi.GitHistory{}, err
	}
	if q.Limit < 0 || q.Limit > maxCommits {
		return abi.GitHistory{}, hosterror.Invalid("limit: %d: give at most %d", q.Limit, maxCommits)
	}
	if q.Since < 0 || q.Until < 0 {
		return abi.GitHistory{}, hosterror.Invalid("since, until: give seconds since 1970")
	}
	switch {
	case q.Count:
		q.Limit = 0
	case q.Limit == 0:
		q.Limit = defaultCommits
	}
	return queryObjects(ctx, o, q.Repo, func(_ *repo.Repository, s *objects.Store) (abi.GitHistory, error) {
		commits, count, err := s.Commits(objects.Range{From: from, Exclude: exclude, Since: uint64(q.Since), Until: uint64(q.Until)}, q.Limit)
		if q.Count || err != nil {
			return abi.GitHistory{Count: count}, err
		}
		answer := abi.GitHistory{Truncated: count > q.Limit}
		left := o.config.MaxFile
		for _, c := range commits {
			if left -= int64(len(c.Data)); left < 0 {
				answer.Truncated = true
				break
			}
			answer.Commits = append(answer.Commits, abi.GitStoredObject{Hash: c.Hash.String(), Content: c.Data})
		}
		return answer, nil
	})
}

// Changes returns the files that differ between two trees, a tree and the index, or one of them and the working tree.
func (o *Ops) Changes(ctx context.Context, q abi.GitChangesQuery) (abi.GitChanges, error) {
	if q.Limit < 0 || q.Limit > maxStatus {
		return abi.GitChanges{}, hosterror.Invalid("limit: %d: give at most %d", q.Limit, maxStatus)
	}
	if q.Limit == 0 {
		q.Limit = defaultStatus
	}
	isTree := func(side string) bool { return side == abi.GitEmpty || plumbing.IsHash(side) }
	fromIndex := q.From == abi.GitIndex && q.To == abi.GitWorktree
	if !fromIndex && (!isTree(q.From) || !isTree(q.To) && q.To != abi.GitIndex && q.To != abi.GitWorktree) {
		return abi.GitChanges{}, hosterror.Invalid("from, to: %q, %q: give two trees, a tree and %q or %q, or %q and %q",
			hosterror.Truncate(q.From), hosterror.Truncate(q.To), abi.GitIndex, abi.GitWorktree, abi.GitIndex, abi.GitWorktree)
	}
	return queryObjects(ctx, o, q.Repo, func(r *repo.Repository, s *objects.Store) (abi.GitChanges, error) {
		if fromIndex {
			return worktree.ChangesToWorktree(ctx, r, s, nil, q.Limit)
		}
		from, err := treeOf(s, q.From)
		if err != nil {
			return abi.GitChanges{}, err
		}
		switch q.To {
		case abi.GitIndex:
			return worktree.ChangesToIndex(ctx, r, s, from, q.Limit)
		case abi.GitWorktree:
			return worktree.ChangesToWorktree(ctx, r, s, &from, q.Limit)
		}
		to, err := treeOf(s, q.To)
		if err != nil {
			return abi.GitChanges{}, err
		}
		return worktree.ChangesOfTrees(s, from, to, q.Limit)
	})
}

// treeOf returns the tree that a side of Changes names. The zero hash stands for the empty tree.
func treeOf(s *objects.Store, side string) (plumbing.Hash, error) {
	if side == abi.GitEmpty {
		return plumbing.ZeroHash, nil
	}
	hash := plumbing.NewHash(side)
	commit, ok, err := s.Peel(hash)
	if err != nil || !ok {
		return hash, err
	}
	c, err := s.Commit(commit)
	return c.Tree, err
}

// State describes what is checked out.
func (o *Ops) State(ctx context.Context, q abi.GitRepo) (abi.GitState, error) {
	return queryObjects(ctx, o, q.Repo, func(r *repo.Repository, s *objects.Store) (abi.GitState, error) {
		state := abi.GitState{Found: true, TopLevel: r.Work.Abs(r.Top)}
		var err error
		if state.Branch, err = refs.HeadBranch(r); err != nil {
			return state, err
		}
		head, ok, err := refs.Resolve(ctx, r, "HEAD")
		if err != nil {
			return state, err
		}
		if ok {
			state.Commit = head.String()
		}
		if state.Branch == "" {
			err = setDetached(ctx, &state, r, s, head)
		} else {
			err = setUpstream(ctx, &state, r)
		}
		if err != nil {
			return state, err
		}
		if state.Worktrees, err = refs.OtherWorktrees(ctx, r); err != nil {
			return state, err
		}
		state.Operations, err = operations(r, s)
		return state, err
	})
}

func setUpstream(ctx context.Context, state *abi.GitState, r *repo.Repository) error {
	config, err := r.Config()
	if err != nil {
		return err
	}
	name := refs.Upstream(config, state.Branch)
	if refs.CheckFull(name) != nil { // such as the empty name
		return nil
	}
	state.Upstream = name
	commit, ok, err := refs.Resolve(ctx, r, name)
	if ok {
		state.UpstreamCommit = commit.String()
	}
	return err
}

// setDetached sets the name by which HEAD was checked out: the reference, if it still refers to that commit, or the abbreviated hash.
// The name HEAD is what HEAD was then, which is also the hash.
func setDetached(ctx context.Context, state *abi.GitState, r *repo.Repository, s *objects.Store, head plumbing.Hash) error {
	name, commit, err := refs.LastCheckout(r)
	if err != nil || name == "" {
		return err
	}
	state.Moved = commit != head
	if state.Detached, err = s.Abbreviate(commit); err != nil || name == "HEAD" || refs.CheckRevision(name) != nil {
		return err
	}
	for _, candidate := range refs.Candidates(name) {
		hash, ok, err := refs.Resolve(ctx, r, candidate)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if hash != commit {
			if hash, ok, err = s.Peel(hash); err != nil || !ok || hash != commit {
				return err
			}
		}
		state.Detached = refs.Short(candidate)
		return nil
	}
	return nil
}

// operations returns the operations in progress, which git recognizes by files in the git directory.
func operations(r *repo.Repository, s *objects.Store) ([]abi.GitOperation, error) {
	var all []abi.GitOperation
	for _, o := range []struct{ name, file string }{
		{abi.GitMerge, "MERGE_HEAD"}, {abi.GitApply, "rebase-apply/applying"}, {abi.GitRebase, "rebase-apply"}, {abi.GitRebase, "rebase-merge"},
		{abi.GitCherryPick, "CHERRY_PICK_HEAD"}, {abi.GitRevert, "REVERT_HEAD"}, {abi.GitBisect, "BISECT_LOG"},
	} {
		file := path.Join(r.GitDir, o.file)
		_, err := r.Root.Stat(file)
		if repo.IsAbsent(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found := abi.GitOperation{Name: o.name}
		if o.name == abi.GitCherryPick || o.name == abi.GitRevert {
			data, err := r.Root.Read(file, maxPseudoRef)
			if err != nil {
				return nil, err
			}
			hash, err := objects.ParseHash(string(data[:min(len(data), 2*objects.HashSize)]))
			if err == nil {
				found.Commit, err = s.Abbreviate(hash)
			}
			if err != nil {
				return nil, errors.Join(errors.New(o.file), err)
			}
		}
		isApply := func(o abi.GitOperation) bool { return o.Name == abi.GitApply || o.Name == abi.GitRebase }
		if !isApply(found) || !slices.ContainsFunc(all, isApply) {
			all = append(all, found)
		}
	}
	return all, nil
}
