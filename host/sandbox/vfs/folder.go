//go:build linux || darwin

package vfs

import (
	"errors"
	"os"
	"syscall"

	"github.com/tetratelabs/wazero/experimental/sys"
)

// OpenFolder opens a folder in which the module may change things, for the host to use. Each time it is opened
// anew. What the module may not change, or not see, is EACCES, whether it is there or not.
func (f *FS) OpenFolder(name string) (*os.File, sys.Errno) {
	file, err := f.openFolder(name)
	return file, f.fail("open", name, err)
}

func (f *FS) openFolder(name string) (*os.File, error) {
	p, err := f.change(name, true, func(p *place) error {
		if err := f.mayChange(p); err != nil {
			return err
		}
		if err := p.exists(); err != nil {
			return err
		}
		if !p.info.IsDir() {
			return sys.ENOTDIR
		}
		return nil
	})
	if _, refused := errors.AsType[refusal](err); refused {
		return nil, refusal{errno: sys.EACCES}
	}
	if err != nil {
		return nil, err
	}
	defer p.close()
	return p.openSame(os.O_RDONLY | syscall.O_DIRECTORY)
}
