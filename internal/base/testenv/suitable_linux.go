package testenv

import "golang.org/x/sys/unix"

// room is the free space that the tests of all packages need, with a reserve.
const room = 2 << 30

func isSuitable(dir string) bool {
	var s unix.Statfs_t
	return unix.Statfs(dir, &s) == nil && s.Flags&unix.ST_NOEXEC == 0 && s.Bavail*uint64(s.Bsize) >= room
}
