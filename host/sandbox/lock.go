package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bulkhead-mcp/bulkhead/host/sandbox/beneath"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

const (
	maxLocks    = 16  // names that a call may hold, and likewise folders
	maxLockName = 256 // bytes
	// How long is waited between two tries. The system's own waiting cannot be ended with the call.
	lockFirst, lockMost = time.Millisecond, 25 * time.Millisecond
)

// fileLock is a held lock. The system releases it with the process, however that ends.
type fileLock struct{ file *os.File }

func (l *fileLock) release() { _ = l.file.Close() }

// errNoLocks says that a file system has no locks.
var errNoLocks = errors.New("the file system has no locks")

// lock holds a name until the call ends, and a folder too where one is given. The name comes first, in all
// calls, so that two of them cannot have one each and wait for the other.
func (b *Box) lock(ctx context.Context, q abi.Lock) (any, error) {
	switch {
	case q.Name == "" || len(q.Name) > maxLockName:
		return nil, invalidLock("a name has 1 to %d bytes", maxLockName)
	case q.Folder != "" && !filepath.IsAbs(q.Folder):
		return nil, invalidLock("the folder %q is not an absolute path", bounded(q.Folder))
	case b.locks == nil && q.Folder == "":
		return nil, noPlace()
	}
	c := callOf(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	had := c.locks[q.Name] != nil
	if err := b.lockName(ctx, c, q.Name); err != nil || q.Folder == "" {
		return nil, err
	}
	err := b.lockFolder(ctx, c, q.Folder)
	if errors.Is(err, errNoLocks) {
		err = b.withoutFolder(q.Folder, err)
	}
	if err != nil && !had {
		c.unlock(q.Name)
	}
	return nil, err
}

// withoutFolder says what becomes of a call whose folder's file system has no locks: the name has to do, and the
// admin learns of it.
func (b *Box) withoutFolder(folder string, why error) error {
	if b.locks == nil {
		return noPlace()
	}
	b.warnNoLocks.Do(func() {
		b.config.Log.Warn("a folder cannot be locked, so servers with other state folders are not kept out of it", "folder", bounded(folder), "error", why)
	})
	return nil
}

func invalidLock(format string, args ...any) error {
	return &abi.HostError{Code: abi.HostInvalid, Message: "lock: " + fmt.Sprintf(format, args...)}
}

func noPlace() error {
	return &abi.HostError{Code: abi.HostUnavailable, Message: "lock: there is no folder for state, so nothing can be locked"}
}

// lockName holds a name. Lock files lie in a directory that no module sees, and stay, since whoever removes one
// that another waits for would let two in. Without such a directory it does nothing.
func (b *Box) lockName(ctx context.Context, c *Call, name string) error {
	if _, held := c.locks[name]; held || b.locks == nil {
		return nil
	}
	if len(c.locks) >= maxLocks {
		return invalidLock("a call holds at most %d locks", maxLocks)
	}
	file, _, err := b.locks.Open(lockFile(name), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	if err := b.acquire(ctx, file); err != nil {
		return errors.Join(err, file.Close())
	}
	if c.locks == nil {
		c.locks = map[string]*fileLock{}
	}
	c.locks[name] = &fileLock{file}
	return nil
}

// lockFile is a name that a file can have, for any name of a lock.
func lockFile(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}

// lockFolder holds a folder itself, for which it is opened anew: a lock belongs to what was opened, and would
// not keep two calls of one process apart that share that. Where another folder has come to the path by the time
// the lock is held, it is that one that others lock.
func (b *Box) lockFolder(ctx context.Context, c *Call, folder string) error {
	for {
		file, err := b.openLocked(folder)
		if err != nil {
			return err
		}
		held, err := c.holds(file)
		if err == nil && !held && len(c.folders) >= maxLocks {
			err = invalidLock("a call holds at most %d folders", maxLocks)
		}
		if held || err != nil {
			return errors.Join(err, file.Close())
		}
		if err := b.acquire(ctx, file); err != nil {
			return errors.Join(err, file.Close())
		}
		still, err := b.leadsTo(folder, file)
		if err != nil {
			return errors.Join(err, file.Close())
		}
		if still {
			c.folders = append(c.folders, &fileLock{file})
			return nil
		}
		_ = file.Close() // it was only locked
	}
}

// openLocked opens a folder that is to be locked. A plugin that may only read it must not hold up others.
func (b *Box) openLocked(folder string) (*os.File, error) {
	var asked faults // the operation itself is recorded, with what became of it
	file, errno := b.tree(&asked).OpenFolder(folder)
	if errno != 0 {
		return nil, fileError(abi.OpLock, folder, errno, asked.last)
	}
	return file, nil
}

// unlock releases a name.
func (c *Call) unlock(name string) {
	if held := c.locks[name]; held != nil {
		held.release()
		delete(c.locks, name)
	}
}

// leadsTo tells whether a path leads to an open folder.
func (b *Box) leadsTo(path string, file *os.File) (bool, error) {
	now, err := b.openLocked(path)
	if err != nil {
		return false, err
	}
	defer func() { _ = now.Close() }() // it was only looked at
	return same(now, file)
}

// holds tells whether the call has the lock of an open folder, by whatever path it came there.
func (c *Call) holds(file *os.File) (bool, error) {
	for _, l := range c.folders {
		if held, err := same(l.file, file); held || err != nil {
			return held, err
		}
	}
	return false, nil
}

func same(a, b *os.File) (bool, error) {
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

// acquire waits for the lock on what was opened.
func (b *Box) acquire(ctx context.Context, file *os.File) error {
	for wait := lockFirst; ; wait = min(2*wait, lockMost) {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := b.flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR):
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

// lacksLocks tells whether a file system answers so that cannot lock, or not what was only opened to be read.
func lacksLocks(err error) bool {
	return slices.ContainsFunc([]unix.Errno{unix.ENOLCK, unix.EOPNOTSUPP, unix.ENOTSUP, unix.ENOSYS, unix.EBADF, unix.EINVAL},
		func(errno unix.Errno) bool { return errors.Is(err, errno) })
}
