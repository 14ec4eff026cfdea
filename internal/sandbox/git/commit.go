package git

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/hosterror"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/objects"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/refs"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/repo"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/worktree"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// change runs f on the repository whose top level is, or contains, dir, with the settings that may forbid the change.
func change[A any](ctx context.Context, o *Ops, dir string, need repo.Access, f func(*repo.Repository, User, Settings) (A, error)) (A, error) {
	exists := false
	done, err := queryGrant(ctx, o, dir, need, func(root *repo.Root) (A, error) {
		exists = true
		var none A
		r, err := root.Find(dir)
		if err != nil {
			return none, err
		}
		if r == nil {
			return none, hosterror.Failed("%s: no git repository", dir)
		}
		user, err := o.user(ctx, r)
		if err != nil {
			return none, err
		}
		settings, err := user.settings(r)
		if err == nil {
			err = checkShared(settings)
		}
		if err != nil {
			return none, err
		}
		return f(r, user, settings)
	})
	if err == nil && !exists { // the granted directory
		err = hosterror.Failed("%s: no git repository", dir)
	}
	return done, err
}

// Commit commits the index on the branch that is checked out, or on a detached HEAD, as git commit does. It holds git's locks of the index, of
// HEAD and of the branch. It writes trees and the commit first, then the reflogs, and finally the reference. The index does not change.
//
// A commit is refused if git would run a hook or sign it, and while a merge or the like is in progress.
func (o *Ops) Commit(ctx context.Context, q abi.GitIndexCommit) (abi.GitCommitted, error) {
	if err := checkMessage(q.Message); err != nil {
		return abi.GitCommitted{}, err
	}
	message := cleanMessage(q.Message)
	if message == "" {
		return abi.GitCommitted{}, hosterror.Invalid("message: it is empty: describe the change")
	}
	return change(ctx, o, q.Repo, repo.Commits, func(r *repo.Repository, user User, settings Settings) (abi.GitCommitted, error) {
		if err := checkCommit(r, settings); err != nil {
			return abi.GitCommitted{}, err
		}
		signature, err := o.signature(r, user)
		if err != nil {
			return abi.GitCommitted{}, err
		}
		return commitIndex(ctx, r, message, signature)
	})
}

func commitIndex(ctx context.Context, r *repo.Repository, message, signature string) (abi.GitCommitted, error) {
	var none abi.GitCommitted
	staging, err := worktree.LockIndex(ctx, r, nil)
	if err != nil {
		return none, err
	}
	defer staging.Release()
	head, err := refs.LockHead(ctx, r)
	if err != nil {
		return none, err
	}
	defer head.Release()
	s, err := objects.Open(ctx, r)
	if err != nil {
		return none, err
	}
	defer s.Close()
	if err := checkNoOperation(r, s); err != nil {
		return none, err
	}
	batch := s.NewBatch()
	tree, err := staging.Tree(s, batch)
	if err != nil {
		return none, err
	}
	var before plumbing.Hash
	reason, parent := "commit (initial): ", ""
	if !head.Commit.IsZero() {
		c, err := s.Commit(head.Commit)
		if err != nil {
			return none, err
		}
		before, reason, parent = c.Tree, "commit: ", "parent "+head.Commit.String()+"\n"
	} else {
		before = objects.HashOf(plumbing.TreeObject, nil)
	}
	if tree == before {
		return none, errors.New("nothing to commit: nothing is staged that differs from HEAD")
	}
	commit := batch.Add(plumbing.CommitObject,
		fmt.Appendf(nil, "tree %s\n%sauthor %s\ncommitter %s\n\n%s", tree, parent, signature, signature, message))
	if err := batch.Write(); err != nil {
		return none, err
	}
	subject, _, _ := strings.Cut(message, "\n")
	done := abi.GitCommitted{Commit: commit.String()}
	if parent != "" {
		done.Parent = head.Commit.String()
	}
	return done, head.Set(commit, signature, reason+subject)
}

