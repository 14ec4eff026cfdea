package vfs

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
)

// Rename implements sys.FS. Between two mounts it fails with ENOTSUP, since wazero has no EXDEV.
//
// A file that replaces another file receives the permissions of the replaced file. Programs save by renaming a new file over the
// old one, and WASI gives them no way to preserve the mode.
func (f *FS) Rename(from, to string) sys.Errno {
	from, to = f.inTree(from), f.inTree(to)
	return f.fail("rename", from, f.rename(from, to))
}

func (f *FS) rename(from, to string) error {
	linking.Lock()
	defer linking.Unlock()
	src, dst, err := f.resolveBoth(from, to)
	if err != nil {
		return err
	}
	defer src.close()
	defer dst.close()
	if dst.dirOnly && !src.info.IsDir() {
		return sys.ENOTDIR
	}
	if src.info.IsDir() && (f.hidesBelow(src.path) || f.hidesBelow(dst.path)) {
		return refusal{errno: sys.EACCES}
	}
	if err := f.checkMove(src, src.path, dst.path); err != nil {
		return err
	}
	return dst.create(func() error { return f.move(src, dst) }, func() error { return moveBack(src, dst) })
}

func (f *FS) move(src, dst *place) error {
	move := func() error {
		if err := beneath.Rename(src.dir, src.name, dst.dir, dst.name); err != nil {
			return err
		}
		if err := f.checkMoved(src, dst); err != nil {
			return errors.Join(err, moveBack(src, dst))
		}
		return nil
	}
	if !src.info.Mode.IsRegular() || dst.info == nil || !dst.info.Mode.IsRegular() ||
		src.info.Mode.Perm() == dst.info.Mode.Perm() {
		return move()
	}
	return src.moveWithMode(dst, move)
}

// checkMoved repeats the checks after a move, because another process may have replaced the file, created a symbolic link
// in the directory, or moved the target's parent concurrently.
func (f *FS) checkMoved(src, dst *place) error {
	st, err := dst.dir.Lstat(dst.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // another process has moved the file again, or removed it
	case err != nil:
		return err
	case !sameFile(st, *src.info):
		return errChanged
	case !st.IsDir() && !st.IsLink():
		return nil
	case !f.isAt(dst.path, st.FileID):
		return errChanged
	}
	return f.checkMove(dst, src.path, dst.path)
}

// sameFile reports whether two Stats describe the same file. The inode number of a removed file may be reused, so the types are
// compared too.
func sameFile(a, b beneath.Stat) bool { return a.FileID == b.FileID && a.Mode.Type() == b.Mode.Type() }

// isAt reports whether a path currently resolves to the file with that identity.
func (f *FS) isAt(name string, id FileID) bool {
	p, err := f.resolve(name, walkMode{})
	if err != nil {
		return false
	}
	defer p.close()
	return p.info != nil && p.info.FileID == id
}

// moveBack rolls back a rename, unless the old name has been reused.
func moveBack(src, dst *place) error {
	if _, err := src.dir.Lstat(src.name); err == nil {
		return sys.EEXIST
	}
	return beneath.Rename(dst.dir, dst.name, src.dir, src.name)
}

// moveWithMode sets the mode of the replaced file before the rename: if it were set afterwards, a private file would be
// readable by other users for a moment. If the mode cannot be set nothing is moved; if the move fails the mode is
// restored.
func (p *place) moveWithMode(over *place, move func() error) error {
	if err := p.chmod(over.info.Mode.Perm()); err != nil {
		return err
	}
	err := move()
	if err != nil {
		err = errors.Join(err, p.chmod(p.info.Mode.Perm()))
	}
	return err
}

// resolveBoth resolves and authorizes the operands of a rename or link. The first must exist.
func (f *FS) resolveBoth(from, to string) (src, dst *place, err error) {
	if src, err = f.change(from, false, ifExists(f.mayReplace)); err != nil {
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
