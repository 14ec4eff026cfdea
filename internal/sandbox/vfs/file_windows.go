package vfs

import (
	"io"
	"os"
	"syscall"

	"github.com/tetratelabs/wazero/experimental/sys"
)

// setAppend does nothing: an open file of Windows cannot be switched to append mode.
func setAppend(*os.File, bool) error { return nil }

// write writes at the position of the file, or at its end in append mode. Between finding the end and writing, another process
// may append as well.
func write(f *os.File, buf []byte, appends bool) (int, error) {
	if appends {
		if _, err := f.Seek(0, io.SeekEnd); err != nil {
			return 0, err
		}
	}
	return f.Write(buf)
}

// Sync fails as on file systems that cannot flush directories: Windows flushes files only.
func (h *dir) Sync() sys.Errno { return h.fail("sync", syscall.EINVAL) }

// Datasync fails like Sync.
func (h *dir) Datasync() sys.Errno { return h.Sync() }
