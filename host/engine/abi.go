package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/bulkhead-mcp/bulkhead/host/engine/meter"
	"github.com/bulkhead-mcp/bulkhead/host/visible"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

type hostFunction struct {
	name    string
	params  int // all of them i32
	results int // likewise
	call    api.GoModuleFunc
}

// hostFunctions are the imports of ABI 1; docs/abi.md says what each does.
var hostFunctions = []hostFunction{
	{abi.ImportInput, 2, 0, guarded(func(c *call, mod api.Module, stack []uint64) {
		c.copyOut(mod, stack, abi.ImportInput, c.request, c.hasRequest)
	})},
	{abi.ImportOutput, 2, 0, guarded(func(c *call, mod api.Module, stack []uint64) {
		c.output(c.view(mod, abi.ImportOutput, stack[0], stack[1]))
	})},
	{abi.ImportHostCall, 2, 1, guarded(func(c *call, mod api.Module, stack []uint64) {
		stack[0] = uint64(c.operate(c.view(mod, abi.ImportHostCall, stack[0], stack[1])))
	})},
	{abi.ImportHostResult, 2, 0, guarded(func(c *call, mod api.Module, stack []uint64) {
		c.copyOut(mod, stack, abi.ImportHostResult, c.result, c.hasResult)
	})},
	{abi.ImportLog, 3, 0, guarded(func(c *call, mod api.Module, stack []uint64) {
		c.log(api.DecodeI32(stack[0]), c.view(mod, abi.ImportLog, stack[1], stack[2]))
	})},
}

// guarded finds the call that a host function belongs to, and ends it if its time is over.
func guarded(f func(c *call, mod api.Module, stack []uint64)) api.GoModuleFunc {
	return func(ctx context.Context, mod api.Module, stack []uint64) {
		c := ctx.Value(callKey{}).(*call)
		c.instance.meet(mod)
		c.checkTime()
		f(c, mod, stack)
	}
}

// instantiateImports gives a runtime what modules import.
func instantiateImports(ctx context.Context, runtime wazero.Runtime) error {
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, runtime); err != nil {
		return fmt.Errorf("WASI: %w", err)
	}
	builder := runtime.NewHostModuleBuilder(abi.ImportModule)
	for _, f := range hostFunctions {
		builder = builder.NewFunctionBuilder().
			WithGoModuleFunction(f.call, i32s(f.params), i32s(f.results)).
			Export(f.name)
	}
	if _, err := builder.Instantiate(ctx); err != nil {
		return fmt.Errorf("host functions: %w", err)
	}
	yield := guarded(func(c *call, _ api.Module, _ []uint64) { c.yield() })
	_, err := runtime.NewHostModuleBuilder(meter.ImportModule).NewFunctionBuilder().
		WithGoModuleFunction(yield, nil, nil).Export(meter.ImportYield).
		Instantiate(ctx)
	if err != nil {
		return fmt.Errorf("host functions: %w", err)
	}
	return nil
}

func i32s(n int) []api.ValueType { return slices.Repeat([]api.ValueType{api.ValueTypeI32}, n) }

// checkABI says everything that keeps a module from speaking ABI 1.
func checkABI(compiled wazero.CompiledModule) error {
	var faults []string
	exports := compiled.ExportedFunctions()
	for _, want := range []struct {
		name     string
		params   int
		optional bool
	}{{abi.ExportMarker, 0, false}, {abi.ExportCall, 1, false}, {abi.ExportInitialize, 0, true}} {
		f, ok := exports[want.name]
		if !ok && want.optional {
			continue
		}
		if !ok {
			faults = append(faults, fmt.Sprintf("it does not export the function %s", want.name))
		} else if !slices.Equal(f.ParamTypes(), i32s(want.params)) || len(f.ResultTypes()) != 0 {
			faults = append(faults, fmt.Sprintf("its export %s is not of the form %s", want.name, signature(want.params, 0)))
		}
	}
	if _, ok := compiled.ExportedMemories()[abi.ExportMemory]; !ok {
		faults = append(faults, "it does not export its memory as "+abi.ExportMemory)
	}
	for _, f := range compiled.ImportedFunctions() {
		if fault := checkImport(f); fault != "" {
			faults = append(faults, fault)
		}
	}
	if len(compiled.ImportedMemories()) > 0 {
		faults = append(faults, "it imports a memory, and must own one")
	}
	if len(faults) > 0 {
		return fmt.Errorf("it does not speak ABI 1: %s", strings.Join(faults, "; "))
	}
	return nil
}

func checkImport(f api.FunctionDefinition) string {
	module, name, _ := f.Import()
	switch module {
	case wasi_snapshot_preview1.ModuleName:
		return "" // what WASI preview 1 lacks, wazero names when it instantiates
	case meter.ImportModule:
		return "" // put there by the rewriting, which refuses a module that has it already
	case abi.ImportModule:
		for _, have := range hostFunctions {
			if have.name != name {
				continue
			}
			if slices.Equal(f.ParamTypes(), i32s(have.params)) && slices.Equal(f.ResultTypes(), i32s(have.results)) {
				return ""
			}
			return fmt.Sprintf("its import %s.%s is not of the form %s", module, name, signature(have.params, have.results))
		}
	}
	return fmt.Sprintf("it imports %q.%q, which the host does not have", visible.Bounded(module, 60), visible.Bounded(name, 60))
}

func signature(params, results int) string {
	text := "(" + strings.TrimSuffix(strings.Repeat("i32, ", params), ", ") + ")"
	if results > 0 {
		text += " -> i32"
	}
	return text
}
