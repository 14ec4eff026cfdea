package beneath

import (
	"io/fs"
	"os"
	"time"
)

// FileID identifies a file while it exists.
type FileID struct{ Dev, Ino uint64 }

// Stat describes a file. Times are in nanoseconds since 1970.
type Stat struct {
	FileID
	Mode                fs.FileMode
	Nlink               uint64
	Size                int64
	Atime, Mtime, Ctime int64
	UID, GID            uint32 // owner and group; 0 on Windows
}

// IsDir reports whether the file is a directory.
func (s Stat) IsDir() bool { return s.Mode.IsDir() }

// IsLink reports whether the file is a symbolic link.
func (s Stat) IsLink() bool { return s.Mode&fs.ModeSymlink != 0 }

// ModTime returns the modification time.
func (s Stat) ModTime() time.Time { return time.Unix(0, s.Mtime) }

// StatFile describes an open file.
func StatFile(file *os.File) (st Stat, err error) {
	err = Control(file, func(fd int) error {
		st, err = fstat(fd)
		return err
	})
	return st, pathError("stat", file.Name(), err)
}

// Chmod sets the permissions of an open file.
func Chmod(file *os.File, perm fs.FileMode) error {
	err := Control(file, func(fd int) error { return fchmod(fd, uint32(perm.Perm())) })
	return pathError("chmod", file.Name(), err)
}

// Control runs do on the descriptor of an open file. It returns os.ErrClosed if the file is closed.
func Control(file *os.File, do func(fd int) error) error {
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var doErr error
	if conn.Control(func(fd uintptr) { doErr = do(int(fd)) }) != nil {
		return os.ErrClosed // the only reason, but with an error of its own
	}
	return doErr
}
