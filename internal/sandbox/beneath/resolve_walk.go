//go:build darwin || windows

package beneath

func (d *Dir) resolve(name string, flag int, perm uint32, follow bool) (int, error) {
	return d.walk(name, flag, perm, follow)
}

// statFollowing walks the path and opens only directories, since describing a file needs no read permission.
func (d *Dir) statFollowing(name string) (Stat, error) {
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
