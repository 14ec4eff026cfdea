package code

import (
	"context"
	"os"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/internal/base/filelock"
)

// entryLock is held while an entry is filled.
type entryLock struct {
	path string
	file *os.File
}

// tryLockEntry acquires the lock of an entry. It returns nil if another caller holds the lock.
func (q queue) tryLockEntry(key string) (*entryLock, error) {
	path := filepath.Join(q.dir, key+".lock")
	file, err := filelock.Open(path)
	if err != nil {
		return nil, err
	}
	locked, err := filelock.Try(file, filelock.Exclusive)
	if err != nil || !locked || !filelock.IsLinked(file, path) { // the previous owner of the lock may have removed the file
		file.Close()
		return nil, err
	}
	return &entryLock{path, file}, nil
}

// lockEntry waits for the lock of an entry.
func (q queue) lockEntry(ctx context.Context, key string) (*entryLock, error) {
	var lock *entryLock
	err := filelock.Poll(ctx, func() (_ bool, err error) {
		lock, err = q.tryLockEntry(key)
		return lock != nil, err
	})
	return lock, err
}

func (l *entryLock) unlock() {
	removeLock(l.file, l.path)
}
