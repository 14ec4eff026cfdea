//go:build linux || darwin

package vfs

import (
	"io/fs"

	"github.com/tetratelabs/wazero/experimental/sys"
	"golang.org/x/sys/unix"
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
	if p.bare() || p.info.Mode()&fs.ModeSymlink == 0 {
		return "", sys.EINVAL
	}
	return p.dir.Readlink(p.name)
}

// Symlink implements sys.FS. A target that lies in no granted folder is refused.
func (f *FS) Symlink(target, name string) sys.Errno {
	return f.fail("symlink", name, f.symlink(target, name))
}

func (f *FS) symlink(target, name string) error {
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
	return p.dir.Symlink(target, p.name)
}

// Link implements sys.FS. Only regular files can be linked, within one mount: a second name
// elsewhere would outlive the rules for the first.
func (f *FS) Link(from, to string) sys.Errno {
	return f.fail("link", to, f.link(from, to))
}

func (f *FS) link(from, to string) error {
	src, dst, err := f.ends(from, to)
	if err != nil {
		return err
	}
	defer src.close()
	defer dst.close()
	switch {
	case !src.info.Mode().IsRegular():
		return refusal{sys.EPERM}
	case dst.info != nil:
		return sys.EEXIST
	case dst.dirOnly:
		return sys.ENOENT
	}
	return withFolders(src, dst, func(from, to int) error {
		return unix.Linkat(from, src.name, to, dst.name, 0)
	})
}
