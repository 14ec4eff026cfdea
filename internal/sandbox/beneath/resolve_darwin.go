package beneath

import "golang.org/x/sys/unix"

// openDirFlags opens a directory for lookups.
const openDirFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC

func (d *Dir) resolve(name string, flag int, perm uint32, follow bool) (int, error) {
	return d.walk(name, flag, perm, follow)
}

func (d *Dir) statFollowing(name string) (Stat, error) { return d.walkStat(name) }
