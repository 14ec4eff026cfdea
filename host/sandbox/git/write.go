package git

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/bulkhead-mcp/bulkhead/host/sandbox/beneath"
)

// write makes a loose object of the repository's own, unless it has that object. It is whole from the
// moment that it has its name.
func (s *store) write(o object) error {
	hash := hashOf(o)
	if ok, err := s.has(hash); ok || err != nil {
		return err
	}
	if err := s.ctx.Err(); err != nil {
		return err
	}
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	_, _ = fmt.Fprintf(z, "%s %d\x00", o.kind, len(o.data)) // a buffer takes all
	_, _ = z.Write(o.data)
	_ = z.Close()
	hex := hash.String()
	dir := s.repo.inCommon("objects/" + hex[:2])
	r := s.repo.root
	if err := r.dir.Mkdir(dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return r.explain(dir, err)
	}
	// Git removes files of this name, should one be left behind.
	temporary := path.Join(dir, "tmp_obj_"+rand.Text()[:12])
	if err := r.create(temporary, packed.Bytes(), 0o444); err != nil {
		return err
	}
	if err := beneath.Rename(r.dir, temporary, r.dir, path.Join(dir, hex[2:])); err != nil {
		_ = r.dir.Unlink(temporary)
		return r.explain(dir, err)
	}
	return nil
}

// create writes a file that must not be there, to the disk; what it could not write whole it removes.
func (r *root) create(name string, content []byte, mode fs.FileMode) error {
	f, _, err := r.dir.Open(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return r.explain(name, err)
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		_ = r.dir.Unlink(name)
		return fmt.Errorf("%s: %w", r.abs(name), err)
	}
	return nil
}

// newBranch is a branch that is being made: nobody else makes it, or one below or above it, until it is
// released.
type newBranch struct {
	repo *repository
	ref  string // its file, in root
	lock string // git's own lock file for it, which becomes the reference
	held bool
}

// lockNewBranch takes a branch's lock and makes sure that there is no such branch, and none that would
// be its folder or lie in it.
func (r *repository) lockNewBranch(ctx context.Context, branch string) (*newBranch, error) {
	file := r.inCommon(branchPrefix + branch)
	b := &newBranch{repo: r, ref: file, lock: file + ".lock"}
	// Git removes a folder of branches with its last one, maybe just now.
	var err error
	for range 3 {
		if err = b.take(); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, fmt.Errorf("%s: %s is there: another program is making the branch, or one was ended while it did; "+
			"if none is at work remove that file", branch, r.root.abs(b.lock))
	case errors.Is(err, syscall.ENOTDIR):
		return nil, fmt.Errorf("%s: there is a branch whose name is the beginning of this one's", branch)
	case err != nil:
		return nil, r.root.explain(b.lock, err)
	}
	if err := b.checkFree(ctx, branch); err != nil {
		b.release()
		return nil, err
	}
	return b, nil
}

func (b *newBranch) take() error {
	err := b.repo.root.dir.MkdirAll(path.Dir(b.lock), 0o777)
	if err != nil {
		return err
	}
	f, _, err := b.repo.root.dir.Open(b.lock, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	b.held = true
	return f.Close()
}

func (b *newBranch) checkFree(ctx context.Context, branch string) error {
	exists := fmt.Errorf("the branch %s exists already", branch)
	info, err := b.repo.root.dir.Lstat(b.ref)
	switch {
	case err == nil && !info.IsDir():
		return exists
	case err == nil:
		// A folder of branches, or what is left of one: an empty one stands in the way of nothing.
		if err := b.repo.root.dir.Rmdir(b.ref); err != nil {
			return fmt.Errorf("%s: there are branches whose names begin with %s/", branch, branch)
		}
	case !absent(err):
		return b.repo.root.explain(b.ref, err)
	}
	return b.repo.packedLines(ctx, func(line []byte) (bool, error) {
		_, name, _ := strings.Cut(string(line), " "+branchPrefix)
		switch {
		case name == "":
		case name == branch:
			return true, exists
		case strings.HasPrefix(name, branch+"/"), strings.HasPrefix(branch, name+"/"):
			return true, fmt.Errorf("%s: there is the branch %s, beside which it cannot be", branch, shorten(name))
		}
		return false, nil
	})
}

// set gives the branch its commit.
func (b *newBranch) set(commit plumbing.Hash) error {
	r := b.repo.root
	f, _, err := r.dir.Open(b.lock, os.O_WRONLY, 0)
	if err != nil {
		return r.explain(b.lock, err)
	}
	_, err = f.WriteString(commit.String() + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("%s: %w", r.abs(b.lock), err)
	}
	if err := beneath.Rename(r.dir, b.lock, r.dir, b.ref); err != nil {
		return r.explain(b.ref, err)
	}
	b.held = false
	return nil
}

// release gives the lock back, if the branch was not made.
func (b *newBranch) release() {
	if b.held {
		_ = b.repo.root.dir.Unlink(b.lock)
		b.held = false
	}
}
