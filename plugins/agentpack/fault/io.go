package fault

import (
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"
	"syscall"
)

// IO converts a file system error about path to a Fault with a hint. It returns an error for which the contract has no
// code unchanged.
func IO(path string, err error) error {
	code, kind, hint := Code(""), "", ""
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		code, kind = IOPermissionDenied, "permission_denied"
		hint = "grant the path to the plugin (with access rw for writing), or change its permissions"
	case errors.Is(err, syscall.ENAMETOOLONG):
		code, kind = IOPathTooLong, "path_too_long"
		hint = "choose a shorter path"
	case errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.EILSEQ), errors.Is(err, syscall.ELOOP):
		code, kind = IOInvalidPath, "invalid_path"
		hint = "choose another path"
	default:
		return err
	}
	return New(code, Details{
		"path":         path,
		"path_posix":   filepath.ToSlash(path),
		"io_kind":      kind,
		"raw_os_error": rawNumber(err),
		"hint":         hint,
	}, "%s: %w", path, err)
}

// rawNumber returns the errno of err; nil if err has no errno. In a WASI guest it returns nil, because the errno values
// of WASI differ from those of the user's system.
func rawNumber(err error) any {
	var number syscall.Errno
	if errors.As(err, &number) && runtime.GOOS != "wasip1" {
		return int(number)
	}
	return nil
}
