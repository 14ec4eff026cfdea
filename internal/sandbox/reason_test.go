package sandbox

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

func TestRefusalsOfFileSystemAreDenied(t *testing.T) {
	cause := errors.New("the cause")
	for errno, want := range map[experimentalsys.Errno]abi.HostError{
		experimentalsys.EACCES: {Code: abi.HostDenied, Message: `fs/mode: "/x": permission denied`},
		experimentalsys.EPERM:  {Code: abi.HostDenied, Message: `fs/mode: "/x": operation not permitted`},
		experimentalsys.EIO:    {Code: abi.HostFailed, Message: "fs/mode: the cause"},
	} {
		got, ok := errors.AsType[*abi.HostError](fileError(abi.OpFSMode, "/x", errno, cause))
		if !ok || got.Code != want.Code || got.Message != want.Message {
			t.Errorf("%v: got %+v, want %+v", errno, got, want)
		}
	}
}

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
