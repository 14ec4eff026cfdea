package engine

import (
	"context"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/bulkhead-mcp/bulkhead/internal/engine/meter"
	"github.com/bulkhead-mcp/bulkhead/internal/visible"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Kind is a kind of modules. Its values are those of module.kind in a manifest. The zero value means ABI1.
type Kind string

// The kinds of modules.
const (
	ABI1    Kind = "abi-1"   // the module implements ABI 1
	Command Kind = "command" // the module is a program for WASI preview 1
)

// kinds are the kinds of modules that this engine runs.
var kinds = map[Kind]kind{ABI1: abi1{}, Command: command{}, Extism: extismKind{}}

// kind is what differs between the kinds of modules: how a request becomes a run of an export. All else is common, and none of it
// may depend on the kind: compiling, metering, limits, the file tree, the environment, pooling and restoring of instances.
//
// All modules of a process share an implementation, so it has no state: what belongs to a call is in call, and is gone when the call
// ends; what belongs to an instance is in instance, and has to be restored with it (see snapshot) unless it is constant. A host
// function gets its call by withCall, which also ends a call whose time is over. It treats all values of the module as hostile:
// memory is read by call.guestMemory, work is paid by call.charge, and what the host keeps for a call is bounded.
type kind interface {
	// entry returns the export that a request runs, which is instance.entry. It is empty if that depends on the request.
	entry() string
	// check returns an error that lists every violation of the kind's imports and exports, those of checkMemory included. A
	// module that has passed check can be instantiated after hostModules.
	check(compiled wazero.CompiledModule) error
	// hostModules instantiates the host modules that modules of the kind import, WASI included, but not the meter's.
	hostModules(ctx context.Context, runtime wazero.Runtime) error
	// configure completes the configuration of WASI for a new instance.
	configure(i *instance, config wazero.ModuleConfig) wazero.ModuleConfig
	// reusable reports whether Spec.Reused applies: whether an instance can run a second request without being restored.
	reusable() bool
	// initialize prepares a new instance for its first call, unless the instance is restored from a snapshot instead.
	initialize(ctx context.Context, i *instance) *Error
	// warm makes the call that precedes the snapshot, so that later calls find what a module sets up once. If it fails,
	// the module has no snapshot, and each of its calls has a new instance.
	warm(ctx context.Context, i *instance) *Error
	// run runs one request by instance.respond, which has c's context, limits and counters apply to the run. After an error the
	// instance is closed; otherwise it is restored when the Response is released, which must therefore come from respond.
	run(c *call, r Request) (Response, *Error)
}

// kindOf returns the implementation of a kind.
func kindOf(k Kind) (kind, error) {
	if k == "" {
		k = ABI1
	}
	if found, ok := kinds[k]; ok {
		return found, nil
	}
	return nil, fmt.Errorf("the kind %q is unknown", visible.Bounded(string(k), 60))
}

// instantiateImports instantiates the modules that guests of a kind import, and the meter's.
func instantiateImports(ctx context.Context, runtime wazero.Runtime, k kind) error {
	if err := k.hostModules(ctx, runtime); err != nil {
		return err
	}
	yield := withCall(func(c *call, _ api.Module, _ []uint64) { c.yield() })
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

// checkMemory returns the violations, which all kinds have in common, of what a module exports and imports as its memory.
func checkMemory(compiled wazero.CompiledModule) (violations []string) {
	if _, ok := compiled.ExportedMemories()[abi.ExportMemory]; !ok {
		violations = append(violations, "it does not export its memory as "+abi.ExportMemory)
	}
	if len(compiled.ImportedMemories()) > 0 {
		violations = append(violations, "it imports a memory; it must define its own")
	}
	return violations
}

// provided reports whether the host module is one that all modules may import from: WASI, whose unknown functions wazero reports
// when it instantiates the module, and the meter, whose imports are those of meter.Rewrite, which refuses all others.
func provided(module string) bool {
	return module == wasi_snapshot_preview1.ModuleName || module == meter.ImportModule
}

// notProvided is the violation of a module that imports a function that the host does not have.
func notProvided(f api.FunctionDefinition) string {
	module, name, _ := f.Import()
	return fmt.Sprintf("it imports %q.%q, which the host does not provide", visible.Bounded(module, 60), visible.Bounded(name, 60))
}
