//go:build unix

package platform

import (
	"os"

	"golang.org/x/sys/unix"
)

// FileSystem returns the device of a file. local reports whether inode and times identify a version of a file on its file
// system. On network file systems they do not: times are cached, or set by the clocks of other machines.
func FileSystem(file *os.File) (dev uint64, local bool, err error) {
	conn, err := file.SyscallConn()
	if err != nil {
		return 0, false, err
	}
	var st unix.Stat_t
	var of unix.Statfs_t
	if cerr := conn.Control(func(fd uintptr) {
		if err = retry(func() error { return unix.Fstat(int(fd), &st) }); err == nil {
			err = retry(func() error { return unix.Fstatfs(int(fd), &of) })
		}
	}); cerr != nil {
		return 0, false, cerr
	}
	return uint64(st.Dev), err == nil && isLocal(&of), err
}

func retry(do func() error) error {
	for {
		if err := do(); err != unix.EINTR {
			return err
		}
	}
}
