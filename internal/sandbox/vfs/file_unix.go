//go:build unix

package vfs

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
)

// setAppend switches append mode on or off. It is needed because WASI can switch the mode of an open file, and because os
// refuses WriteAt on a file that was opened with os.O_APPEND.
func setAppend(f *os.File, enable bool) error {
	return beneath.Control(f, func(fd int) error {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		if err != nil {
			return err
		}
		flags &^= unix.O_APPEND
		if enable {
			flags |= unix.O_APPEND
		}
		_, err = unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags)
		return err
	})
}

// write writes at the position of the file, or at its end in append mode.
func write(f *os.File, buf []byte, _ bool) (int, error) { return f.Write(buf) }
