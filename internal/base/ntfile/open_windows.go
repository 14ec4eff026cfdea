package ntfile

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Flags of Open, in addition to the flags of package os, which do not use these bits.
const (
	// Directory opens a directory, and only for lookups and listing.
	Directory = 1 << 28
	// NoFollow has no effect: Open never follows a link.
	NoFollow = 1 << 29
	// Hold implies Directory. Until the handle is closed, the directory cannot be removed or opened with Hold again.
	Hold = 1 << 30
)

const shareAll = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE

// objDontReparse makes an open fail at a symbolic link or junction. Reparse points of other kinds, such as files that are
// stored elsewhere, are opened by their drivers.
const objDontReparse = windows.OBJ_DONT_REPARSE

// create calls NtCreateFile. name is relative to dir, or absolute if dir is 0. The name "." opens dir again.
func create(dir windows.Handle, name string, access, share, disposition, options uint32, attributes uint32) (windows.Handle, error) {
	object := windows.OBJECT_ATTRIBUTES{RootDirectory: dir, Attributes: windows.OBJ_CASE_INSENSITIVE | attributes}
	switch {
	case dir == 0:
		name = `\??\` + name
	case name == ".":
		name = ""
	default:
		if err := CheckName(name); err != nil {
			return windows.InvalidHandle, err
		}
	}
	object.Length = uint32(unsafe.Sizeof(object))
	var err error
	if object.ObjectName, err = windows.NewNTUnicodeString(name); err != nil {
		return windows.InvalidHandle, syscall.ENAMETOOLONG
	}
	var handle windows.Handle
	var status windows.IO_STATUS_BLOCK
	err = windows.NtCreateFile(&handle, access, &object, &status, nil, windows.FILE_ATTRIBUTE_NORMAL, share, disposition,
		options|windows.FILE_SYNCHRONOUS_IO_NONALERT, 0, 0)
	if err != nil {
		return windows.InvalidHandle, posix(err)
	}
	return handle, nil
}

// OpenRoot opens the directory at an absolute path, such as the root directory of a volume. It does not follow a link in the
// last component.
func OpenRoot(path string) (int, error) {
	h, err := create(0, path, dirAccess, shareAll, windows.FILE_OPEN, windows.FILE_DIRECTORY_FILE, objDontReparse)
	return int(h), err
}

const dirAccess = windows.FILE_LIST_DIRECTORY | windows.FILE_TRAVERSE | windows.FILE_READ_ATTRIBUTES | windows.SYNCHRONIZE

// Open opens or creates a file or directory.
func Open(dir int, name string, flag int) (int, error) {
	access, share, options := uint32(windows.FILE_GENERIC_READ), uint32(shareAll), uint32(0)
	switch {
	case flag&Hold != 0:
		access, share, options = dirAccess|windows.DELETE, windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE, windows.FILE_DIRECTORY_FILE
	case flag&Directory != 0:
		access, options = dirAccess, windows.FILE_DIRECTORY_FILE
	case flag&syscall.O_RDWR != 0:
		access |= windows.FILE_GENERIC_WRITE
	case flag&syscall.O_WRONLY != 0:
		access = windows.FILE_GENERIC_WRITE | windows.FILE_READ_ATTRIBUTES
	}
	if access&windows.FILE_WRITE_DATA != 0 && flag&syscall.O_APPEND != 0 {
		access &^= windows.FILE_WRITE_DATA
	}
	if flag&syscall.O_SYNC != 0 {
		options |= windows.FILE_WRITE_THROUGH
	}
	disposition := uint32(windows.FILE_OPEN)
	switch {
	case flag&syscall.O_CREAT != 0 && flag&syscall.O_EXCL != 0:
		disposition = windows.FILE_CREATE
	case flag&syscall.O_CREAT != 0:
		disposition = windows.FILE_OPEN_IF
	}
	if flag&syscall.O_CREAT != 0 {
		options |= windows.FILE_NON_DIRECTORY_FILE
	}
	h, err := create(windows.Handle(dir), name, access, share, disposition, options, objDontReparse)
	return int(h), err
}

// openItself opens a file, directory, link or junction. It does not follow a link.
func openItself(dir int, name string, access uint32) (windows.Handle, error) {
	return create(windows.Handle(dir), name, access|windows.FILE_READ_ATTRIBUTES|windows.SYNCHRONIZE, shareAll, windows.FILE_OPEN,
		windows.FILE_OPEN_REPARSE_POINT, 0)
}

// Close closes a handle.
func Close(fd int) error { return windows.CloseHandle(windows.Handle(fd)) }

// Mkdir creates a directory, which inherits its access control list.
func Mkdir(dir int, name string) error {
	h, err := create(windows.Handle(dir), name, windows.FILE_READ_ATTRIBUTES|windows.SYNCHRONIZE, shareAll, windows.FILE_CREATE,
		windows.FILE_DIRECTORY_FILE, objDontReparse)
	if err == nil {
		_ = windows.CloseHandle(h) // nothing was written
	}
	return err
}

// posix converts an NTSTATUS into the error that POSIX defines for the same condition.
func posix(err error) error {
	status, ok := err.(windows.NTStatus)
	if !ok {
		return err
	}
	switch status {
	case windows.STATUS_REPARSE_POINT_ENCOUNTERED, windows.STATUS_STOPPED_ON_SYMLINK:
		return syscall.ELOOP
	case windows.STATUS_NOT_A_DIRECTORY:
		return ENOTDIR
	case windows.STATUS_FILE_IS_A_DIRECTORY:
		return syscall.EISDIR
	case windows.STATUS_OBJECT_NAME_COLLISION:
		return syscall.EEXIST
	case windows.STATUS_DIRECTORY_NOT_EMPTY:
		return syscall.ENOTEMPTY
	case windows.STATUS_OBJECT_NAME_NOT_FOUND, windows.STATUS_OBJECT_PATH_NOT_FOUND, windows.STATUS_NO_SUCH_FILE, windows.STATUS_DELETE_PENDING:
		return syscall.ENOENT
	case windows.STATUS_OBJECT_NAME_INVALID, windows.STATUS_INVALID_PARAMETER, windows.STATUS_OBJECT_PATH_SYNTAX_BAD:
		return syscall.EINVAL
	case windows.STATUS_NAME_TOO_LONG:
		return syscall.ENAMETOOLONG
	case windows.STATUS_ACCESS_DENIED, windows.STATUS_CANNOT_DELETE:
		return syscall.EACCES
	case windows.STATUS_SHARING_VIOLATION:
		return syscall.EBUSY
	case windows.STATUS_NOT_SAME_DEVICE:
		return syscall.EXDEV
	case windows.STATUS_DISK_FULL:
		return syscall.ENOSPC
	case windows.STATUS_TOO_MANY_OPENED_FILES:
		return syscall.EMFILE
	case windows.STATUS_NOT_SUPPORTED, windows.STATUS_NOT_IMPLEMENTED, windows.STATUS_INVALID_INFO_CLASS, windows.STATUS_INVALID_DEVICE_REQUEST:
		return syscall.ENOTSUP
	}
	return status.Errno()
}

// ENOTDIR is the error for a file where a directory is required. On Windows, syscall.ENOTDIR means that a path does not exist.
const ENOTDIR = windows.ERROR_DIRECTORY
