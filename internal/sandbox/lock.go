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
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/vfs"
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

// lock has the host process perform the operation. The worker cannot: a process that may lock a file can lock every file that it may open, and
// a filter of system calls cannot tell them apart.
func (b *Box) lock(ctx context.Context, q abi.Lock) (any, error) {
	if b.config.Lock == nil {
		return nil, noPlace()
	}
	if err := b.config.Lock(ctx, q); err != nil || q.Folder == "" {
		return nil, err
	}
	tree := b.tree(&operationCaller{ctx: operating(ctx)}, "", new(denials))
	if i, ok := b.mountIndex[tree.MountOf(q.Folder)]; ok {
		b.use(ctx, i, true) // which the lock requires
	}
	return nil, nil
}

// LockerConfig is the part of an effective grant that locks need. Its files must stay open until Close of the Locker.
type LockerConfig struct {
	// Mounts are the granted directories. For one that does not exist yet, Dir is nil: see Locker.Created.
	Mounts []vfs.Mount
	Hidden Hidden
	// Names is the plugin's directory of lock files; nil means that names cannot be locked.
	Names *os.File
	Log   hclog.Logger
}

// Locker performs the operation lock in the host process for the calls of one worker, by the same rules as the Box in the worker. It
// is safe for concurrent use.
type Locker struct {
	box     *Box // opens directories
	names   *beneath.Dir
	denials denials

	flock       func(fd, how int) error // replaced in tests
	warnNoLocks sync.Once

	use    sync.RWMutex // held for reading by each operation, since a descriptor of LockerConfig must not be closed while it is used
	closed bool
}

// NewLocker returns a Locker; it opens nothing.
func NewLocker(c LockerConfig) (*Locker, error) {
	box, err := New(Config{Mounts: c.Mounts, Hidden: c.Hidden, Log: c.Log})
	if err != nil {
		return nil, err
	}
	l := &Locker{box: box, flock: flock}
	if c.Names != nil {
		if l.names, err = beneath.New(c.Names); err != nil {
			return nil, fmt.Errorf("directory of locks: %w", err)
		}
	}
	return l, nil
}

// Created supplies the directory of a mount that did not exist.
func (l *Locker) Created(mount string, dir *os.File) error { return l.box.mounts.Created(mount, dir) }

// Close waits for the operations in flight. Further ones fail. Locks that calls hold remain until their End.
func (l *Locker) Close() {
	l.use.Lock()
	defer l.use.Unlock()
	l.closed = true
}

// Begin returns the locks of a new call.
func (l *Locker) Begin() *Locks { return &Locks{locker: l, names: map[string]*os.File{}} }

// Locks are the locks that one call holds. Its methods must not be called concurrently. The kernel releases a lock when its file is
// closed or the host ends.
type Locks struct {
	locker *Locker
	names  map[string]*os.File // files of the locked names
	dirs   []*os.File          // the locked directories
}

// End releases all locks of the call.
func (c *Locks) End() {
	for name := range c.names {
		c.unlock(name)
	}
	for _, dir := range c.dirs {
		_ = dir.Close() // the directory is only read, so no data is lost
	}
	c.dirs = nil
}

// Lock acquires a name, and a directory if one is given, until the call ends. All calls acquire the name first; with
// this lock order, two calls with the same name and directory cannot deadlock.
func (c *Locks) Lock(ctx context.Context, q abi.Lock) error {
	l := c.locker
	switch {
	case q.Name == "" || len(q.Name) > maxLockName:
		return invalidLock("the name must have 1 to %d bytes", maxLockName)
	case q.Folder != "" && !path.IsAbs(q.Folder):
		return invalidLock("the directory %q is not an absolute path", bounded(q.Folder))
	case l.names == nil && q.Folder == "":
		return noPlace()
	}
	l.use.RLock()
	defer l.use.RUnlock()
	if l.closed {
		return errors.New("lock: the worker process has ended")
	}
	wasHeld := c.names[q.Name] != nil
	if err := c.lockName(ctx, q.Name); err != nil || q.Folder == "" {
		return err
	}
	err := c.lockDir(ctx, q.Folder)
	if errors.Is(err, errNoLocks) {
		err = l.withoutDirLock(q.Folder, err)
	}
	if err != nil && !wasHeld {
		c.unlock(q.Name)
	}
	return err
}

// withoutDirLock lets a call continue with the lock of the name only, if the directory's file system does not support
// locks, and logs a warning once. It fails if names cannot be locked either.
func (l *Locker) withoutDirLock(path string, why error) error {
	if l.names == nil {
		return noPlace()
	}
	l.warnNoLocks.Do(func() {
		l.box.config.Log.Warn("a directory cannot be locked, so only servers with the same state directory exclude each other", "directory", visible.Text(bounded(path)), "error", why)
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
func (c *Locks) lockName(ctx context.Context, name string) error {
	l := c.locker
	if _, held := c.names[name]; held || l.names == nil {
		return nil
	}
	if len(c.names) >= maxLocks {
		return invalidLock("this call already holds %d locks, the maximum", maxLocks)
	}
	file, _, err := l.names.Open(lockFile(name), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	if err := l.acquire(ctx, file); err != nil {
		return errors.Join(err, file.Close())
	}
	c.names[name] = file
	return nil
}

// lockFile returns a valid file name for any name of a lock.
func lockFile(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}

// lockDir locks the directory itself, through a new open file description: a flock belongs to the description, so calls
// that shared one would not exclude each other. If the path refers to a different directory by the time the lock is
// acquired, or to none, lockDir starts again, since other calls lock that one.
func (c *Locks) lockDir(ctx context.Context, path string) error {
	l := c.locker
	for {
		file, err := l.openForLock(path)
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
		if err := l.acquire(ctx, file); err != nil {
			return errors.Join(err, file.Close())
		}
		if l.refersTo(path, file) {
			c.dirs = append(c.dirs, file)
			return nil
		}
		_ = file.Close() // the directory is only read, so no data is lost
	}
}

// openForLock opens a directory to be locked. It refuses a directory that the plugin can only read: such a plugin must not block
// others.
func (l *Locker) openForLock(path string) (*os.File, error) {
	var asked faults // nothing is recorded here, since the operation is recorded with its result
	file, errno := l.box.tree(&asked, "", &l.denials).OpenDirectory(path)
	if errno != 0 {
		return nil, fileError(abi.OpLock, path, errno, asked.last)
	}
	return file, nil
}

// unlock releases a name that the call holds.
func (c *Locks) unlock(name string) {
	if held := c.names[name]; held != nil {
		_ = held.Close()
		delete(c.names, name)
	}
}

// refersTo reports whether a path currently refers to an open directory.
func (l *Locker) refersTo(path string, file *os.File) bool {
	now, err := l.openForLock(path)
	if err != nil {
		return false
	}
	defer func() { _ = now.Close() }() // the directory is only read, so no data is lost
	same, _ := sameFile(now, file)     // false after an error
	return same
}

// holdsDir reports whether the call holds the lock of an open directory, whichever path it was opened by.
func (c *Locks) holdsDir(file *os.File) (bool, error) {
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
func (l *Locker) acquire(ctx context.Context, file *os.File) error {
	for wait := minLockWait; ; wait = min(2*wait, maxLockWait) {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := l.flock(int(file.Fd()), lockExclusive)
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
