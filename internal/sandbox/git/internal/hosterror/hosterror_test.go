package hosterror

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

func TestFailureOfFileSystemHasReason(t *testing.T) {
	for _, test := range []struct {
		cause error
		want  string
	}{{fmt.Errorf("write: %w", syscall.ENOSPC), abi.ReasonNoSpace}, {errors.New("damaged"), ""}} {
		failure, ok := errors.AsType[*abi.HostError](Failed("%s: %v", "/repo", test.cause))
		if !ok || failure.Reason != test.want {
			t.Errorf("%v: got %#v, want the reason %q", test.cause, failure, test.want)
		}
	}
}
