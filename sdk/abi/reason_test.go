package abi

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"
)

func TestHostErrorMatchesItsReason(t *testing.T) {
	for _, errno := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.EMFILE, syscall.ENFILE, syscall.EROFS, syscall.ENAMETOOLONG} {
		reason := ReasonOf(fmt.Errorf("writing: %w", &fs.PathError{Op: "open", Path: "x", Err: errno}))
		if failure := error(&HostError{Code: HostFailed, Reason: reason}); reason == "" || !errors.Is(failure, errno) {
			t.Errorf("%v has the reason %q, which does not match it", errno, reason)
		}
	}
	if reason := ReasonOf(syscall.EIO); reason != "" {
		t.Errorf("EIO has the reason %q", reason)
	}
	for _, reason := range []string{"", ReasonNoIdentity, ReasonQuota} {
		if errors.Is(&HostError{Reason: reason}, syscall.ENOSPC) {
			t.Errorf("the reason %q matches ENOSPC", reason)
		}
	}
}
