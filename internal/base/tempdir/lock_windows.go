package tempdir

import (
	"io/fs"
	"os"

	"github.com/bulkhead-mcp/bulkhead/internal/base/filelock"
)

// lockDir tries to lock a directory. It locks a file beside the directory, since Windows cannot lock directories. Closing
// the returned file releases the lock.
func lockDir(path string) (lock *os.File, locked bool, err error) {
	if lock, err = filelock.Open(path + ".lock"); err != nil {
		return nil, false, err
	}
	if locked, err = filelock.Try(lock, filelock.Exclusive); err != nil || !locked {
		return lock, false, err
	}
	_, err = os.Lstat(path)
	return lock, err == nil, err
}

// forgetLock removes the file that lockDir created.
func forgetLock(path string) error { return os.Remove(path + ".lock") }

// ownedByUser accepts all directories: the directory for temporary files belongs to the user, and the cache directory was checked.
func ownedByUser(fs.FileInfo) bool { return true }
