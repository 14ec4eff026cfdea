package vfs

import (
	"errors"
	"os"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
)

// OpenDirectory opens a directory that the module may change, for use by the host. Each call returns a new open file
// description. It returns EACCES for a directory that the module may not change or see, whether or not it exists.
func (f *FS) OpenDirectory(name string) (*os.File, sys.Errno) {
	file, err := f.openDirectory(name)
	return file, f.fail("open", name, err)
}

func (f *FS) openDirectory(name string) (*os.File, error) {
	p, err := f.change(name, true, func(p *place) error {
		if err := f.mayChange(p); err != nil {
			return err
		}
		if err := p.checkExists(); err != nil {
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
	return p.openSame(os.O_RDONLY | beneath.Directory)
}
