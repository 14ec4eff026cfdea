//go:build linux || darwin

package beneath

import (
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/internal/seam"
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
}

// IsDir reports whether the file is a directory.
func (s Stat) IsDir() bool { return s.Mode.IsDir() }

// IsLink reports whether the file is a symbolic link.
func (s Stat) IsLink() bool { return s.Mode&fs.ModeSymlink != 0 }

// ModTime returns the modification time.
func (s Stat) ModTime() time.Time { return time.Unix(0, s.Mtime) }

// StatFile describes an open file.
func StatFile(file *os.File) (st Stat, err error) {
	err = control(file, func(fd int) error {
		st, err = fstat(fd)
		return err
	})
	return st, pathError("stat", file.Name(), err)
}

// Chmod sets the permissions of an open file.
func Chmod(file *os.File, perm fs.FileMode) error {
	err := control(file, func(fd int) error { return unix.Fchmod(fd, uint32(perm.Perm())) })
	return pathError("chmod", file.Name(), err)
}

// control runs do on the descriptor of an open file. It returns os.ErrClosed if the file is closed.
func control(file *os.File, do func(fd int) error) error {
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var doErr error
	if err := conn.Control(func(fd uintptr) { doErr = do(int(fd)) }); err != nil {
		return err
	}
	return doErr
}

func fstat(fd int) (Stat, error) {
	var st unix.Stat_t
	for {
		seam.Call()
		if err := unix.Fstat(fd, &st); err != unix.EINTR {
			return statOf(&st), err
		}
	}
}

func fstatat(dir int, leaf string) (Stat, error) {
	var st unix.Stat_t
	for {
		seam.Call()
		if err := unix.Fstatat(dir, leaf, &st, unix.AT_SYMLINK_NOFOLLOW); err != unix.EINTR {
			return statOf(&st), err
		}
	}
}

// modeOf converts the mode of a stat structure.
func modeOf(mode uint32) fs.FileMode {
	out := fs.FileMode(mode & 0o777)
	switch mode & unix.S_IFMT {
	case unix.S_IFBLK:
		out |= fs.ModeDevice
	case unix.S_IFCHR:
		out |= fs.ModeDevice | fs.ModeCharDevice
	case unix.S_IFDIR:
		out |= fs.ModeDir
	case unix.S_IFIFO:
		out |= fs.ModeNamedPipe
	case unix.S_IFLNK:
		out |= fs.ModeSymlink
	case unix.S_IFSOCK:
		out |= fs.ModeSocket
	}
	if mode&unix.S_ISUID != 0 {
		out |= fs.ModeSetuid
	}
	if mode&unix.S_ISGID != 0 {
		out |= fs.ModeSetgid
	}
	if mode&unix.S_ISVTX != 0 {
		out |= fs.ModeSticky
	}
	return out
}
