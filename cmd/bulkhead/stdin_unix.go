//go:build unix

package main

import (
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// polled reads a pipe or socket and waits for data in the runtime's network poller. A goroutine that blocks in a read occupies one
// of the runtime's processors until the runtime notices, which costs about as much as forwarding a call.
type polled struct {
	file *os.File // never closed; its descriptor is a duplicate
	raw  syscall.RawConn
}

// newPolled returns a reader of a file, or the file itself if it cannot be polled. The file stays in blocking mode, since
// other processes and standard output may share its open file description.
func newPolled(file *os.File) io.Reader {
	info, err := file.Stat()
	if err != nil || info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) == 0 {
		return file
	}
	fd, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return file
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil || unix.SetNonblock(fd, true) != nil {
		_ = unix.Close(fd)
		return file
	}
	p := &polled{file: os.NewFile(uintptr(fd), file.Name())} // NewFile registers a descriptor only if it is in non-blocking mode
	if flags&unix.O_NONBLOCK == 0 {
		err = unix.SetNonblock(fd, false)
	}
	if err == nil {
		err = p.file.SetReadDeadline(time.Time{}) // fails if the file was not registered
	}
	if err == nil {
		p.raw, err = p.file.SyscallConn()
	}
	if err != nil {
		_ = p.file.Close()
		return file
	}
	return p
}

// Read implements io.Reader.
func (p *polled) Read(b []byte) (n int, err error) {
	failed := p.raw.Read(func(fd uintptr) bool {
		ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err = retried(func() (int, error) { return unix.Poll(ready, 0) })
		if n == 0 && err == nil {
			return false
		}
		n, err = retried(func() (int, error) { return unix.Read(int(fd), b) })
		return err != unix.EAGAIN
	})
	switch {
	case failed != nil:
		return 0, failed
	case err != nil:
		return 0, &fs.PathError{Op: "read", Path: p.file.Name(), Err: err}
	case n == 0 && len(b) > 0:
		return 0, io.EOF
	}
	return n, nil
}

// retried repeats a system call that a signal interrupted.
func retried(call func() (int, error)) (n int, err error) {
	for {
		if n, err = call(); err != unix.EINTR {
			return n, err
		}
	}
}
