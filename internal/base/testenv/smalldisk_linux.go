package testenv

import (
	"syscall"
	"testing"
)

// SmallDisk returns a directory of a file system of its own with a number of bytes, or skips the test if the user may not mount one.
func SmallDisk(t *testing.T, bytes string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+bytes+",mode=0700"); err != nil {
		t.Skipf("needs a small file system, which this user may not mount: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}
