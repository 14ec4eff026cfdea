//go:build linux || darwin

package vfs

import (
	"errors"
	"io"
	"os"
	"path"
	"syscall"

	"github.com/tetratelabs/wazero/experimental/sys"
)

// refusal is an error of the border's own making: what was asked is not granted.
type refusal struct{ errno sys.Errno }

func (r refusal) Error() string { return "denied: " + r.errno.Error() }

// errChanged says that a name stood for something else when it was opened than when it was looked up.
var errChanged = errors.New("the file was replaced while it was opened, again and again")

// fail turns an error into the number the module gets, and tells the host what that number hides.
func (f *FS) fail(op, name string, err error) sys.Errno {
	if err == nil || err == io.EOF {
		return 0
	}
	if !path.IsAbs(name) {
		name = "/" + name // wazero's paths start at its mount
	}
	name = name[:min(len(name), maxPath)]
	if r, ok := errors.AsType[refusal](err); ok {
		if f.denied != nil {
			f.denied(op, name)
		}
		return r.errno
	}
	errno, exact := toErrno(err)
	if !exact && f.onError != nil {
		f.onError(op, name, err)
	}
	return errno
}

// toErrno maps an error to wazero's set, which is a part of POSIX's. exact is false where the number
// says less than the error did.
func toErrno(err error) (errno sys.Errno, exact bool) {
	if e, ok := errors.AsType[sys.Errno](err); ok {
		return e, true
	}
	if errors.Is(err, os.ErrClosed) {
		return sys.EBADF, true
	}
	e, ok := errors.AsType[syscall.Errno](err)
	if !ok {
		return sys.EIO, false
	}
	switch e {
	case syscall.EMFILE, syscall.ENFILE, syscall.EBUSY, syscall.ETXTBSY:
		return sys.EAGAIN, false
	case syscall.EXDEV:
		return sys.ENOTSUP, false
	case syscall.EMLINK, syscall.ENXIO, syscall.ENODEV:
		return sys.EPERM, false
	case syscall.EOVERFLOW:
		return sys.ERANGE, false
	}
	if e == syscall.EOPNOTSUPP { // the same number as ENOTSUP on Linux only
		return sys.ENOTSUP, true
	}
	// All others that wazero does not know, such as ENOSPC, EDQUOT and EFBIG, become EIO.
	errno = sys.UnwrapOSError(e)
	return errno, errno != sys.EIO
}
