//go:build linux || darwin

package vfs

import (
	"errors"
	"io/fs"
	"syscall"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/host/sandbox/beneath"
)

// Rename implements sys.FS. Between two mounts it is ENOTSUP, the nearest that wazero has to EXDEV.
//
// A file renamed over another gets that one's permissions. Programs save by writing a new file and
// renaming it over the old, and WASI gives them no way to keep the mode themselves.
func (f *FS) Rename(from, to string) sys.Errno {
	return f.fail("rename", from, f.rename(from, to))
}

func (f *FS) rename(from, to string) error {
	linking.Lock()
	defer linking.Unlock()
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
		return refusal{errno: sys.EACCES}
	}
	if err := f.mayBeAt(src, src.path, dst.path); err != nil {
		return err
	}
	return dst.make(func() error { return f.move(src, dst) }, func() error { return moveBack(src, dst) })
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

// checkMoved makes sure that what was moved is what was judged, and is where it was judged to be: another
// process may have replaced it, made a link in it or moved the directory that it came to.
func (f *FS) checkMoved(src, dst *place) error {
	st, err := dst.dir.Lstat(dst.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // and on to somewhere else
	case err != nil:
		return err
	case !same(st, *src.info):
		return errChanged
	case !st.IsDir() && !st.IsLink():
		return nil
	case !f.isAt(dst.path, st.FileID):
		return errChanged
	}
	return f.mayBeAt(dst, src.path, dst.path)
}

// same reports whether two looks were at one file, as far as that can be told: what is removed leaves its
// number to the next that is made, which may be a link where there was a file.
func same(a, b beneath.Stat) bool { return a.FileID == b.FileID && a.Mode.Type() == b.Mode.Type() }

// isAt reports whether a path leads to a file now.
func (f *FS) isAt(name string, id FileID) bool {
	p, err := f.resolve(name, walkMode{})
	if err != nil {
		return false
	}
	defer p.close()
	return p.info != nil && p.info.FileID == id
}

// moveBack undoes a rename, unless something has come to the old name.
func moveBack(src, dst *place) error {
	if _, err := src.dir.Lstat(src.name); err == nil {
		return sys.EEXIST
	}
	return beneath.Rename(dst.dir, dst.name, src.dir, src.name)
}

// moveWithMode gives the file the mode of the one it replaces before it takes its place: the other
// way round there would be a moment in which a private file can be read by all. If the mode cannot
// be set, nothing is moved, so the old file stays whole; if the move fails, the mode is put back.
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
