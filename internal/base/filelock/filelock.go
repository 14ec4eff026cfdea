// Package filelock provides advisory locks between processes. The system releases a lock when the last descriptor of the open file
// is closed. Start with Open and Try. The package waits for no lock.
package filelock

import (
	"fmt"
	"os"

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
