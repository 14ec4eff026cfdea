//go:build linux || darwin

package vfs

import (
	"os"

	"github.com/tetratelabs/wazero/experimental/sys"
	"golang.org/x/sys/unix"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
)

// control runs do on the descriptor of an open file. It returns os.ErrClosed if the file is closed.
func control(f *os.File, do func(fd int) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var doErr error
	if err := conn.Control(func(fd uintptr) { doErr = do(int(fd)) }); err != nil {
		return err
	}
	return doErr
}

// setAppend switches append mode on or off. It is needed because WASI can switch the mode of an open file, and because os
// refuses WriteAt on a file that was opened with os.O_APPEND.
func setAppend(f *os.File, enable bool) error {
	return control(f, func(fd int) error {
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

// setTimes sets the times of an open file, in nanoseconds since 1970 or UTIME_OMIT.
func setTimes(f *os.File, atim, mtim int64) error {
	now, err := beneath.StatFile(f)
	if err != nil {
		return err
	}
	if atim == sys.UTIME_OMIT {
		atim = now.Atime
	}
	if mtim == sys.UTIME_OMIT {
		mtim = now.Mtime
	}
	return beneath.SetTimes(f, atim, mtim)
}
