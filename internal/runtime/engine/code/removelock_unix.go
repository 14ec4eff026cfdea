//go:build unix

package code

import "os"

// removeLock removes a locked file and releases its lock.
func removeLock(f *os.File, path string) {
	_ = os.Remove(path)
	f.Close()
}
