package sandbox

import (
	"context"
	"encoding/json"
	"io/fs"
	"sync/atomic"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/vfs"
)

// Notifier sends notifications of a running call to its client. Its error states why a notification is malformed.
type Notifier interface {
	Notify(method string, params json.RawMessage) error
}

// call is the state of one call that its operations share.
type call struct {
	notifier Notifier        // nil drops notifications
	record   func(Operation) // nil records nothing
	masked   atomic.Uint32   // permission bits that new files do not get
	used     uses            // grants that it has used
	of       *call           // the call of which this is an operation; nil: none
}

// fileMode returns the permission bits of the files that the call creates.
func (c *call) fileMode() fs.FileMode { return vfs.FileMode &^ fs.FileMode(c.masked.Load()) }

// Operation is the audit record of an operation that a call performed, or that was refused.
type Operation struct {
	Op     string // name of the host operation, or "file/" and the name of the refused file operation
	Target string // a path, repository, origin, lock's directory or name, or notification's method; never a secret
	Code   string // code of the abi.HostError; empty on success
}

type callKey struct{}

// Begin starts a call. The call's operations and file accesses must use the returned context. record, which may be nil, is called
// for each operation and each refused access to a file.
func Begin(ctx context.Context, n Notifier, record func(Operation)) context.Context {
	return context.WithValue(ctx, callKey{}, &call{notifier: n, record: record})
}

// operating returns the context in which an operation accesses files for its call. Refused accesses are not recorded, since the operation is
// recorded with its result.
func operating(ctx context.Context) context.Context {
	of := callOf(ctx)
	if of.of != nil {
		of = of.of
	}
	return context.WithValue(ctx, callKey{}, &call{of: of})
}

// callOf returns the call of a context, or an empty one if the engine was called without Begin.
func callOf(ctx context.Context) *call {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		return c
	}
	return &call{}
}
