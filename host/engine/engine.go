// Package engine runs a WASM module that speaks ABI 1. Load loads its compiled code, which a code.Store of the host
// process has made; Module.Call sends it a request and returns its response. It knows nothing of MCP: requests and
// responses are bytes, and what a module may touch is given in its Spec.
//
// Each call has an instance of its own, which afterwards is restored to the state that it had before its first call; an
// instance that trapped, exited or was stopped is closed, and so is one that cannot be restored.
//
// The end of a call's time, or of its context, stops it wherever it is, within a few milliseconds of work.
package engine

import (
	"context"
	"time"

	"github.com/hashicorp/go-hclog"
	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"
)

// Caller connects an instance's file system with the calls that the instance runs. It is an alias, so that
// who makes file systems need not know this package.
type Caller = interface {
	// Context is the one that the call that runs now was made with; between calls it has no values.
	Context() context.Context
	// Fault reports an error that WASI has no number for, such as a full disk: it comes back with the
	// call's response.
	Fault(err error)
}

// Spec describes a module and what it may touch.
type Spec struct {
	Name   string        // of the plugin, for errors and logs
	File   string        // path of the module, for errors
	Code   string        // directory with verified code of the module (code.Code.Dir), which is only read
	Memory int64         // bytes of linear memory an instance may have, in whole pages of 64 KiB; 0: 64 MiB
	Output int64         // bytes that a response may have; 0: 8 MiB
	Input  int64         // bytes that a request may have; 0: 16 MiB
	Time   time.Duration // that a call may take; 0: 30 s
	Fuel   int64         // instructions that a call may take; 0: no limit
	// Operations and LogSize bound the host operations of a call, and the bytes that it writes to the log;
	// 0: 10,000 and 1 MiB.
	Operations int
	LogSize    int
	// Reused keeps a module's state from one call to the next.
	Reused bool
	Env    map[string]string
	// FS makes an instance's file system, which stands at "/"; nil: it has none.
	FS func(Caller) experimentalsys.FS
	// Operate answers a host operation (an abi.HostRequest, an abi.HostResponse); nil: there is none.
	// ctx is the one that Call was given.
	Operate func(ctx context.Context, request []byte) []byte
	// Idle is how long instances are kept after the last call; 0: a minute.
	Idle time.Duration
	Log  hclog.Logger // gets the module's own lines too; nil: no log
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

// complete fills in the defaults.
func (s Spec) complete() Spec {
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
