package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

const (
	maxLocks    = 16  // that a call may hold
	maxLockName = 256 // bytes
	// How long is waited between two tries. The system's own waiting cannot be ended with the call.
	lockFirst, lockMost = time.Millisecond, 25 * time.Millisecond
)

// fileLock is a held lock. The system releases it with the process, however that ends.
type fileLock struct{ file *os.File }

func (l *fileLock) release() { _ = l.file.Close() }

// lock holds a name until the call ends. Lock files lie beside the plugins' state folders, where no module
// can take them away; they stay, since whoever removes one that another waits for would let two in.
func (b *Box) lock(ctx context.Context, q abi.Lock) (any, error) {
	switch {
	case q.Name == "" || len(q.Name) > maxLockName:
		return nil, &abi.HostError{Code: abi.HostInvalid, Message: fmt.Sprintf("lock: a name has 1 to %d bytes", maxLockName)}
	case b.config.Places.State == "":
		return nil, &abi.HostError{Code: abi.HostUnavailable, Message: "lock: there is no folder for state, so nothing can be locked"}
	}
	c := callOf(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, held := c.locks[q.Name]; held {
		return nil, nil
	}
	if len(c.locks) >= maxLocks {
		return nil, &abi.HostError{Code: abi.HostInvalid, Message: fmt.Sprintf("lock: a call holds at most %d locks", maxLocks)}
	}
	held, err := acquire(ctx, b.lockFile(q.Name))
	if err != nil {
		return nil, err
	}
	if c.locks == nil {
		c.locks = map[string]*fileLock{}
	}
	c.locks[q.Name] = held
	return nil, nil
}

func (b *Box) lockFile(name string) string {
	sum := sha256.Sum256([]byte(name))
	return filepath.Join(b.config.Places.State, ".locks", b.config.Plugin, hex.EncodeToString(sum[:]))
}

// acquire waits for the lock on a file.
func acquire(ctx context.Context, name string) (*fileLock, error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	for wait := lockFirst; ; wait = min(2*wait, lockMost) {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return &fileLock{file}, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock: %w", err), file.Close())
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), file.Close())
		}
	}
}
