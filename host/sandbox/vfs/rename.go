//go:build linux || darwin

package vfs

import (
	"errors"
	"syscall"

	"github.com/tetratelabs/wazero/experimental/sys"
	"golang.org/x/sys/unix"
)

// Rename implements sys.FS. Between two mounts it is ENOTSUP, the nearest that wazero has to EXDEV.
//
// A file renamed over another gets that one's permissions. Programs save by writing a new file and
// renaming it over the old, and WASI gives them no way to keep the mode themselves.
func (f *FS) Rename(from, to string) sys.Errno {
	return f.fail("rename", from, f.rename(from, to))
}

func (f *FS) rename(from, to string) error {
	src, dst, err := f.ends(from, to)
	if err != nil {
		return err
	}
	defer src.close()
	defer dst.close()
	if dst.dirOnly && !src.info.IsDir() {
		return sys.ENOTDIR
	}
	if src.info.IsDir() && (f.policy.hidesBelow(src.path) || f.policy.hidesBelow(dst.path)) {
		return refusal{sys.EACCES}
	}
	move := func() error {
		return withFolders(src, dst, func(from, to int) error {
			return unix.Renameat(from, src.name, to, dst.name)
		})
	}
	if !src.info.Mode().IsRegular() || dst.info == nil || !dst.info.Mode().IsRegular() ||
		src.info.Mode().Perm() == dst.info.Mode().Perm() {
		return move()
	}
	return src.moveWithMode(dst, move)
}

// moveWithMode gives the file the mode of the one it replaces before it takes its place: the other
// way round there would be a moment in which a private file can be read by all. If the mode cannot
// be set, nothing is moved, so the old file stays whole; if the move fails, the mode is put back.
func (p *place) moveWithMode(over *place, move func() error) error {
	if err := p.chmod(over.info.Mode().Perm()); err != nil {
		return err
	}
	err := move()
	if err != nil {
		err = errors.Join(err, p.chmod(p.info.Mode().Perm()))
	}
	return err
}

// ends resolves both ends of a rename or link, of which the first exists and both may be replaced.
func (f *FS) ends(from, to string) (src, dst *place, err error) {
	if src, err = f.change(from, false, present(f.mayReplace)); err != nil {
		return nil, nil, err
	}
	dst, err = f.change(to, false, f.mayReplace)
	if err == nil && src.mount != dst.mount {
		dst.close()
		err = syscall.EXDEV
	}
	if err != nil {
		src.close()
		return nil, nil, err
	}
	return src, dst, nil
}

// withFolders hands over the open folders of two places. os.Root renames and links only below one
// root, where it would follow links on the way; between open folders there is no way to follow.
func withFolders(a, b *place, do func(a, b int) error) error {
	da, err := a.dir.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = da.Close() }()
	db, err := b.dir.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	return do(int(da.Fd()), int(db.Fd()))
}
