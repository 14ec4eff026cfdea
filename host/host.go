// Package host is Bulkhead as a library: it finds plugins, decides what each is granted, and offers their tools as one MCP
// server. Open reads manifests and decides; Host.Serve speaks MCP over a pair of streams, and Host.Call makes one call the
// same way; Close releases the Host.
//
// A program that opens a Host must call RunChild first in main, and first in TestMain of its tests: modules are compiled and
// run in processes of their own, which run the same executable. Open fails without it. Build the program with
// CGO_ENABLED=0, else those processes cannot be confined in every way.
//
// Opening loads no module: a plugin's module is compiled when it is first called, or in the background while serving. An
// invalid plugin does not keep the others from being offered; Host.Plugins says what is wrong with it.
//
// # Stability
//
// Before version 1.0 a minor version may change this API; CHANGELOG.md then says what to do, and api/host.txt lists the
// exported names, with the fields and methods of those that are aliases.
package host

import (
	"context"

	"github.com/bulkhead-mcp/bulkhead/internal/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/dispatch"
	"github.com/bulkhead-mcp/bulkhead/internal/engine/code"
	"github.com/bulkhead-mcp/bulkhead/internal/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/reexec"
	"github.com/bulkhead-mcp/bulkhead/internal/worker/child"
)

type (
	// Options say what to open. The zero value does what `bulkhead serve` does without flags.
	Options = discovery.Options
	// System is what the host takes from its environment.
	System = discovery.System
	// UsageError is an error that the caller can correct: an invalid option, an invalid config, or no plugin where
	// one was named.
	UsageError = discovery.UsageError
	// UntrustedError says that the host found a config, or a directory of plugins, that nobody named and the user
	// does not trust. Open returns it in a *UsageError.
	UntrustedError = discovery.UntrustedError
)

// Host is a set of plugins and what each is granted. It is safe for concurrent use.
type Host struct {
	catalog    *catalog.Catalog
	dispatcher *dispatch.Dispatcher
	gateway    *gateway.Gateway
}

// Open finds plugins and decides what each is granted. The error is a *UsageError if the caller can correct it.
func Open(o Options) (*Host, error) {
	found, err := discovery.Find(o)
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
	if found.Places.NoState != "" {
		log.Error("no plugin gets a state folder", "reason", found.Places.NoState)
	}
	offered, err := catalog.New(found)
	if err != nil {
		return nil, err
	}
	h := &Host{catalog: offered, dispatcher: dispatch.New(offered)}
	if h.gateway, err = offered.NewServer(h.dispatcher); err != nil {
		return nil, err
	}
	offered.WarnOfUnusedEnv()
	if err := h.dispatcher.Open(); err != nil {
		return nil, err
	}
	return h, nil
}

// Close ends what runs in the background and releases the modules. Calls must have ended. Close waits until ctx ends at
// most; the error names what had not ended by then, which then ends with the process.
func (h *Host) Close(ctx context.Context) error { return h.dispatcher.Close(ctx) }

// RunChild must be the first call in the main function of a program that opens a Host, and in TestMain of its tests: a Host
// compiles and runs modules in processes of their own, which run the same executable. In such a process RunChild does the
// work and does not return. Otherwise it does nothing.
func RunChild() {
	reexec.Run(map[string]reexec.Main{
		reexec.Worker:   func([]string) int { return child.Main(gateway.CheckResult) },
		reexec.Compiler: code.ChildMain,
	})
}
