package refs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/hosterror"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/repo"
)

// NewBranch is the lock of a branch that is being created. While it is held, neither git nor another operation can create that branch. The
// caller must release it.
type NewBranch struct {
	lock *repo.Lock
	name string
}

// LockNewBranch acquires git's lock for a branch. Under the lock it checks that the branch does not exist, and that no other branch conflicts
// with it: a branch a conflicts with a branch a/b, since one is a file and the other is in a directory of the same name.
func LockNewBranch(ctx context.Context, r *repo.Repository, branch string) (*NewBranch, error) {
	lock, err := r.Lock(r.Common, BranchPrefix+branch)
	if errors.Is(err, beneath.ErrNotDir) {
		return nil, fmt.Errorf("%s: conflicts with an existing branch whose name is a prefix of this name", branch)
	}
	if err != nil {
		return nil, err
	}
	b := &NewBranch{lock, branch}
	if err := checkAbsent(ctx, r, lock.Dir, branch); err != nil {
		b.Release()
		return nil, err
	}
	return b, nil
}

// checkAbsent returns an error if a branch exists or conflicts with one that exists. dir is the git directory, and the branch is locked.
func checkAbsent(ctx context.Context, r *repo.Repository, dir *beneath.Dir, branch string) error {
	exists, file := fmt.Errorf("the branch %s already exists", branch), BranchPrefix+branch
	info, err := dir.Lstat(file)
	switch {
	case err == nil && !info.IsDir():
		return exists
	case err == nil:
		// Git leaves empty directories of branches behind. Rmdir fails for a directory that is not empty.
		if err := dir.Rmdir(file); err != nil {
			return fmt.Errorf("%s: conflicts with branches whose names begin with %s/", branch, branch)
		}
	case !repo.IsAbsent(err):
		return fmt.Errorf("%s: %w", r.Root.Abs(r.InCommon(file)), err)
	}
	return visitPacked(ctx, r, func(line []byte) (bool, error) {
		_, name, _ := strings.Cut(string(line), " "+BranchPrefix)
		switch {
		case name == "":
		case name == branch:
			return true, exists
		case strings.HasPrefix(name, branch+"/"), strings.HasPrefix(branch, name+"/"):
			return true, fmt.Errorf("%s: conflicts with the branch %s", branch, hosterror.Truncate(name))
		}
		return false, nil
	})
}

// Log records in the branch's reflog that the branch is created, if the repository's configuration asks for reflogs.
func (b *NewBranch) Log(r *repo.Repository, commit plumbing.Hash, committer, message string) error {
	config, err := r.CheckedConfig()
	if err != nil {
		return err
	}
	line := logLine(plumbing.ZeroHash, commit, committer, message)
	return appendLog(b.lock.Dir, BranchPrefix+b.name, line, loggedReferences(config))
}

// Set creates the branch atomically.
func (b *NewBranch) Set(commit plumbing.Hash) error {
	return b.lock.Replace([]byte(commit.String() + "\n"))
}

// Release releases the lock, unless Set has done so.
func (b *NewBranch) Release() { b.lock.Release() }
