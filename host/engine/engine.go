// Package engine runs WASM modules that speak ABI 1. New makes an Engine; Engine.Module names a module
// without touching its file; Module.Call sends it a request and returns its response. It knows nothing
// of MCP: requests and responses are bytes, and what a module may touch is given in its Spec.
//
// Modules are read, checked and compiled on the first call, or ahead of it by Module.Warm, with a
// compilation cache on disk. Each call has an instance of its own; instances are used again, one call at
// a time, and thrown away when a call traps, exits or is stopped.
//
// A call's time begins when its module is loaded: waiting for a place and compiling are not the module's
// doing, and making a fresh instance is. The limit ends a call in a host operation, in a log line and in a sleep; code that
// computes without any of these runs on until it returns.
package engine

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/tetratelabs/wazero"
	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"
)

// Config configures an Engine.
type Config struct {
	// CacheDir is where compiled modules are kept, shared by all processes of a user. It is made if it
	// is missing; empty means that nothing is kept.
	CacheDir string
	Log      hclog.Logger // nil: no log
}

// Engine compiles and runs modules. It is safe for concurrent use.
type Engine struct {
	cache    wazero.CompilationCache
	cacheDir string
	log      hclog.Logger
}

// New returns an engine. It touches nothing but the cache's folder.
func New(c Config) (*Engine, error) {
	log := c.Log
	if log == nil {
		log = hclog.NewNullLogger()
	}
	e := &Engine{cacheDir: c.CacheDir, log: log}
	if c.CacheDir == "" {
		e.cache = wazero.NewCompilationCache()
		return e, nil
	}
	// What the cache holds is native code: nobody else may write there.
	if err := os.MkdirAll(c.CacheDir, 0o700); err != nil {
		return nil, fmt.Errorf("compilation cache: %w", err)
	}
	cache, err := wazero.NewCompilationCacheWithDir(c.CacheDir)
	if err != nil {
		return nil, fmt.Errorf("compilation cache: %w", err)
	}
	e.cache = cache
	return e, nil
}

// Close releases what the engine holds. Close its modules first.
func (e *Engine) Close(ctx context.Context) error { return e.cache.Close(ctx) }

// Spec describes a module and what it may touch.
type Spec struct {
	Name   string        // of the plugin, for errors and logs
	File   string        // path of the module
	SHA256 string        // lower-case hex; the file must have it. Empty: any
	Memory int64         // bytes of linear memory an instance may have, in whole pages of 64 KiB; 0: 64 MiB
	Output int64         // bytes that a response may have; 0: 8 MiB
	Time   time.Duration // that a call may take; 0: 30 s
	// Concurrency is how many calls may run at the same time; further ones wait. 0: 8.
	Concurrency int
	Env         map[string]string
	// FS makes an instance's file system, which stands at "/"; nil: it has none. WASI has no number for
	// some errors, a full disk among them: the file system reports those by fault, and they come back
	// with the call's response.
	FS func(fault func(error)) experimentalsys.FS
	// Operate answers a host operation (an abi.HostRequest, an abi.HostResponse); nil: there is none.
	// ctx is the one that Call was given.
	Operate func(ctx context.Context, request []byte) []byte
	Log     hclog.Logger // gets the module's own lines; nil: the engine's
}

const (
	pageSize           = 64 << 10
	defaultMemory      = 64 << 20
	defaultOutput      = 8 << 20
	defaultTime        = 30 * time.Second
	defaultConcurrency = 8
)

// Module returns a module that is not loaded yet: neither its file nor its folder is looked at.
func (e *Engine) Module(spec Spec) *Module {
	if spec.Memory <= 0 {
		spec.Memory = defaultMemory
	}
	if spec.Output <= 0 {
		spec.Output = defaultOutput
	}
	if spec.Time <= 0 {
		spec.Time = defaultTime
	}
	if spec.Concurrency <= 0 {
		spec.Concurrency = defaultConcurrency
	}
	if spec.Log == nil {
		spec.Log = e.log
	}
	return &Module{engine: e, spec: spec, running: make(chan struct{}, spec.Concurrency)}
}
