package codecache

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/reexec"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/confine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/code"
)

// The states of a WarmResult.
const (
	Compiled      = "compiled"
	Cached        = "kept"     // the cache already contains intact code, or another process has just compiled it
	LeftOut       = "left out" // the plugin is not offered
	CompileFailed = "failed"   // there is no compiled code
)

// WarmResult says whether the cache has compiled code of a plugin's module.
type WarmResult struct {
	Plugin string        `json:"plugin"`
	Module string        `json:"module,omitempty"` // path of the file
	State  string        `json:"state"`
	Took   time.Duration `json:"took_ns"` // includes the wait for a compiler
	Reason string        `json:"reason,omitempty"`
}

// Warm compiles the modules of the plugins that a host with these options would offer, and stores the code in the host's
// cache. It calls progress with an empty state when a module begins to wait for a compiler, and with the result of each
// plugin. Calls of progress are serialized. The error is a *usage.Error, an error of the cache, or the cause of
// the cancellation of ctx.
func Warm(ctx context.Context, o discovery.Options, progress func(WarmResult)) ([]WarmResult, error) {
	view, err := catalog.Look(o)
	if err != nil {
		return nil, err
	}
	if view.CacheDir == "" {
		return nil, errors.New("compiled modules are not cached: there is neither $XDG_CACHE_HOME nor a home directory")
	}
	log := o.Log
	if log == nil {
		log = hclog.NewNullLogger()
	}
	if reexec.Command(reexec.Compiler) == nil {
		return nil, errors.New("host.RunChild must be called first in main: modules are compiled in child processes")
	}
	store, err := code.Open(code.Config{
		Dir: view.CacheDir, Compiler: reexec.Command(reexec.Compiler), Log: log,
		Confined: func(report confine.Report) error { return report.Check(view.RequiresConfinement()) },
	})
	if err != nil {
		return nil, err
	}
	w := &warmer{store: store, progress: progress}
	all := make([]WarmResult, len(view.Plugins))
	var work sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for n, p := range view.Plugins {
		work.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			all[n] = w.plugin(ctx, p)
		})
	}
	work.Wait()
	err = store.Close()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return all, err
}

// warmer is the state of one call of Warm.
type warmer struct {
	store    *code.Store
	mu       sync.Mutex // guards progress
	progress func(WarmResult)
}

func (w *warmer) report(r WarmResult) WarmResult {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.progress(r)
	return r
}

func (w *warmer) plugin(ctx context.Context, p *catalog.Plugin) WarmResult {
	done := WarmResult{Plugin: p.Name}
	switch {
	case p.Problems.Err() != nil || p.Manifest == nil:
		done.State, done.Reason = CompileFailed, p.Problem
		return w.report(done)
	case p.Problem != "":
		done.State, done.Reason = LeftOut, p.Problem
		return w.report(done)
	}
	done.Module = p.Manifest.ModuleFile()
	m := code.Module{Name: p.Name, File: done.Module, SHA256: p.Manifest.Module.SHA256}
	if kept, err := w.store.Kept(m); err == nil && !kept {
		w.report(done)
	}
	start := time.Now()
	found, err := w.store.Ensure(ctx, m, code.Foreground)
	done.Took = time.Since(start)
	switch {
	case err != nil:
		done.State, done.Reason = CompileFailed, err.Error()
		return w.report(done)
	case found.Fresh:
		done.State = Compiled
	default:
		done.State = Cached
	}
	_ = found.Close() // opened for reading only
	return w.report(done)
}
