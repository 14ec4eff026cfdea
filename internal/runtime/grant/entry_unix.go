//go:build unix

package grant

import (
	"cmp"
	"os"

	"golang.org/x/sys/unix"

	"github.com/bulkhead-mcp/bulkhead/internal/base/ownedpath"
)

func fileID(st *unix.Stat_t) FileID { return FileID{Dev: uint64(st.Dev), Ino: st.Ino} }

// identify returns the identity of the file at a path.
func identify(path string, follow bool) (FileID, error) {
	return statAt(unix.AT_FDCWD, path, follow)
}

func identifyAt(dir *os.File, name string) (FileID, error) { return statAt(int(dir.Fd()), name, false) }

func statAt(dir int, name string, follow bool) (FileID, error) {
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

// otherUser returns the ID of the owner of a file if that is neither root nor the user of the host; else 0.
func otherUser(owner uint32) int {
	if ownedpath.IsTrusted(int(owner)) {
		return 0
	}
	return int(owner)
}

// openAt opens a file beneath dir. A nil dir means the working directory.
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

// readLink reads the target of the symbolic link name beneath dir. If name is empty, dir is the handle of the link itself.
func readLink(dir *os.File, name string) (string, error) {
	buf := make([]byte, maxPath+1)
	n := 0
	err := retry(func() (err error) {
		n, err = unix.Readlinkat(int(dir.Fd()), name, buf)
		return err
	})
	switch {
	case err != nil:
		return "", err
	case n > maxPath:
		return "", unix.ENAMETOOLONG
	case n == 0:
		return "", unix.ENOENT
	}
	return string(buf[:n]), nil
}

func retry(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

const holderFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW

// rootOf returns the root directory with which an absolute path begins.
func rootOf(string) string { return "/" }

// linkTarget returns the target of a symbolic link in dir. A relative target stays relative, since the walk resolves "..".
func linkTarget(_, text string) string { return text }

// canonicalName returns the name of an entry as its directory lists it. On Unix that is the name by which the entry was opened.
func canonicalName(_ entry, name string) string { return name }

func mkdirAt(dir *os.File, name string, perm uint32) error {
	return unix.Mkdirat(int(dir.Fd()), name, perm)
}

func unlinkAt(dir *os.File, name string) error { return unix.Unlinkat(int(dir.Fd()), name, 0) }

func rmdirAt(dir *os.File, name string) error {
	return unix.Unlinkat(int(dir.Fd()), name, unix.AT_REMOVEDIR)
}

func renameAt(from *os.File, name string, to *os.File, newName string) error {
	return unix.Renameat(int(from.Fd()), name, int(to.Fd()), newName)
}

func symlinkAt(target string, dir *os.File, name string) error {
	return unix.Symlinkat(target, int(dir.Fd()), name)
}

// holdDir opens a holder and tries to lock it. locked is false if the file system has no locks.
func holdDir(parent *os.File, name string) (f *os.File, locked bool, err error) {
	if f, err = openAt(parent, name, holderFlags, 0); err != nil {
		return nil, false, err
	}
	err = retry(func() error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) })
	if err == unix.EWOULDBLOCK {
		_ = f.Close() // a failed close loses no data, since the handle wrote none
		return nil, false, err
	}
	return f, err == nil, nil
}

func identifyFile(f *os.File) (FileID, error) {
	var st unix.Stat_t
	err := unix.Fstat(int(f.Fd()), &st)
	return fileID(&st), err
}

// renameUnlessExists does what renameNoReplace does, for file systems without RENAME_NOREPLACE. It has a race: if another process
// creates an empty directory at newName between the check and the rename, the rename replaces that directory.
func renameUnlessExists(from *os.File, name string, to *os.File, newName string) error {
	if _, err := identifyAt(to, newName); err != unix.ENOENT {
		return cmp.Or(err, error(unix.EEXIST))
	}
	return retry(func() error { return unix.Renameat(int(from.Fd()), name, int(to.Fd()), newName) })
}

const errNotDir = unix.ENOTDIR

// removeHeld removes an empty holder that is locked.
func removeHeld(_, parent *os.File, name string) error { return rmdirAt(parent, name) }
