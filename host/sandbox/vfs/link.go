//go:build linux || darwin

package vfs

import (
	"errors"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/host/sandbox/beneath"
)

// Readlink implements sys.FS. The target is given as it stands, wherever it leads.
func (f *FS) Readlink(name string) (string, sys.Errno) {
	target, err := f.readlink(name)
	return target, f.fail("readlink", name, err)
}

func (f *FS) readlink(name string) (string, error) {
	p, err := f.resolve(name, walkMode{})
	if err != nil {
		return "", err
	}
	defer p.close()
	if err := p.exists(); err != nil {
		return "", err
	}
	if p.bare() || !p.info.IsLink() {
		return "", sys.EINVAL
	}
	return p.dir.Readlink(p.name)
}

// Symlink implements sys.FS. A target that lies in no granted directory is refused; links.go has the rule.
func (f *FS) Symlink(target, name string) sys.Errno {
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
	switch err := f.mayPoint(p, target); {
	case err != nil:
		return err
	case p.info != nil:
		return sys.EEXIST
	case p.dirOnly:
		return sys.ENOENT
	}
	return p.make(func() error { return f.makeLink(p, target) }, func() error { return p.dir.Unlink(p.name) })
}

// makeLink makes a link that was judged at p's path, and makes sure that it is there: another process may
// just have moved the directory that holds it.
func (f *FS) makeLink(p *place, target string) error {
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

// Link implements sys.FS. Only regular files can be linked, within one mount: a second name
// elsewhere would outlive the rules for the first.
func (f *FS) Link(from, to string) sys.Errno {
	return f.fail("link", to, f.link(from, to))
}

func (f *FS) link(from, to string) error {
	linking.Lock()
	defer linking.Unlock()
	src, dst, err := f.ends(from, to)
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
	return dst.make(func() error {
		if err := beneath.Link(src.dir, src.name, dst.dir, dst.name); err != nil {
			return err
		}
		// A symbolic link that took the file's place would be linked itself.
		if st, err := dst.dir.Lstat(dst.name); err == nil && !same(st, *src.info) {
			return errors.Join(errChanged, undo())
		}
		return nil
	}, undo)
}
