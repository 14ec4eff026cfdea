package beneath

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

func statOf(st *unix.Stat_t) Stat {
	return Stat{
		FileID: FileID{uint64(st.Dev), st.Ino}, Mode: modeOf(st.Mode), Nlink: uint64(st.Nlink), Size: st.Size,
		Atime: st.Atim.Nano(), Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano(), UID: st.Uid, GID: st.Gid,
	}
}

// born returns when the file leaf of a directory was created; an empty leaf is the directory itself.
func born(dir int, leaf string) (int64, bool) {
	var st unix.Statx_t
	_, err := retry(func() (int, error) {
		return 0, unix.Statx(dir, leaf, unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH, unix.STATX_BTIME, &st)
	})
	return st.Btime.Sec*1e9 + int64(st.Btime.Nsec), err == nil && st.Mask&unix.STATX_BTIME != 0
}

// SetTimes sets the times of an open file, in nanoseconds since 1970.
func SetTimes(file *os.File, atime, mtime int64) error {
	err := Control(file, func(fd int) error {
		ts := [2]unix.Timespec{unix.NsecToTimespec(atime), unix.NsecToTimespec(mtime)}
		// The path is NULL, unlike in x/sys/unix, so that the seccomp filter can distinguish this call from one that sets
		// the times of a file by name.
		_, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(fd), 0, uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
		if errno != 0 {
			return errno
		}
		return nil
	})
	return pathError("utimens", file.Name(), err)
}

func entryAt(b []byte) (record, name []byte, kind byte, ok bool) {
	const length, typ, begin = 16, 18, 19
	return cutEntry(b, length, typ, begin)
}
