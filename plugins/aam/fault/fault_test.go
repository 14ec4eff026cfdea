package fault_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

func TestFrom(t *testing.T) {
	cause := errors.New("cause")
	coded := fault.New(fault.ArchiveInvalid, "a.aam: %w", cause).WithHint("Publish it again")
	tests := []struct {
		name string
		err  error
		want string
	}{
		{"an Error is returned unchanged", coded, "[AAM_ARCHIVE_INVALID] a.aam: cause. Publish it again"},
		{"wrapping messages are kept", fmt.Errorf("install: %w", coded), "[AAM_ARCHIVE_INVALID] install: a.aam: cause. Publish it again"},
		{"a permission error", &fs.PathError{Op: "open", Path: "/x", Err: fs.ErrPermission}, "[AAM_PERMISSION_DENIED] open /x: permission denied. Grant the directory to the plugin, with access rw if files in it are to be changed"},
		{"a link out", fmt.Errorf("/x: %w /y", contain.ErrOutside), "[AAM_PERMISSION_DENIED] /x: resolves outside /y. Replace the symbolic link with a directory, or, for a directory of a platform, name another platform: nothing is written through a link that leaves its directory"},
		{"other errors are internal", cause, "[AAM_INTERNAL_ERROR] cause"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := fault.From(test.err).Text(); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
	if got := fault.From(nil); got != nil {
		t.Errorf("From(nil): got %v", got)
	}
	if !errors.Is(coded, cause) {
		t.Error("the cause is not in the chain of the Error")
	}
	if fault.New(fault.Internal, "x").WithHint("y"); coded.Hint != "Publish it again" {
		t.Error("WithHint changed another Error")
	}
}
