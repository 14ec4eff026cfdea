package grant

import (
	"os"

	"golang.org/x/sys/unix"
)

// handleFlags are the flags for opening a directory. Darwin has no O_PATH.
const handleFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW

// openEntry opens the entry name of dir. A nil dir means that name is "/". O_DIRECTORY keeps it from opening a FIFO or a device. The
// target of a symbolic link is read once, and the caller follows the target that was read.
func openEntry(dir *os.File, name string) (entry, error) {
	f, err := openAt(dir, name, handleFlags, 0)
	if err == unix.ELOOP || err == unix.ENOTDIR {
		return openLink(dir, name)
	}
	if err != nil {
		return entry{}, err
	}
	id, err := identifyFile(f)
	if err != nil {
		_ = f.Close() // a failed close loses no data, since the handle wrote none
		return entry{}, err
	}
	return entry{id: id, file: f}, nil
}

func openLink(dir *os.File, name string) (entry, error) {
	var st unix.Stat_t
	if err := retry(func() error { return unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW) }); err != nil {
		return entry{}, err
	}
	e := entry{id: fileID(&st), other: otherUser(st.Uid)}
	var err error
	if e.target, err = readLink(dir, name); err == unix.EINVAL {
		err = unix.ENOTDIR // the entry is neither a directory nor a symbolic link
	}
	return e, err
}

// sameMount reports whether a file can be renamed from directory a to directory b.
func sameMount(a, b *os.File) bool {
	one, err := identifyFile(a)
	other, err2 := identifyFile(b)
	return err == nil && err2 == nil && one.Dev == other.Dev
}

// renameNoReplace renames a directory. It fails if newName exists.
func renameNoReplace(from *os.File, name string, to *os.File, newName string) error {
	err := retry(func() error {
		return unix.RenameatxNp(int(from.Fd()), name, int(to.Fd()), newName, unix.RENAME_EXCL)
	})
	if err == unix.ENOTSUP || err == unix.EINVAL {
		return renameUnlessExists(from, name, to, newName)
	}
	return err
}
