package vfs

import (
	"errors"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
)

// Readlink implements sys.FS. The target is returned unchanged, whether it is inside the grants or not.
func (f *FS) Readlink(name string) (string, sys.Errno) {
	name = f.inTree(name)
	target, err := f.readlink(name)
	return target, f.fail("readlink", name, err)
}

func (f *FS) readlink(name string) (string, error) {
	p, err := f.resolve(name, walkMode{})
	if err != nil {
		return "", err
	}
	defer p.close()
	if err := p.checkExists(); err != nil {
		return "", err
	}
	if p.isVirtual() || !p.info.IsLink() {
		return "", sys.EINVAL
	}
	return p.dir.Readlink(p.name)
}

// Symlink implements sys.FS. A target outside of the grants is refused; see linkpolicy.go.
func (f *FS) Symlink(target, name string) sys.Errno {
	name = f.inTree(name)
	return f.fail("symlink", name, f.symlink(target, name))
}

func (f *FS) symlink(target, name string) error {
	linking.Lock()
	defer linking.Unlock()
	p, err := f.change(name, false, f.mayReplace)
	if err != nil {
		return err
	}
	defer p.close()
	switch err := f.checkTarget(p, target); {
	case err != nil:
		return err
	case p.info != nil:
		return sys.EEXIST
	case p.dirOnly:
		return sys.ENOENT
	}
	return p.create(func() error { return f.createLink(p, target) }, func() error { return p.dir.Unlink(p.name) })
}

// createLink creates a symbolic link whose target was checked for p's path, and then verifies that p's path refers to the
// new link: another process may have moved the link's directory, so that a relative target resolves differently.
func (f *FS) createLink(p *place, target string) error {
	if err := p.dir.Symlink(target, p.name); err != nil {
		return err
	}
	made, err := p.dir.Lstat(p.name)
	if err != nil {
		return err
	}
	if f.isAt(p.path, made.FileID) {
		return nil
	}
	if err := p.dir.Unlink(p.name); err != nil {
		return err
	}
	return errChanged
}

// Link implements sys.FS. Only regular files can be linked, and only within one mount: a hard link in another mount would bypass
// the access rights of the first mount.
func (f *FS) Link(from, to string) sys.Errno {
	from, to = f.inTree(from), f.inTree(to)
	return f.fail("link", to, f.link(from, to))
}

func (f *FS) link(from, to string) error {
	linking.Lock()
	defer linking.Unlock()
	src, dst, err := f.resolveBoth(from, to)
	if err != nil {
		return err
	}
	defer src.close()
	defer dst.close()
	switch {
	case !src.info.Mode.IsRegular():
		return refusal{errno: sys.EPERM}
	case dst.info != nil:
		return sys.EEXIST
	case dst.dirOnly:
		return sys.ENOENT
	}
	undo := func() error { return dst.dir.Unlink(dst.name) }
	return dst.create(func() error {
		if err := beneath.Link(src.dir, src.name, dst.dir, dst.name); err != nil {
			return err
		}
		// The file may have been replaced since the check, for example by a symbolic link.
		if st, err := dst.dir.Lstat(dst.name); err == nil && !sameFile(st, *src.info) {
			return errors.Join(errChanged, undo())
		}
		return nil
	}, undo)
}
