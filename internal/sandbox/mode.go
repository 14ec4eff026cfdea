package sandbox

import (
	"context"
	"fmt"
	"io/fs"
	"time"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/vfs"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// mode reads or sets the permission bits of a file, subject to the same policy as the module's own file operations.
func (b *Box) mode(ctx context.Context, q abi.FileMode) (any, error) {
	asked := operationCaller{ctx: operating(ctx)}
	tree := b.tree(&asked, "", new(denials)) // paths of the operation are absolute
	if q.Mode != nil {
		if *q.Mode&^uint32(fs.ModePerm) != 0 {
			return nil, &abi.HostError{Code: abi.HostInvalid, Message: fmt.Sprintf("fs/mode: %#o has bits beyond 0777", *q.Mode)}
		}
		if errno := tree.Chmod(q.Path, fs.FileMode(*q.Mode)); errno != 0 {
			return nil, fileError(abi.OpFSMode, q.Path, errno, asked.last)
		}
	}
	stat, errno := tree.Stat(q.Path)
	if errno != 0 {
		return nil, fileError(abi.OpFSMode, q.Path, errno, asked.last)
	}
	result := abi.FileModeResult{Mode: uint32(stat.Mode.Perm())}
	if nanoseconds, ok := tree.Born(q.Path); ok {
		created := time.Unix(0, nanoseconds).UnixMilli()
		result.Created = &created
	}
	return result, nil
}

// grants lists the granted directories. The module could find them out itself, as the entries of the virtual directories above them.
func (b *Box) grants(context.Context, struct{}) (any, error) {
	out := abi.FileGrants{Directories: []abi.FileGrant{}}
	for _, m := range b.config.Mounts {
		if m.Path != b.config.State {
			out.Directories = append(out.Directories, abi.FileGrant{Path: m.Path, Aliases: m.Aliases, Write: m.Write})
		}
	}
	return out, nil
}

// createMode sets the mode of the files that the call creates. A module that creates many files which only their owner may read
// need not change the mode of each.
func (b *Box) createMode(ctx context.Context, q abi.FileCreateMode) (any, error) {
	if q.Mode&^uint32(vfs.FileMode) != 0 {
		return nil, &abi.HostError{Code: abi.HostInvalid, Message: fmt.Sprintf("fs/create_mode: %#o has bits beyond %#o", q.Mode, vfs.FileMode)}
	}
	callOf(ctx).masked.Store(vfs.FileMode &^ q.Mode)
	return nil, nil
}

// operationCaller is the Caller of an operation that accesses files, with the context of the function operating.
type operationCaller struct {
	faults
	ctx context.Context
}

// Context implements Caller.
func (c *operationCaller) Context() context.Context { return c.ctx }

// faults is a Caller for use outside of a call. It stores the last fault and charges nothing.
type faults struct{ last error }

func (f *faults) Context() context.Context { return context.Background() }
func (f *faults) Fault(err error)          { f.last = err }
func (f *faults) Errno(uint16)             {}
func (f *faults) Spend(int)                {}

// fileError returns the error of an operation on a path.
func fileError(op, path string, errno experimentalsys.Errno, cause error) error {
	e := &abi.HostError{Code: abi.HostFailed, Message: fmt.Sprintf("%s: %q: %v", op, bounded(path), errno), Reason: abi.ReasonOf(cause)}
	if errno == experimentalsys.EROFS {
		e.Reason = abi.ReasonReadOnly
	}
	switch {
	case errno == experimentalsys.EACCES || errno == experimentalsys.EPERM:
		e.Code = abi.HostDenied
	case cause != nil:
		e.Message = op + ": " + cause.Error()
	}
	return e
}
