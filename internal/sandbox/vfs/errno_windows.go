package vfs

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// portable returns the errno of POSIX for an error of the system.
func portable(e syscall.Errno) syscall.Errno {
	switch e {
	case windows.ERROR_DISK_FULL, windows.ERROR_HANDLE_DISK_FULL:
		return syscall.ENOSPC
	case windows.ERROR_DISK_QUOTA_EXCEEDED:
		return syscall.EDQUOT
	case windows.ERROR_FILE_TOO_LARGE:
		return syscall.EFBIG
	case windows.ERROR_TOO_MANY_OPEN_FILES:
		return syscall.EMFILE
	case windows.ERROR_NOT_ENOUGH_MEMORY, windows.ERROR_OUTOFMEMORY:
		return syscall.ENOMEM
	}
	return e
}
