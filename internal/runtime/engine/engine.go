// Package engine runs WASM modules. Load loads compiled code, which a code.Store of the host process has produced;
// Module.Call sends a call.Request, as the module's kind encodes it, and returns the response. The bytes of the response
// are untrusted: package child validates them. A Spec lists the module's kind, resources and limits.
//
// Each call has an instance to itself. Unless Spec.Reused is set, the instance is restored to its snapshot after the
// call. An instance that trapped, exited, was stopped or cannot be restored is closed.
//
// A call whose time limit is exceeded, or whose context ends, is stopped within a few milliseconds, whatever the module
// does.
package engine

import (
	"context"
	"time"

	"github.com/hashicorp/go-hclog"
	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/dirtypages"
)

// Caller gives an instance's file system access to the current call. It is an alias so that packages that implement
// file systems need not import this package.
type Caller = interface {
	// Context returns the context of the current call, or context.Background between calls.
	Context() context.Context
	// Fault records an error that the module's errno does not describe completely. Call returns it in Held.Faults.
	Fault(err error)
	// Errno sets the errno of WASI that the module gets instead of the EIO that the file system returns next: wazero lacks some.
	Errno(errno uint16)
	// Spend charges the current call for work on a number of bytes. It may end the call by a panic.
	Spend(bytes int)
}

// Spec describes a module, its resources and its limits.
type Spec struct {
	Name   string        // plugin name, for errors and logs
	Kind   Kind          // kind of the module; empty: ABI1
	File   string        // path of the module, for errors
	Code   string        // directory of the module's verified compiled code (code.Code.Dir); it is only read
	Memory int64         // limit of an instance's linear memory in bytes, rounded down to pages of 64 KiB; 0: 64 MiB
	Output int64         // limit of a response in bytes; 0: 8 MiB
	Input  int64         // limit of a request in bytes; 0: 16 MiB
	Time   time.Duration // time limit of a call; 0: 30 s
	Fuel   int64         // instruction limit of a call; 0: no limit
	// Operations limits the number of host operations of a call; 0: 10,000. LogSize limits the bytes that a call logs;
	// 0: 1 MiB.
	Operations int
	LogSize    int
	// Reused keeps an instance's state from one call to the next.
	Reused bool
	Env    map[string]string
	// FS returns the file system that an instance has at "/"; nil: instances have no files.
	FS func(Caller) experimentalsys.FS
	// Operate performs a host operation: it gets an abi.HostRequest and returns an abi.HostResponse; nil: no operation is
	// available. ctx is derived from the context of Call, and tells Spend and Derive which call to charge.
	Operate func(ctx context.Context, request []byte) []byte
	// Tracker records the pages that calls write, so that restoring an instance takes microseconds; nil: memories are
	// compared with the snapshot.
	Tracker *dirtypages.Tracker
	// Credit is the memory of the process; nil: only the limits bound it.
	Credit Credit
	// Idle is how long idle instances are kept after the last call; 0: a minute.
	Idle time.Duration
	Log  hclog.Logger // also gets the lines that the module logs and prints; nil: no log
}

const (
	pageSize          = 64 << 10
	defaultMemory     = 64 << 20
	defaultInput      = 16 << 20
	defaultOutput     = 8 << 20
	defaultTime       = 30 * time.Second
	defaultOperations = 10_000
	defaultLogSize    = 1 << 20
	defaultIdle       = time.Minute
)

func (s Spec) withDefaults() Spec {
	orDefault(&s.Memory, defaultMemory)
	s.Memory = max(s.Memory/pageSize, 1) * pageSize
	orDefault(&s.Input, defaultInput)
	orDefault(&s.Output, defaultOutput)
	orDefault(&s.Time, defaultTime)
	orDefault(&s.Operations, defaultOperations)
	orDefault(&s.LogSize, defaultLogSize)
	orDefault(&s.Idle, defaultIdle)
	if s.Log == nil {
		s.Log = hclog.NewNullLogger()
	}
	return s
}

func orDefault[T int | int64 | time.Duration](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}
