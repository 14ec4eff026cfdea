// Package filelock provides advisory locks between processes. The system releases a lock when the last descriptor of the open file
// is closed. Start with Lock; Open and Try do not wait.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/platform"
)

// Mode is how a file is locked.
type Mode int

// The values of Mode.
const (
	Exclusive Mode = iota
	Shared
)

// Open opens or creates a lock file.
func Open(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|platform.NoFollow|platform.NonBlock, 0o600)
}

// Try acquires a lock without blocking, and reports whether the lock was free. Not every system can lock directories.
func Try(f *os.File, mode Mode) (bool, error) {
	free, err := try(f, mode)
	if err != nil {
		return false, fmt.Errorf("cannot lock %s: %w", f.Name(), err)
	}
	return free, nil
}

// Poll calls try with exponential backoff until try succeeds or fails, or ctx ends. A blocking lock is not used, because it cannot be
// cancelled.
func Poll(ctx context.Context, try func() (bool, error)) error {
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

// Lock opens or creates a lock file, and waits until the lock is acquired or ctx ends.
func Lock(ctx context.Context, path string, mode Mode) (*os.File, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	if err := Poll(ctx, func() (bool, error) { return Try(f, mode) }); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// IsHeld reports whether the file at path is locked. It does so too if that cannot be determined, but not if there is no file. It acquires the
// lock for a moment.
func IsHeld(path string) bool {
	f, err := os.OpenFile(path, os.O_RDWR|platform.NoFollow|platform.NonBlock, 0) // on NFS, an exclusive lock needs write access
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close()
	free, err := Try(f, Exclusive)
	return err != nil || !free
}

// Unlock releases a lock. Closing the file also releases it.
func Unlock(f *os.File) error { return unlock(f) }

// IsLinked reports whether path still names the open file: a previous owner of a lock may have removed the file since it was opened.
func IsLinked(f *os.File, path string) bool {
	have, err := f.Stat()
	if err != nil {
		return false
	}
	want, err := os.Lstat(path)
	return err == nil && os.SameFile(have, want)
}
