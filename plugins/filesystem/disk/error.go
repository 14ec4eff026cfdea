package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// messages has the names and texts of the errors of Node.js.
var messages = map[syscall.Errno]string{
	syscall.EACCES:       "EACCES: permission denied",
	syscall.EBUSY:        "EBUSY: resource busy or locked",
	syscall.EEXIST:       "EEXIST: file already exists",
	syscall.EFBIG:        "EFBIG: file too large",
	syscall.EINVAL:       "EINVAL: invalid argument",
	syscall.EIO:          "EIO: i/o error",
	syscall.EISDIR:       "EISDIR: illegal operation on a directory",
	syscall.ELOOP:        "ELOOP: too many symbolic links encountered",
	syscall.EMFILE:       "EMFILE: too many open files",
	syscall.ENAMETOOLONG: "ENAMETOOLONG: name too long",
	syscall.ENFILE:       "ENFILE: file table overflow",
	syscall.ENOENT:       "ENOENT: no such file or directory",
	syscall.ENOSPC:       "ENOSPC: no space left on device",
	syscall.ENOTDIR:      "ENOTDIR: not a directory",
	syscall.ENOTEMPTY:    "ENOTEMPTY: directory not empty",
	syscall.EPERM:        "EPERM: operation not permitted",
	syscall.EROFS:        "EROFS: read-only file system",
	syscall.EXDEV:        "EXDEV: cross-device link not permitted",
}

// failure returns the error of Node.js for an error of an operation: op is the name of its system call, and paths are one or two paths, or
// none. An error that Node.js does not have stays as it is.
func failure(err error, op string, paths ...string) error {
	text := ""
	if number := syscall.Errno(0); errors.As(err, &number) {
		text = messages[number]
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, filesystem.ErrTooLarge):
		return fmt.Errorf("%s has more than %d MiB: read its parts with head or tail", paths[0], MaxFile>>20)
	case text != "":
	case errors.Is(err, fs.ErrNotExist):
		text = messages[syscall.ENOENT]
	case errors.Is(err, fs.ErrPermission):
		text = messages[syscall.EACCES]
	default:
		return err
	}
	text += ", " + op
	for i, path := range paths {
		if i > 0 {
			text += " ->"
		}
		text += " '" + path + "'"
	}
	return errors.New(text)
}

// readFailure is failure for an operation that opens a file and reads it. Node.js opens directories, and then fails to read them.
func readFailure(err error, path string) error {
	if errors.Is(err, filesystem.ErrNotRegular) || errors.Is(err, syscall.EISDIR) {
		info, serr := os.Stat(path)
		if serr == nil && info.IsDir() {
			return failure(syscall.EISDIR, "read")
		}
		return failure(syscall.EPERM, "open", path)
	}
	return failure(err, "open", path)
}

// refusal is an error in the words of the server that this plugin replaces, which begin with a capital letter.
type refusal string

func (r refusal) Error() string { return string(r) }

func refuse(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }
