package refs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/hosterror"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/repo"
)

// NewBranch is the lock of a branch that is being created. While it is held, neither git nor another operation can create that branch. The
// caller must release it.
type NewBranch struct {
	repo *repo.Repository
	ref  string // path of the branch's file in the root
	lock string // path of git's lock file for the branch, which is renamed to ref
	held bool
}

// LockNewBranch acquires git's lock for a branch. Under the lock it checks that the branch does not exist, and that no other branch conflicts
// with it: a branch a conflicts with a branch a/b, since one is a file and the other is in a directory of the same name.
func LockNewBranch(ctx context.Context, r *repo.Repository, branch string) (*NewBranch, error) {
	file := r.InCommon(BranchPrefix + branch)
	b := &NewBranch{repo: r, ref: file, lock: file + ".lock"}
	// Retry if necessary: git may remove an empty directory of branches after it was created and before the lock was created in it.
	var err error
	for range 3 {
		if err = b.acquire(); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, fmt.Errorf("%s: %s exists: another program is creating the branch, or was interrupted while creating it; "+
			"if no such program is running, remove that file", branch, r.Root.Abs(b.lock))
	case errors.Is(err, beneath.ErrNotDir):
		return nil, fmt.Errorf("%s: conflicts with an existing branch whose name is a prefix of this name", branch)
	case err != nil:
		return nil, r.Root.Explain(b.lock, err)
	}
	if err := b.checkAbsent(ctx, branch); err != nil {
		b.Release()
		return nil, err
	}
	return b, nil
}

func (b *NewBranch) acquire() error {
	err := b.repo.Root.Handle.MkdirAll(path.Dir(b.lock), 0o777)
	if err != nil {
		return err
	}
	f, _, err := b.repo.Root.Handle.Open(b.lock, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	b.held = true
	return f.Close()
}

func (b *NewBranch) checkAbsent(ctx context.Context, branch string) error {
	exists := fmt.Errorf("the branch %s already exists", branch)
	info, err := b.repo.Root.Handle.Lstat(b.ref)
	switch {
	case err == nil && !info.IsDir():
		return exists
	case err == nil:
		// Git leaves empty directories of branches behind. Rmdir fails for a directory that is not empty.
		if err := b.repo.Root.Handle.Rmdir(b.ref); err != nil {
			return fmt.Errorf("%s: conflicts with branches whose names begin with %s/", branch, branch)
		}
	case !repo.IsAbsent(err):
		return b.repo.Root.Explain(b.ref, err)
	}
	return visitPacked(ctx, b.repo, func(line []byte) (bool, error) {
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

// Set creates the branch atomically: it writes the lock file, syncs that file, and renames it to the reference.
func (b *NewBranch) Set(commit plumbing.Hash) error {
	r := b.repo.Root
	f, _, err := r.Handle.Open(b.lock, os.O_WRONLY, 0)
	if err != nil {
		return r.Explain(b.lock, err)
	}
	_, err = f.WriteString(commit.String() + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("%s: %w", r.Abs(b.lock), err)
	}
	if err := beneath.Rename(r.Handle, b.lock, r.Handle, b.ref); err != nil {
		return r.Explain(b.ref, err)
	}
	b.held = false
	return nil
}

// Release removes the lock file, unless Set has renamed it.
func (b *NewBranch) Release() {
	if b.held {
		_ = b.repo.Root.Handle.Unlink(b.lock)
		b.held = false
	}
}
