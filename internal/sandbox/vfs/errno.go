package vfs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"syscall"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
)

// refusal is the error of an operation that is not granted. why is the reason for the host's log; nil if the path alone explains
// the refusal.
type refusal struct {
	errno sys.Errno
	why   error
}

func (r refusal) Error() string {
	if r.why != nil {
		return "denied: " + r.why.Error()
	}
	return "denied: " + r.errno.Error()
}

// Reasons for the host's log.
var (
	errChanged      = errors.New("the file was replaced repeatedly while it was being opened")
	errLinkEscapes  = errors.New("the symbolic link would resolve outside the granted directories")
	errMoveTooLarge = fmt.Errorf("a directory of more than %d entries cannot be moved to a different parent directory", maxMoved)
	errGitDirectory = errors.New("the new file would complete a git directory, which a plugin may not write")
	errListings     = fmt.Errorf("the listings of open directories take more than %d bytes", maxListed)
)

// tooManyOpen is the error of a tree with as many open files as its limit allows.
type tooManyOpen int

func (n tooManyOpen) Error() string {
	return fmt.Sprintf("the plugin has %d files and directories open, as many as limits.files allows", int(n))
}

func (tooManyOpen) Unwrap() error { return syscall.EMFILE }

// fail maps an error to the errno that the module receives. If the errno is less specific than the error, it reports the error to
// the host.
func (f *FS) fail(op, name string, err error) sys.Errno {
	if err == nil || err == io.EOF {
		return 0
	}
	if !path.IsAbs(name) {
		name = "/" + name // wazero passes paths relative to its mount
	}
	name = name[:min(len(name), maxPath)]
	if r, ok := errors.AsType[refusal](err); ok {
		if f.config.Denied != nil {
			f.config.Denied(op, name)
		}
		if r.why != nil && f.config.OnError != nil {
			f.config.OnError(op, name, r.why)
		}
		return r.errno
	}
	errno, exact := toErrno(err)
	if errno == sys.EIO && f.config.Errno != nil {
		f.config.Errno(wasiErrno(err))
	}
	if !exact && f.config.OnError != nil {
		f.config.OnError(op, name, err)
	}
	return errno
}

// toErrno maps an error to wazero's errno values, a subset of those of POSIX. exact is false if the errno is less
// specific than the error.
func toErrno(err error) (errno sys.Errno, exact bool) {
	if e, ok := errors.AsType[sys.Errno](err); ok {
		return e, true
	}
	switch {
	case errors.Is(err, os.ErrClosed):
		return sys.EBADF, true
	case errors.Is(err, errListings):
		return sys.ERANGE, false
	case errors.Is(err, beneath.ErrEscapes), errors.Is(err, beneath.ErrSpecial):
		return sys.EPERM, false
	}
	e, ok := errors.AsType[syscall.Errno](err)
	if !ok {
		return sys.EIO, false
	}
	switch e {
	case syscall.EBUSY, syscall.ETXTBSY:
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
	// Errno values that wazero lacks become EIO: see wasiErrno.
	errno = sys.UnwrapOSError(e)
	return errno, errno != sys.EIO
}

// errnoIO is WASI's errno EIO.
const errnoIO = 29

// wasiErrnos has the errno values of WASI that wazero lacks, for errors that a module can handle.
var wasiErrnos = map[syscall.Errno]uint16{
	syscall.EDQUOT: 19,
	syscall.EFBIG:  22,
	syscall.EMFILE: 33,
	syscall.ENFILE: 41,
	syscall.ENOLCK: 46,
	syscall.ENOMEM: 48,
	syscall.ENOSPC: 51,
	syscall.ESTALE: 72,
}

// wasiErrno returns the errno of WASI for an error that toErrno maps to EIO.
func wasiErrno(err error) uint16 {
	if e, ok := errors.AsType[syscall.Errno](err); ok {
		if errno, ok := wasiErrnos[portable(e)]; ok {
			return errno
		}
	}
	return errnoIO
}
