//go:build unix

package writers

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// duplicate returns another descriptor of a file, as a child process inherits one. That of the host itself is inherited by no process that
// does not name it.
func duplicate(t *testing.T, f *os.File) *os.File {
	t.Helper()
	if flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("the lock has the flags %#x, %v; want FD_CLOEXEC", flags, err)
	}
	if flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0); err != nil || flags&unix.O_ACCMODE != unix.O_RDONLY {
		t.Errorf("the lock has the flags %#x, %v; want O_RDONLY, since workers inherit it", flags, err)
	}
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fd), f.Name())
}