// checkNoOperation refuses a commit that git would make part of an operation in progress. The commits of a bisection are ordinary ones.
func checkNoOperation(r *repo.Repository, s *objects.Store) error {
	all, err := operations(r, s)
	for _, o := range all {
		if o.Name != abi.GitBisect {
			return fmt.Errorf("a %s is in progress: finish or abort it with git", o.Name)
		}
	}
	return err
}

// cleanMessage cleans a message as git commit -m does: without white space at the ends of lines, without empty lines at the start and the
// end, and with at most one empty line between others. The result is empty, or ends in a line feed.
func cleanMessage(message string) string {
	var out strings.Builder
	empty := false
	for line := range strings.SplitSeq(message, "\n") {
		if line = strings.TrimRight(line, " \t\r"); line == "" {
			empty = true
			continue
		}
		if empty && out.Len() > 0 {
			out.WriteByte('\n')
		}
		empty = false
		out.WriteString(line + "\n")
	}
	return out.String()
}

// CreateBranch creates a branch at a commit, as git branch does.
func (o *Ops) CreateBranch(ctx context.Context, q abi.GitNewBranch) (any, error) {
	if err := refs.CheckBranch(q.Branch); err != nil {
		return nil, err
	}
	if !plumbing.IsHash(q.Commit) || len(q.From) > refs.MaxName || strings.ContainsAny(q.From, "\x00\n") {
		return nil, hosterror.Invalid("commit: %q: give a hash of 40 digits, and in from a name without line feeds", hosterror.Truncate(q.Commit))
	}
	if q.From == "" {
		q.From = q.Commit
	}
	return change(ctx, o, q.Repo, repo.Commits, func(r *repo.Repository, user User, settings Settings) (any, error) {
		if err := checkHooks(r, settings, "reference-transaction"); err != nil {
			return nil, err
		}
		signature, err := o.signature(r, user)
		if err != nil {
			return nil, err
		}
		s, err := objects.Open(ctx, r)
		if err != nil {
			return nil, err
		}
		defer s.Close()
		commit := plumbing.NewHash(q.Commit)
		if _, err := s.Commit(commit); err != nil {
			return nil, err
		}
		if current, err := refs.HeadBranch(r); err != nil || current == q.Branch { // an unborn branch; others are found to exist
			return nil, errors.Join(err, fmt.Errorf("the branch %s is the current branch (HEAD): choose a different name", q.Branch))
		}
		branch, err := refs.LockNewBranch(ctx, r, q.Branch)
		if err != nil {
			return nil, err
		}
		defer branch.Release()
		if err := branch.Log(r, commit, signature, "branch: Created from "+q.From); err != nil {
			return nil, err
		}
		return nil, branch.Set(commit)
	})
}

// Reset makes the index that of HEAD, as git reset does: nothing is staged then. The working tree and HEAD do not change.
func (o *Ops) Reset(ctx context.Context, q abi.GitRepo) (any, error) {
	return change(ctx, o, q.Repo, repo.Commits, func(r *repo.Repository, _ User, settings Settings) (any, error) {
		if err := checkHooks(r, settings, "post-index-change"); err != nil {
			return nil, err
		}
		staging, err := worktree.LockIndex(ctx, r, nil)
		if err != nil {
			return nil, err
		}
		defer staging.Release()
		s, err := objects.Open(ctx, r)
		if err != nil {
			return nil, err
		}
		defer s.Close()
		if err := checkNoOperation(r, s); err != nil {
			return nil, err
		}
		head, ok, err := refs.Resolve(ctx, r, "HEAD")
		if err != nil {
			return nil, err
		}
		var tree plumbing.Hash
		if ok {
			c, err := s.Commit(head)
			if err != nil {
				return nil, err
			}
			tree = c.Tree
		}
		if err := staging.Reset(s, tree); err != nil {
			return nil, err
		}
		return nil, staging.Write()
	})
}
