//go:build unix

package beneath

import "golang.org/x/sys/unix"

// Flags of Open, besides those of package os.
const (
	// Directory makes Open fail unless the file is a directory.
	Directory = unix.O_DIRECTORY

	noFollow  = unix.O_NOFOLLOW
	openFlags = unix.O_NONBLOCK | unix.O_CLOEXEC | unix.O_NOCTTY
)

// ErrNotDir means that a file is not a directory, where the operation requires one.
const ErrNotDir = unix.ENOTDIR

func sysOpenat(dir int, name string, flag int, perm uint32) (int, error) {
	return unix.Openat(dir, name, flag|unix.O_CLOEXEC, perm)
}

func closeFD(fd int) { _ = unix.Close(fd) }

// setBlocking clears O_NONBLOCK: it has no effect on regular files and directories, but os would register the file with its
// poller.
func setBlocking(fd, flag int) error {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_SETFL, flag&(unix.O_APPEND|unix.O_SYNC))
	return err
}

func read(fd int, buf []byte) (int, error) { return unix.Read(fd, buf) }

func readDirent(fd int, buf []byte, _ bool) (int, error) { return unix.ReadDirent(fd, buf) }

func readlinkat(dir int, leaf string) (string, error) {
	buf := make([]byte, maxTarget)
	n, err := retry(func() (int, error) { return unix.Readlinkat(dir, leaf, buf) })
	if err == nil && n == len(buf) {
		err = unix.ENAMETOOLONG
	}
	return string(buf[:max(n, 0)]), err
}

func mkdirat(dir int, leaf string, perm uint32) error { return unix.Mkdirat(dir, leaf, perm) }

func symlinkat(target string, dir int, leaf string) error { return unix.Symlinkat(target, dir, leaf) }

func unlinkat(dir int, leaf string) error { return unix.Unlinkat(dir, leaf, 0) }

func rmdirat(dir int, leaf string) error { return unix.Unlinkat(dir, leaf, unix.AT_REMOVEDIR) }

func renameat(from int, old string, to int, new string) error {
	return unix.Renameat(from, old, to, new)
}

func linkat(from int, old string, to int, new string) error {
	return unix.Linkat(from, old, to, new, 0)
}

func fchmod(fd int, perm uint32) error { return unix.Fchmod(fd, perm) }
