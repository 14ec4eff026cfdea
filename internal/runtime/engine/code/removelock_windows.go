package code

import "os"

// removeLock removes a locked file and releases its lock.
func removeLock(f *os.File, path string) {
	f.Close()
	_ = os.Remove(path) // fails while another process has the file open
}
