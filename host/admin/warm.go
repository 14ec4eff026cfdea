package admin

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/host/engine/code"
	"github.com/bulkhead-mcp/bulkhead/host/internal/reexec"
)

// The states of a Warmed.
const (
	Compiled = "compiled"
	Kept     = "kept"     // there was sound code, or another process compiled it meanwhile
	LeftOut  = "left out" // nothing of the plugin is offered
	Failing  = "failed"   // there is no code of it
)

// Warmed says whether there is compiled code of a plugin's module.
type Warmed struct {
	Plugin string        `json:"plugin"`
	Module string        `json:"module,omitempty"` // its file
	State  string        `json:"state"`
	Took   time.Duration `json:"took_ns"` // with waiting for a compiler
	Reason string        `json:"reason,omitempty"`
}

// Warm sees to it that there is compiled code of the modules that a host would offer, in the cache that it would
// use. progress is told, one call at a time, when a module begins to wait for a compiler (its state is empty then),
// and what came of each plugin. The error is a *host.UsageError, of the cache, or the cause of the end of ctx.
func Warm(ctx context.Context, o host.Options, progress func(Warmed)) ([]Warmed, error) {
	view, err := host.Look(o)
	if err != nil {
		return nil, err
	}
	if view.CacheDir == "" {
		return nil, errors.New("compiled modules are not kept: there is neither $XDG_CACHE_HOME nor a home folder")
	}
	log := o.Log
	if log == nil {
		log = hclog.NewNullLogger()
	}
	if reexec.Command(reexec.Compiler) == nil {
		return nil, errors.New("host.RunChild must be called first in main: modules are compiled in processes of their own")
	}
	store, err := code.Open(code.Config{Dir: view.CacheDir, Compiler: reexec.Command(reexec.Compiler), Log: log})
	if err != nil {
		return nil, err
	}
	w := &warming{store: store, progress: progress}
	all := make([]Warmed, len(view.Plugins))
	var work sync.WaitGroup
	places := make(chan struct{}, runtime.GOMAXPROCS(0))
	for n, p := range view.Plugins {
		work.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
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

// warming is what the plugins of one Warm share.
type warming struct {
	store    *code.Store
	telling  sync.Mutex // guards progress
	progress func(Warmed)
}

func (w *warming) tell(what Warmed) Warmed {
	w.telling.Lock()
	defer w.telling.Unlock()
	w.progress(what)
	return what
}

func (w *warming) plugin(ctx context.Context, p host.Standing) Warmed {
	done := Warmed{Plugin: p.Name}
	switch {
	case p.Problems.Err() != nil || p.Manifest == nil:
		done.State, done.Reason = Failing, p.Problem
		return w.tell(done)
	case p.Problem != "":
		done.State, done.Reason = LeftOut, p.Problem
		return w.tell(done)
	}
	done.Module = p.Manifest.ModuleFile()
	m := code.Module{Name: p.Name, File: done.Module, SHA256: p.Manifest.Module.SHA256}
	if kept, err := w.store.Kept(m); err == nil && !kept {
		w.tell(done)
	}
	start := time.Now()
	found, err := w.store.Ensure(ctx, m, code.Foreground)
	done.Took = time.Since(start)
	switch {
	case err != nil:
		done.State, done.Reason = Failing, err.Error()
		return w.tell(done)
	case found.Fresh:
		done.State = Compiled
	default:
		done.State = Kept
	}
	_ = found.Close() // it was only read
	return w.tell(done)
}
