package grant

import (
	"os"

	"golang.org/x/sys/unix"
)

// handleFlags open a directory only to name it: that needs no right to list it.
const handleFlags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW

// openEntry looks at a name in dir (nil: name is "/"). What is judged is what was opened: O_PATH opens a
// link itself, and neither a FIFO nor a device.
func openEntry(dir *os.File, name string) (entry, error) {
	f, err := openAt(dir, name, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return entry{}, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		_ = f.Close() // it was only looked at
		return entry{}, err
	}
	e := entry{id: fileID(&st)}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		e.file = f
		return e, nil
	case unix.S_IFLNK:
		e.target, err = readLink(f, "")
	default:
		err = unix.ENOTDIR
	}
	_ = f.Close() // it was only looked at
	return e, err
}

// sameMount tells whether a file can be renamed from one directory to the other. A bind mount has the device
// of its source, and still cannot be crossed.
func sameMount(a, b *os.File) bool {
	var one, other unix.Statx_t
	for _, of := range []struct {
		f  *os.File
		st *unix.Statx_t
	}{{a, &one}, {b, &other}} {
		if err := unix.Statx(int(of.f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_BASIC_STATS|unix.STATX_MNT_ID, of.st); err != nil {
			return false
		}
	}
	return one.Dev_major == other.Dev_major && one.Dev_minor == other.Dev_minor && one.Mnt_id == other.Mnt_id
}

// renameNoReplace moves a directory to a name that must not exist.
func renameNoReplace(from *os.File, name string, to *os.File, newName string) error {
	err := retry(func() error {
		return unix.Renameat2(int(from.Fd()), name, int(to.Fd()), newName, unix.RENAME_NOREPLACE)
	})
	if err == unix.EINVAL || err == unix.ENOSYS {
		return renameUnlessExists(from, name, to, newName)
	}
	return err
}
