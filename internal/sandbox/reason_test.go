package sandbox

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

func TestHostErrorsHaveReasonsOfFileSystem(t *testing.T) {
	full := fmt.Errorf("write x: %w", syscall.ENOSPC)
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"a full disk":                {fileError(abi.OpFSMode, "/x", experimentalsys.EIO, full), abi.ReasonNoSpace},
		"a read-only file system":    {fileError(abi.OpFSMode, "/x", experimentalsys.EROFS, nil), abi.ReasonReadOnly},
		"a path that does not exist": {fileError(abi.OpFSMode, "/x", experimentalsys.ENOENT, nil), ""},
	} {
		failure, ok := errors.AsType[*abi.HostError](test.err)
		if !ok || failure.Reason != test.want || failure.Code != abi.HostFailed {
			t.Errorf("%s: got %#v, want the reason %q", name, failure, test.want)
		}
	}
}
