// Package engine runs WASM modules that speak ABI 1. New makes an Engine; Engine.Module names a module
// without touching its file; Module.Call sends it a request and returns its response. It knows nothing
// of MCP: requests and responses are bytes, and what a module may touch is given in its Spec.
//
// The code of modules comes from a code.Store, which compiles them in another process on the first call, or
// ahead of it by Module.Warm, or from a directory with code that somebody else has compiled. Each call has an instance of its own, which afterwards is
// put back to the state that it had before its first call; an instance that trapped, exited or was stopped
// is thrown away, and so is one that cannot be put back.
//
// A call's time begins when its module is loaded: waiting for a place and compiling are not the module's
// doing. The end of its time, or of its context, stops a call wherever it is, within a few milliseconds of
// work.
package engine

import (
	"context"
	"time"

	"github.com/hashicorp/go-hclog"
	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/host/engine/code"
)

// Config configures an Engine.
type Config struct {
	// Store provides the compiled code of modules whose Spec names none. The engine does not close it.
	Store *code.Store
	// InstanceIdle and ModuleIdle are how long instances and compiled modules are kept after the last
	// call; 0: one minute and ten minutes.
	InstanceIdle, ModuleIdle time.Duration
	Log                      hclog.Logger // nil: no log
}

const (
	defaultInstanceIdle = time.Minute
	defaultModuleIdle   = 10 * time.Minute
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

// Engine compiles and runs modules. It is safe for concurrent use.
type Engine struct {
	config Config
	log    hclog.Logger
}

// New returns an engine.
func New(c Config) *Engine {
	if c.Log == nil {
		c.Log = hclog.NewNullLogger()
	}
	if c.InstanceIdle <= 0 {
		c.InstanceIdle = defaultInstanceIdle
	}
	if c.ModuleIdle <= 0 {
		c.ModuleIdle = defaultModuleIdle
	}
	return &Engine{config: c, log: c.Log}
}

// Spec describes a module and what it may touch.
type Spec struct {
	Name   string // of the plugin, for errors and logs
	File   string // path of the module
	SHA256 string // lower-case hex; the file must have it. Empty: any
	// Code is a directory with verified code of the module (code.Code.Dir), which is only read; File is then not
	// read at all. Empty: the engine's Store provides the code.
	Code   string
	Memory int64         // bytes of linear memory an instance may have, in whole pages of 64 KiB; 0: 64 MiB
	Output int64         // bytes that a response may have; 0: 8 MiB
	Input  int64         // bytes that a request may have; 0: 16 MiB
	Time   time.Duration // that a call may take; 0: 30 s
	Fuel   int64         // instructions that a call may take; 0: no limit
	// Operations and LogSize bound the host operations of a call, and the bytes that it writes to the log;
	// 0: 10,000 and 1 MiB.
	Operations int
	LogSize    int
	// Concurrency is how many calls may run at the same time; further ones wait, for Queue at most. 0: 8,
	// and one minute.
	Concurrency int
	Queue       time.Duration
	// Reused keeps a module's state from one call to the next.
	Reused bool
	Env    map[string]string
	// FS makes an instance's file system, which stands at "/"; nil: it has none.
	FS func(Caller) experimentalsys.FS
	// Operate answers a host operation (an abi.HostRequest, an abi.HostResponse); nil: there is none.
	// ctx is the one that Call was given.
	Operate func(ctx context.Context, request []byte) []byte
	Log     hclog.Logger // gets the module's own lines; nil: the engine's
}

const (
	pageSize           = 64 << 10
	defaultMemory      = 64 << 20
	defaultInput       = 16 << 20
	defaultOutput      = 8 << 20
	defaultTime        = 30 * time.Second
	defaultOperations  = 10_000
	defaultLogSize     = 1 << 20
	defaultConcurrency = 8
	defaultQueue       = time.Minute
)

// Module returns a module that is not loaded yet: neither its file nor its folder is looked at.
func (e *Engine) Module(spec Spec) *Module {
	orDefault(&spec.Memory, defaultMemory)
	spec.Memory = max(spec.Memory/pageSize, 1) * pageSize
	orDefault(&spec.Input, defaultInput)
	orDefault(&spec.Output, defaultOutput)
	orDefault(&spec.Time, defaultTime)
	orDefault(&spec.Operations, defaultOperations)
	orDefault(&spec.LogSize, defaultLogSize)
	orDefault(&spec.Concurrency, defaultConcurrency)
	orDefault(&spec.Queue, defaultQueue)
	if spec.Log == nil {
		spec.Log = e.log
	}
	m := &Module{engine: e, spec: spec, running: make(chan struct{}, spec.Concurrency)}
	m.life, m.end = context.WithCancel(context.Background())
	return m
}

func orDefault[T int | int64 | time.Duration](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}
