package abi

import (
	"errors"
	"syscall"
)

// Values of HostError.Reason for failures of the file system. A HostError with one of them matches the error of package syscall with
// errors.Is.
const (
	ReasonNoSpace      = "no_space"       // syscall.ENOSPC: the disk is full
	ReasonQuota        = "quota"          // syscall.EDQUOT: the disk quota is exceeded
	ReasonFileTooLarge = "file_too_large" // syscall.EFBIG
	ReasonTooManyFiles = "too_many_files" // syscall.EMFILE or syscall.ENFILE: the plugin or the system has too many open files
	ReasonReadOnly     = "read_only"      // syscall.EROFS: the file system is read-only
	ReasonNameTooLong  = "name_too_long"  // syscall.ENAMETOOLONG
)

var reasons = []struct {
	errno  syscall.Errno
	reason string
}{
	{syscall.ENOSPC, ReasonNoSpace}, {syscall.EDQUOT, ReasonQuota}, {syscall.EFBIG, ReasonFileTooLarge}, {syscall.EMFILE, ReasonTooManyFiles},
	{syscall.ENFILE, ReasonTooManyFiles}, {syscall.EROFS, ReasonReadOnly}, {syscall.ENAMETOOLONG, ReasonNameTooLong},
}

// ReasonOf returns the Reason of an error of the file system; empty if there is none.
func ReasonOf(err error) string {
	for _, r := range reasons {
		if errors.Is(err, r.errno) {
			return r.reason
		}
	}
	return ""
}

// Is reports whether target is the error of package syscall that e.Reason stands for.
func (e *HostError) Is(target error) bool {
	for _, r := range reasons {
		if e.Reason == r.reason && target == r.errno {
			return true
		}
	}
	return false
}
