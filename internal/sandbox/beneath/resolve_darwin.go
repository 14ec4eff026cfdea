package beneath

import "golang.org/x/sys/unix"

// openDirFlags opens a directory for lookups.
const openDirFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC

func (d *Dir) resolve(name string, flag int, perm uint32, follow bool) (int, error) {
	return d.walk(name, flag, perm, follow)
}

// statFollowing opens only directories: describing a file needs no read permission.
func (d *Dir) statFollowing(name string) (st Stat, err error) {
	w := newWalk(d, name, true)
	defer w.close()
	leaf, err := w.toLeaf()
	if err != nil {
		return Stat{}, err
	}
	if leaf == "." {
		return fstat(w.fd)
	}
	return fstatat(w.fd, leaf)
}
