// Package host is Bulkhead as a library. It finds plugins, decides what each is granted, and offers their tools as one MCP server.
// Open reads the manifests and computes the grants, Host.Serve serves a client over a pair of streams, Host.Call makes one call as
// such a client would, and Close releases the Host.
//
// A program that opens a Host must call RunChild first in main, and first in TestMain of its tests. Child processes, which run the
// same executable, compile and run the modules. Without RunChild, Open fails.
//
// Open loads no module: a plugin's module is compiled when the plugin is first called, or in the background while Serve runs. If one
// plugin is invalid, the others are offered nevertheless, and Host.Plugins reports what is wrong with the invalid one.
//
// # Stability
//
// Before version 1.0, a minor version may change this API. CHANGELOG.md then states what callers have to change. api/host.txt lists the
// exported names, including the fields and methods of aliased types.
package host

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/bulkhead-mcp/bulkhead/internal/base/reexec"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/quota"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/tasks"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/dispatch"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/code"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/child"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/writers"
)

type (
	// Development is a plugin that is built again and again while it is served: see Options.
	Development = discovery.Development
	// Options select the plugins, the config and the grants for Open. The zero value has the effect of `bulkhead serve` without flags.
	Options = discovery.Options
	// System contains what the host reads from its environment: variables, standard directories and so on.
	System = discovery.System
	// UsageError is an error that the caller can correct: an invalid option, an invalid config, or the absence of a named plugin.
	UsageError = usage.Error
	// UntrustedError reports that the host found a config, or a directory of plugins, that the user does not trust and that the options
	// do not name. Open returns it in a *UsageError.
	UntrustedError = discovery.UntrustedError
)

// Host is a set of plugins with their grants. It is safe for concurrent use.
type Host struct {
	options    Options // the options of Open with all defaults filled in
	dispatcher *dispatch.Dispatcher
	gateway    *gateway.Gateway
	tasks      *tasks.Store // nil: no call runs as a task

	http served // state of a server that ServeHTTP runs

	observed observed // metrics, live state and traces while it serves

	quotas quota.Book            // what its clients use of their quotas
	views  atomic.Pointer[views] // what its clients are offered; nil before it has started

	ended context.Context // context that Close ends
	end   context.CancelFunc

	reloading chan struct{} // lock of Reload and Close: a channel of capacity 1, which contains an element while one of them runs
	// The lock called reloading guards the following fields.
	claims         *writers.Claims // what an HTTP server claims; nil: nothing
	rejected       []string        // paths whose content decided the last change, if that change was rejected
	rejectedReason string          // the reason for the last rejection, or why Open serves nothing; empty if the last change was applied
}

// Open finds plugins and decides what each is granted. If the caller can correct an error, it is a *UsageError.
func Open(o Options) (*Host, error) {
	found, err := discovery.FindOrExplain(o)
	if err != nil {
		return nil, err
	}
	log, reported := found.Options.Log, ""
	if found.Untrusted != nil {
		if !o.ServeNothing {
			return nil, &UsageError{Err: found.Untrusted}
		}
		log.Error(found.Untrusted.Error())
		reported = reasonOf(found.Untrusted)
	}
	if found.Invalid != nil {
		log.Error("no plugin is served: the config is invalid", "reason", found.Invalid.Error())
		reported = reasonOf(found.Invalid)
	}
	if found.NoPlugins != nil && o.Development == nil { // package dev reports why the plugin is not built
		log.Error(found.NoPlugins.Error())
	}
	if found.Places.Narrow != "" {
		log.Warn(found.Places.Narrow)
	}
	if found.Places.NoState != "" {
		log.Error("no plugin gets a state directory", "reason", found.Places.NoState)
	}
	offered := catalog.New(found)
	noteSkills([]*catalog.Catalog{offered}, nil)
	offered.Report()
	h := &Host{options: found.Options, dispatcher: dispatch.New(offered), reloading: make(chan struct{}, 1), rejectedReason: reported}
	h.observed.host = h
	h.ended, h.end = context.WithCancel(context.Background())
	if h.gateway, err = offered.NewServer(h.dispatcher); err != nil {
		return nil, err
	}
	h.tasks = tasks.In(found.Places.State, log.Named("tasks"))
	h.gateway.KeepTasks(h.tasks)
	offered.WarnOfUnusedEnv()
	if err := h.dispatcher.Open(); err != nil {
		return nil, err
	}
	h.keepRevocations(h.ended, found)
	return h, nil
}

// Close stops background work and releases the modules. All calls must have ended. Close waits at most until ctx ends. Its error then
// names what is still running and ends only with the process.
func (h *Host) Close(ctx context.Context) error {
	h.end()
	if err := h.lock(ctx); err != nil {
		return fmt.Errorf("close: gave up waiting for a reload: %w", err)
	}
	defer h.unlock()
	defer h.tasks.Close()
	if err := h.dispatcher.Close(ctx); err != nil {
		return err // what is still running may write
	}
	if h.claims != nil {
		h.claims.Close()
	}
	return nil
}

// lock acquires the lock that Reload and Close hold.
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

// catalog returns the catalog of the plugins that are offered at present.
func (h *Host) catalog() *catalog.Catalog { return h.dispatcher.Catalog() }

// RunChild must be the first call in the main function of a program that opens a Host, and in TestMain of its tests. A Host compiles
// and runs modules in child processes, which run the same executable. In a child process, RunChild does that work and does not
// return. In any other process, RunChild does nothing.
func RunChild() {
	reexec.Run(map[string]reexec.Main{
		reexec.Worker:   func([]string) int { return child.Main() },
		reexec.Compiler: code.ChildMain,
		reexec.Info:     code.InfoMain,
	})
}
