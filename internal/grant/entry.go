package grant

import (
	"os"

	"golang.org/x/sys/unix"
)

// entry is an entry of a directory: a directory or a symbolic link.
type entry struct {
	id     FileID
	file   *os.File // handle of the directory; nil for a link
	target string   // of the link
}

func fileID(st *unix.Stat_t) FileID { return FileID{Dev: uint64(st.Dev), Ino: st.Ino} }

// identify returns the identity of the file at a path.
func identify(path string, follow bool) (FileID, error) {
	return identifyAt(unix.AT_FDCWD, path, follow)
}

func identifyAt(dir int, name string, follow bool) (FileID, error) {
	flags := unix.AT_SYMLINK_NOFOLLOW
	if follow {
		flags = 0
	}
	var st unix.Stat_t
	if err := retry(func() error { return unix.Fstatat(dir, name, &st, flags) }); err != nil {
		return FileID{}, err
	}
	return fileID(&st), nil
}

// openAt opens a file beneath dir; nil means the working directory.
func openAt(dir *os.File, name string, flags int, perm uint32) (*os.File, error) {
	at := unix.AT_FDCWD
	if dir != nil {
		at = int(dir.Fd())
	}
	fd := -1
	err := retry(func() (err error) {
		fd, err = unix.Openat(at, name, flags|unix.O_CLOEXEC, perm)
		return err
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// readLink reads the target of the link at name beneath dir, or of the handle itself if name is empty.
func readLink(dir *os.File, name string) (string, error) {
	buf := make([]byte, maxPath+1)
	n := 0
	err := retry(func() (err error) {
		n, err = unix.Readlinkat(int(dir.Fd()), name, buf)
		return err
	})
	if err == nil && n > maxPath {
		err = unix.ENAMETOOLONG
	}
	if err == nil && n == 0 {
		err = unix.ENOENT
	}
	return string(buf[:n]), err
}

func retry(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}
