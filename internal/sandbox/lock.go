package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"syscall"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

const (
	maxLocks    = 16  // maximum number of names that a call may lock, and maximum number of directories
	maxLockName = 256 // bytes
	// Back-off between two tries. A blocking flock could not be canceled with the call.
	minLockWait, maxLockWait = time.Millisecond, 25 * time.Millisecond
)

// errNoLocks means that a file system does not support locks.
var errNoLocks = errors.New("the file system does not support locks")

// lock acquires a name, and a directory if one is given, until the call ends. All calls acquire the name first; with
// this lock order, two calls with the same name and directory cannot deadlock.
func (b *Box) lock(ctx context.Context, q abi.Lock) (any, error) {
	switch {
	case q.Name == "" || len(q.Name) > maxLockName:
		return nil, invalidLock("the name must have 1 to %d bytes", maxLockName)
	case q.Folder != "" && !path.IsAbs(q.Folder):
		return nil, invalidLock("the directory %q is not an absolute path", bounded(q.Folder))
	case b.locks == nil && q.Folder == "":
		return nil, noPlace()
	}
	c := callOf(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	wasHeld := c.locks[q.Name] != nil
	if err := b.lockName(ctx, c, q.Name); err != nil || q.Folder == "" {
		return nil, err
	}
	err := b.lockDir(ctx, c, q.Folder)
	if errors.Is(err, errNoLocks) {
		err = b.withoutDirLock(q.Folder, err)
	}
	if err != nil && !wasHeld {
		c.unlock(q.Name)
	}
	return nil, err
}

// withoutDirLock lets a call continue with the lock of the name only, if the directory's file system does not support
// locks, and logs a warning once. It fails if names cannot be locked either.
func (b *Box) withoutDirLock(path string, why error) error {
	if b.locks == nil {
		return noPlace()
	}
	b.warnNoLocks.Do(func() {
		b.config.Log.Warn("a directory cannot be locked, so only servers with the same state directory exclude each other", "directory", visible.Text(bounded(path)), "error", why)
	})
	return nil
}

func invalidLock(format string, args ...any) error {
	return &abi.HostError{Code: abi.HostInvalid, Message: "lock: " + fmt.Sprintf(format, args...)}
}

func noPlace() error {
	return &abi.HostError{Code: abi.HostUnavailable, Message: "lock: there is no state directory, so nothing can be locked"}
}

// lockName acquires a name. Its file is in a directory that no module sees, and is never removed: a removed file could be
// locked by a waiter while its successor is locked too. If there is no such directory, lockName does nothing.
func (b *Box) lockName(ctx context.Context, c *Call, name string) error {
	if _, held := c.locks[name]; held || b.locks == nil {
		return nil
	}
	if len(c.locks) >= maxLocks {
		return invalidLock("this call already holds %d locks, the maximum", maxLocks)
	}
	file, _, err := b.locks.Open(lockFile(name), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	if err := b.acquire(ctx, file); err != nil {
		return errors.Join(err, file.Close())
	}
	if c.locks == nil {
		c.locks = map[string]*os.File{}
	}
	c.locks[name] = file
	return nil
}

// lockFile returns a valid file name for any name of a lock.
func lockFile(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}

// lockDir locks the directory itself, through a new open file description: a flock belongs to the description, so calls
// that shared one would not exclude each other. If the path refers to a different directory by the time the lock is
// acquired, lockDir retries with that directory, since other calls lock that one.
func (b *Box) lockDir(ctx context.Context, c *Call, path string) error {
	for {
		file, err := b.openForLock(path)
		if err != nil {
			return err
		}
		held, err := c.holdsDir(file)
		if err == nil && !held && len(c.dirs) >= maxLocks {
			err = invalidLock("this call already holds the locks of %d directories, the maximum", maxLocks)
		}
		if held || err != nil {
			return errors.Join(err, file.Close())
		}
		if err := b.acquire(ctx, file); err != nil {
			return errors.Join(err, file.Close())
		}
		current, err := b.refersTo(path, file)
		if err != nil {
			return errors.Join(err, file.Close())
		}
		if current {
			c.dirs = append(c.dirs, file)
			return nil
		}
		_ = file.Close() // the directory is only read, so no data is lost
	}
}

// openForLock opens a directory to be locked. It refuses a directory that the plugin can only read: such a plugin must not block
// others.
func (b *Box) openForLock(path string) (*os.File, error) {
	var asked faults // nothing is recorded here, since the operation is recorded with its result
	file, errno := b.tree(&asked, "").OpenDirectory(path)
	if errno != 0 {
		return nil, fileError(abi.OpLock, path, errno, asked.last)
	}
	return file, nil
}

// unlock releases a name that the call holds.
func (c *Call) unlock(name string) {
	if held := c.locks[name]; held != nil {
		_ = held.Close()
		delete(c.locks, name)
	}
}

// refersTo reports whether a path currently refers to an open directory.
func (b *Box) refersTo(path string, file *os.File) (bool, error) {
	now, err := b.openForLock(path)
	if err != nil {
		return false, err
	}
	defer func() { _ = now.Close() }() // the directory is only read, so no data is lost
	return sameFile(now, file)
}

// holdsDir reports whether the call holds the lock of an open directory, whichever path it was opened by.
func (c *Call) holdsDir(file *os.File) (bool, error) {
	for _, dir := range c.dirs {
		if held, err := sameFile(dir, file); held || err != nil {
			return held, err
		}
	}
	return false, nil
}

func sameFile(a, b *os.File) (bool, error) {
	one, err := beneath.StatFile(a)
	if err != nil {
		return false, fmt.Errorf("lock: %w", err)
	}
	other, err := beneath.StatFile(b)
	if err != nil {
		return false, fmt.Errorf("lock: %w", err)
	}
	return one.FileID == other.FileID, nil
}

// acquire waits for the lock of an open file.
func (b *Box) acquire(ctx context.Context, file *os.File) error {
	for wait := minLockWait; ; wait = min(2*wait, maxLockWait) {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := b.flock(int(file.Fd()), lockExclusive)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR):
		case lacksLocks(err):
			return fmt.Errorf("lock: %w: %w", errNoLocks, err)
		default:
			return fmt.Errorf("lock: %w", err)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// lacksLocks reports whether an error says that a file system does not support locks, or does not support them on files
// opened read-only.
func lacksLocks(err error) bool {
	return slices.ContainsFunc([]syscall.Errno{syscall.ENOLCK, syscall.EOPNOTSUPP, syscall.ENOTSUP, syscall.ENOSYS, syscall.EBADF, syscall.EINVAL},
		func(errno syscall.Errno) bool { return errors.Is(err, errno) })
}
