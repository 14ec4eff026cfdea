package beneath

import (
	"encoding/binary"
	"os"

	"golang.org/x/sys/unix"
)

func statOf(st *unix.Stat_t) Stat {
	return Stat{
		FileID: FileID{uint64(st.Dev), st.Ino}, Mode: modeOf(uint32(st.Mode)), Nlink: uint64(st.Nlink), Size: st.Size,
		Atime: st.Atim.Nano(), Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano(), UID: st.Uid, GID: st.Gid,
	}
}

// born returns when the file leaf of a directory was created; an empty leaf is the directory itself.
func born(dir int, leaf string) (int64, bool) {
	var st unix.Stat_t
	_, err := retry(func() (int, error) {
		if leaf == "" {
			return 0, unix.Fstat(dir, &st)
		}
		return 0, unix.Fstatat(dir, leaf, &st, unix.AT_SYMLINK_NOFOLLOW)
	})
	return st.Btim.Nano(), err == nil
}

// SetTimes sets the times of an open file, in nanoseconds since 1970, with a precision of microseconds.
func SetTimes(file *os.File, atime, mtime int64) error {
	err := Control(file, func(fd int) error {
		return unix.Futimes(fd, []unix.Timeval{unix.NsecToTimeval(atime), unix.NsecToTimeval(mtime)})
	})
	return pathError("utimens", file.Name(), err)
}

func entryAt(b []byte) (record, name []byte, kind byte, ok bool) {
	const length, typ, begin = 16, 20, 21
	record, name, kind, ok = cutEntry(b, length, typ, begin)
	if ok && binary.NativeEndian.Uint64(record) == 0 {
		name = nil // the file was removed
	}
	return record, name, kind, ok
}
