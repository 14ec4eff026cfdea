package engine

import (
	"cmp"
	"context"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Kind is the kind of a module, as module.kind of a manifest names it. The zero value means ABI1.
type Kind string

// The kinds of modules.
const (
	ABI1    Kind = "abi-1"   // the module implements ABI 1
	Command Kind = "command" // the module is a program for WASI preview 1
	Script  Kind = "script"  // the module implements ABI 1, imports nothing else, and may call tools
)

// kinds are the kinds of modules that this engine runs.
var kinds = map[Kind]kind{ABI1: abi1{}, Command: command{}, Extism: extismKind{}, Script: script{}}

// kind is what differs between the kinds of modules: how a request becomes a run of an export. Compiling, metering, limits, the file
// tree, the environment, pooling and restoring of instances must not depend on the kind.
//
// All modules of a process share an implementation, so it has no state. The state of a call is in execution, and that of an instance in
// instance; the latter must be restored with the instance (see snapshot) unless it is constant. A host function gets its call by
// withCall, which also ends a call whose time is over. All values from the module are untrusted: a host function reads memory by
// execution.guestMemory, charges for its work by execution.charge, and bounds what it stores for a call.
type kind interface {
	// entry returns the name of the export that instance.entry holds and a request runs; empty if the export depends on the request.
	entry() string
	// check returns an error that lists every import and export that violates the rules of the kind, those of checkMemory included.
	// A module that passes check can be instantiated after hostModules.
	check(compiled wazero.CompiledModule) error
	// hostModules instantiates the host modules from which modules of the kind import, WASI included, but not that of the meter.
	hostModules(ctx context.Context, runtime wazero.Runtime) error
	// configure completes the configuration of WASI for a new instance.
	configure(i *instance, config wazero.ModuleConfig) wazero.ModuleConfig
	// reusable reports whether Spec.Reused applies: whether an instance can run a second request without being restored.
	reusable() bool
	// initialize prepares a new instance for its first call, unless the instance is restored from a snapshot instead.
	initialize(ctx context.Context, i *instance) *Error
	// warm makes a call before the snapshot is taken, so that the snapshot contains what a module initializes in its first call. If
	// warm fails, the module has no snapshot, and each call gets a new instance.
	warm(ctx context.Context, i *instance) *Error
	// handle runs one request by instance.respond, which applies c's context, limits and counters. After an error the instance is closed.
	// Otherwise it is restored when the Held is released, so the Held must refer to c as those of respond do.
	handle(c *execution, r Prepared) (Held, *Error)
}

// kindOf returns the implementation of a kind.
func kindOf(k Kind) (kind, error) {
	if found, ok := kinds[cmp.Or(k, ABI1)]; ok {
		return found, nil
	}
	return nil, fmt.Errorf("the kind %q is unknown", visible.Bounded(string(k), 60))
}

// instantiateImports instantiates the host modules from which modules of a kind import, and that of the meter.
func instantiateImports(ctx context.Context, runtime wazero.Runtime, k kind) error {
	if err := k.hostModules(ctx, runtime); err != nil {
		return err
	}
	yield := withCall(func(c *execution, _ api.Module, _ []uint64) { c.yield() })
	_, err := runtime.NewHostModuleBuilder(meter.ImportModule).NewFunctionBuilder().
		WithGoModuleFunction(yield, nil, nil).Export(meter.ImportYield).
		Instantiate(ctx)
	if err != nil {
		return fmt.Errorf("the host functions of the meter cannot be instantiated: %w", err)
	}
	return nil
}

// instantiateWASI instantiates WASI preview 1 as wazero implements it.
func instantiateWASI(ctx context.Context, runtime wazero.Runtime) error {
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, runtime); err != nil {
		return fmt.Errorf("WASI cannot be instantiated: %w", err)
	}
	return nil
}

// checkMemory checks a module against the rules for memories, which are the same for all kinds, and returns the violations.
func checkMemory(compiled wazero.CompiledModule) (violations []string) {
	if _, ok := compiled.ExportedMemories()[abi.ExportMemory]; !ok {
		violations = append(violations, "it does not export its memory as "+abi.ExportMemory)
	}
	if len(compiled.ImportedMemories()) > 0 {
		violations = append(violations, "it imports a memory; it must define its own")
	}
	return violations
}

// provided reports whether modules of all kinds may import from a host module: WASI or the meter. wazero reports unknown functions of
// WASI when it instantiates a module. Imports from the meter are those that meter.Rewrite added: it refuses modules that have others.
func provided(module string) bool {
	return module == wasi_snapshot_preview1.ModuleName || module == meter.ImportModule
}

// notProvided returns the violation for the import of a function that the host does not provide.
func notProvided(f api.FunctionDefinition) string {
	module, name, _ := f.Import()
	return fmt.Sprintf("it imports %q.%q, which the host does not provide", visible.Bounded(module, 60), visible.Bounded(name, 60))
}
