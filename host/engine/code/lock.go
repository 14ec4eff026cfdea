package code

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// tryLock takes an advisory lock on an open file, which the system releases when the last descriptor of it is closed.
func tryLock(f *os.File, how int) (bool, error) {
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, syscall.EINTR):
			return false, fmt.Errorf("lock %s: %w", f.Name(), err)
		}
	}
}

// openLock opens a file that exists to be locked.
func openLock(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
}

// inPlace tells whether path still names the open file.
func inPlace(f *os.File, path string) bool {
	have, err := f.Stat()
	if err != nil {
		return false
	}
	want, err := os.Lstat(path)
	return err == nil && os.SameFile(have, want)
}

// poll calls try until it succeeds, fails, or ctx ends. A blocking lock could not be cancelled.
func poll(ctx context.Context, try func() (bool, error)) error {
	const longest = 40 * time.Millisecond
	for wait := time.Millisecond; ; wait = min(2*wait, longest) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if done, err := try(); done || err != nil {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// held is a directory of this process's, which is locked so that others see that its owner is alive.
type held struct {
	path string
	lock *os.File
}

// newHeld makes a directory in dir whose name begins with prefix.
func newHeld(dir, prefix string) (*held, error) {
	for {
		path, err := os.MkdirTemp(dir, prefix)
		if err != nil {
			return nil, err
		}
		lock, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a sweep was faster than the lock
		}
		if err != nil {
			return nil, err
		}
		locked, err := tryLock(lock, syscall.LOCK_EX)
		if err == nil && locked && inPlace(lock, path) {
			return &held{path, lock}, nil
		}
		lock.Close()
		if err != nil {
			return nil, errors.Join(err, removeTree(path))
		}
	}
}

// remove removes the directory, unless it was renamed, and gives up the lock.
func (h *held) remove() error { return errors.Join(removeTree(h.path), h.lock.Close()) }

// sweepDead removes the directories in dir that newHeld made with prefix and whose processes are dead.
func sweepDead(dir, prefix string) {
	paths, _ := filepath.Glob(filepath.Join(dir, prefix+"*"))
	for _, path := range paths {
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() || !ownedByUser(info) {
			continue
		}
		lock, err := os.Open(path)
		if err != nil {
			continue
		}
		if dead, err := tryLock(lock, syscall.LOCK_EX); err == nil && dead && inPlace(lock, path) {
			_ = removeTree(path)
		}
		lock.Close()
	}
}

func ownedByUser(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid()
}

// removeTree removes a directory, also one in which a compiler made directories without permissions.
func removeTree(path string) error {
	err := os.RemoveAll(path)
	if err == nil {
		return nil
	}
	_ = filepath.WalkDir(path, func(path string, item fs.DirEntry, _ error) error {
		if item != nil && item.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(path)
}
