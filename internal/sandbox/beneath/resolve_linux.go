package beneath

import (
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// openDirFlags opens a directory for lookups, which need no read permission.
const openDirFlags = unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC

// maxRetries bounds the retries of a lookup that raced with a rename (EAGAIN).
const maxRetries = 32

// noOpenat2 is set if the kernel lacks openat2, or a seccomp filter refuses it.
var noOpenat2 atomic.Bool

func (d *Dir) resolve(name string, flag int, perm uint32, follow bool) (int, error) {
	if noOpenat2.Load() {
		return d.walk(name, flag, perm, follow)
	}
	how := unix.OpenHow{Flags: uint64(flag | unix.O_CLOEXEC), Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS}
	if flag&unix.O_CREAT != 0 {
		how.Mode = uint64(perm)
	}
	if !d.follow {
		how.Resolve |= unix.RESOLVE_NO_SYMLINKS
	}
	for try := 0; ; try++ {
		fd, err := retry(func() (int, error) { return unix.Openat2(d.fd, name, &how) })
		switch {
		case err == unix.EAGAIN && try < maxRetries:
			continue
		case err == unix.EXDEV:
			err = ErrEscapes
		case (err == unix.ENOSYS || err == unix.EPERM) && !hasOpenat2():
			return d.walk(name, flag, perm, follow)
		}
		return fd, err
	}
}

// hasOpenat2 probes the system call: EPERM may come from a seccomp filter or from the file.
func hasOpenat2() bool {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH}
	fd, err := retry(func() (int, error) { return unix.Openat2(unix.AT_FDCWD, ".", &how) })
	if err == nil {
		_ = unix.Close(fd)
	}
	works := err != unix.ENOSYS && err != unix.EPERM
	noOpenat2.Store(!works)
	return works
}

func (d *Dir) statFollowing(name string) (Stat, error) {
	fd, err := d.lookup(name, unix.O_PATH, 0, true)
	if err != nil {
		return Stat{}, err
	}
	defer func() { _ = unix.Close(fd) }()
	return fstat(fd)
}
