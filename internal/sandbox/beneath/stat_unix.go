//go:build unix

package beneath

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

func fstat(fd int) (Stat, error) {
	var st unix.Stat_t
	_, err := retry(func() (int, error) { return 0, unix.Fstat(fd, &st) })
	return statOf(&st), err
}

func fstatat(dir int, leaf string) (Stat, error) {
	var st unix.Stat_t
	_, err := retry(func() (int, error) { return 0, unix.Fstatat(dir, leaf, &st, unix.AT_SYMLINK_NOFOLLOW) })
	return statOf(&st), err
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
