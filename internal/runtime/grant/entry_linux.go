package grant

import (
	"os"

	"golang.org/x/sys/unix"
)

// handleFlags are the flags for opening a directory. O_PATH requires no permission to list the directory.
const handleFlags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW

// openEntry opens the entry name of dir. A nil dir means that name is "/". O_PATH opens a symbolic link itself, and opening a FIFO or
// device with O_PATH has no effect on it. The type of the entry is therefore checked on the handle.
func openEntry(dir *os.File, name string) (entry, error) {
	f, err := openAt(dir, name, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return entry{}, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		_ = f.Close() // a failed close loses no data, since the handle wrote none
		return entry{}, err
	}
	e := entry{id: fileID(&st)}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		e.file = f
		return e, nil
	case unix.S_IFLNK:
		e.target, err = readLink(f, "")
		e.other = otherUser(st.Uid)
	default:
		err = unix.ENOTDIR
	}
	_ = f.Close() // a failed close loses no data, since the handle wrote none
	return e, err
}

// sameMount reports whether a file can be renamed from directory a to directory b. Device numbers alone do not tell: a bind mount has
// the device number of its source, and yet a rename cannot cross it.
func sameMount(a, b *os.File) bool {
	statx := func(f *os.File, st *unix.Statx_t) error {
		return unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_BASIC_STATS|unix.STATX_MNT_ID, st)
	}
	var one, other unix.Statx_t
	return statx(a, &one) == nil && statx(b, &other) == nil &&
		one.Dev_major == other.Dev_major && one.Dev_minor == other.Dev_minor && one.Mnt_id == other.Mnt_id
}

// renameNoReplace renames a directory. It fails if newName exists.
func renameNoReplace(from *os.File, name string, to *os.File, newName string) error {
	err := retry(func() error {
		return unix.Renameat2(int(from.Fd()), name, int(to.Fd()), newName, unix.RENAME_NOREPLACE)
	})
	if err == unix.EINVAL || err == unix.ENOSYS {
		return renameUnlessExists(from, name, to, newName)
	}
	return err
}
