// Package host is Bulkhead as a library: it finds plugins, decides what each is granted, and offers their tools as one MCP
// server. Open reads manifests and decides; Host.Serve speaks MCP over a pair of streams, and Host.Call makes one call the
// same way; Close releases the Host.
//
// A program that opens a Host must call RunChild first in main, and first in TestMain of its tests: modules are compiled
// and run in child processes, which run the same executable. Without RunChild, Open fails. Build the program with
// CGO_ENABLED=0, otherwise some layers of confinement are missing in the child processes.
//
// Opening loads no module: a plugin's module is compiled when it is first called, or in the background while serving. If
// one plugin is invalid, the others are offered nevertheless; Host.Plugins reports what is wrong with it.
//
// # Stability
//
// Before version 1.0 a minor version may change this API; CHANGELOG.md then says what to do, and api/host.txt lists the
// exported names, including the fields and methods of aliased types.
package host

import (
	"context"
	"fmt"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/dispatch"
	"github.com/bulkhead-mcp/bulkhead/internal/engine/code"
	"github.com/bulkhead-mcp/bulkhead/internal/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/reexec"
	"github.com/bulkhead-mcp/bulkhead/internal/worker/child"
)

type (
	// Options select what Open opens. The zero value does what `bulkhead serve` does without flags.
	Options = discovery.Options
	// System contains what the host reads from its environment.
	System = discovery.System
	// UsageError is an error that the caller can correct: an invalid option, an invalid config, or no plugin where
	// one was named.
	UsageError = discovery.UsageError
	// UntrustedError says that the host found a config, or a directory of plugins, that the options do not name and the
	// user does not trust. Open returns it in a *UsageError.
	UntrustedError = discovery.UntrustedError
)

// Host is a set of plugins with their grants. It is safe for concurrent use.
type Host struct {
	options    Options   // complete
	opened     time.Time // before the files were read
	dispatcher *dispatch.Dispatcher
	gateway    *gateway.Gateway

	http served // by ServeHTTP

	ended context.Context // by Close
	end   context.CancelFunc

	reloading chan struct{} // has capacity 1, and an element while Reload or Close runs
	// The following fields are guarded by reloading.
	rejected       []string // paths that decided the last change, if it was rejected
	rejectedReason string   // "" if the last change was applied
}

// Open finds plugins and decides what each is granted. The error is a *UsageError if the caller can correct it.
func Open(o Options) (*Host, error) {
	opened := time.Now()
	found, err := discovery.FindOrExplain(o)
	if err != nil {
		return nil, err
	}
	log := found.Options.Log
	if found.Untrusted != nil {
		if !o.ServeNothing {
			return nil, &UsageError{Err: found.Untrusted}
		}
		log.Error(found.Untrusted.Error())
	}
	if found.Invalid != nil {
		log.Error("no plugin is served: the config is invalid", "reason", found.Invalid.Error())
	}
	if found.NoPlugins != nil {
		log.Error(found.NoPlugins.Error())
	}
	if found.Places.NoState != "" {
		log.Error("no plugin gets a state directory", "reason", found.Places.NoState)
	}
	offered := catalog.New(found)
	offered.Report()
	h := &Host{options: found.Options, opened: opened, dispatcher: dispatch.New(offered), reloading: make(chan struct{}, 1)}
	h.ended, h.end = context.WithCancel(context.Background())
	if h.gateway, err = offered.NewServer(h.dispatcher); err != nil {
		return nil, err
	}
	offered.WarnOfUnusedEnv()
	if err := h.dispatcher.Open(); err != nil {
		return nil, err
	}
	return h, nil
}

// Close stops background work and releases the modules. All calls must have ended. It waits until ctx ends at most; the
// error then names what is still running, which ends only with the process.
func (h *Host) Close(ctx context.Context) error {
	h.end()
	if err := h.lock(ctx); err != nil {
		return fmt.Errorf("close: gave up waiting for a reload: %w", err)
	}
	defer h.unlock()
	return h.dispatcher.Close(ctx)
}

// lock acquires the right to replace what is served.
func (h *Host) lock(ctx context.Context) error {
	select {
	case h.reloading <- struct{}{}:
		return nil
	default:
	}
	select {
	case h.reloading <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (h *Host) unlock() { <-h.reloading }

// catalog returns what is offered at present.
func (h *Host) catalog() *catalog.Catalog { return h.dispatcher.Catalog() }

// RunChild must be the first call in the main function of a program that opens a Host, and in TestMain of its tests: a
// Host compiles and runs modules in child processes, which run the same executable. In a child process RunChild does the
// work and does not return; in any other process it does nothing.
func RunChild() {
	reexec.Run(map[string]reexec.Main{
		reexec.Worker:   func([]string) int { return child.Main(gateway.CheckResult) },
		reexec.Compiler: code.ChildMain,
	})
}
