package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/bulkhead-mcp/bulkhead/internal/engine/meter"
	"github.com/bulkhead-mcp/bulkhead/internal/visible"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

type hostFunction struct {
	name    string
	params  int // number of parameters, all i32
	results int // number of results, all i32
	call    api.GoModuleFunc
}

// hostFunctions are the imports of ABI 1, specified in docs/abi.md.
var hostFunctions = []hostFunction{
	{abi.ImportInput, 2, 0, withCall(func(c *call, mod api.Module, stack []uint64) {
		c.copyToGuest(mod, stack, abi.ImportInput, c.request, c.hasRequest)
	})},
	{abi.ImportOutput, 2, 0, withCall(func(c *call, mod api.Module, stack []uint64) {
		c.output(c.guestMemory(mod, abi.ImportOutput, stack[0], stack[1]))
	})},
	{abi.ImportHostCall, 2, 1, withCall(func(c *call, mod api.Module, stack []uint64) {
		stack[0] = uint64(c.hostCall(c.guestMemory(mod, abi.ImportHostCall, stack[0], stack[1])))
	})},
	{abi.ImportHostResult, 2, 0, withCall(func(c *call, mod api.Module, stack []uint64) {
		c.copyToGuest(mod, stack, abi.ImportHostResult, c.result, c.hasResult)
	})},
	{abi.ImportLog, 3, 0, withCall(func(c *call, mod api.Module, stack []uint64) {
		c.log(api.DecodeI32(stack[0]), c.guestMemory(mod, abi.ImportLog, stack[1], stack[2]))
	})},
}

// withCall passes the current call to a host function, and aborts the call if its context has ended.
func withCall(f func(c *call, mod api.Module, stack []uint64)) api.GoModuleFunc {
	return func(ctx context.Context, mod api.Module, stack []uint64) {
		c := ctx.Value(callKey{}).(*call)
		c.instance.bindCounters(mod)
		c.checkContext()
		f(c, mod, stack)
	}
}

// instantiateImports instantiates the modules that guests import: WASI, the ABI and the meter.
func instantiateImports(ctx context.Context, runtime wazero.Runtime) error {
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, runtime); err != nil {
		return fmt.Errorf("WASI cannot be instantiated: %w", err)
	}
	builder := runtime.NewHostModuleBuilder(abi.ImportModule)
	for _, f := range hostFunctions {
		builder = builder.NewFunctionBuilder().
			WithGoModuleFunction(f.call, i32s(f.params), i32s(f.results)).
			Export(f.name)
	}
	if _, err := builder.Instantiate(ctx); err != nil {
		return fmt.Errorf("the host functions cannot be instantiated: %w", err)
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

func i32s(n int) []api.ValueType { return slices.Repeat([]api.ValueType{api.ValueTypeI32}, n) }

// checkABI checks the imports and exports of a module. Its error lists every violation of ABI 1.
func checkABI(compiled wazero.CompiledModule) error {
	var violations []string
	exports := compiled.ExportedFunctions()
	for _, want := range []struct {
		name     string
		params   int
		optional bool
	}{{abi.ExportMarker, 0, false}, {abi.ExportCall, 1, false}, {abi.ExportInitialize, 0, true}, {abi.ExportDerive, 2, true}} {
		f, ok := exports[want.name]
		if !ok && want.optional {
			continue
		}
		if !ok {
			violations = append(violations, fmt.Sprintf("it does not export the function %s", want.name))
		} else if !slices.Equal(f.ParamTypes(), i32s(want.params)) || len(f.ResultTypes()) != 0 {
			violations = append(violations, fmt.Sprintf("its export %s does not have the signature %s", want.name, signature(want.params, 0)))
		}
	}
	if _, ok := compiled.ExportedMemories()[abi.ExportMemory]; !ok {
		violations = append(violations, "it does not export its memory as "+abi.ExportMemory)
	}
	for _, f := range compiled.ImportedFunctions() {
		if violation := checkImport(f); violation != "" {
			violations = append(violations, violation)
		}
	}
	if len(compiled.ImportedMemories()) > 0 {
		violations = append(violations, "it imports a memory; it must define its own")
	}
	if len(violations) > 0 {
		return fmt.Errorf("it does not implement ABI 1: %s", strings.Join(violations, "; "))
	}
	return nil
}

func checkImport(f api.FunctionDefinition) string {
	module, name, _ := f.Import()
	switch module {
	case wasi_snapshot_preview1.ModuleName:
		return "" // wazero reports unknown WASI functions when it instantiates the module
	case meter.ImportModule:
		return "" // meter.Rewrite adds these imports, and refuses a module that has such imports of its own
	case abi.ImportModule:
		for _, have := range hostFunctions {
			if have.name != name {
				continue
			}
			if slices.Equal(f.ParamTypes(), i32s(have.params)) && slices.Equal(f.ResultTypes(), i32s(have.results)) {
				return ""
			}
			return fmt.Sprintf("its import %s.%s does not have the signature %s", module, name, signature(have.params, have.results))
		}
	}
	return fmt.Sprintf("it imports %q.%q, which the host does not provide", visible.Bounded(module, 60), visible.Bounded(name, 60))
}

func signature(params, results int) string {
	text := "(" + strings.TrimSuffix(strings.Repeat("i32, ", params), ", ") + ")"
	if results > 0 {
		text += " -> i32"
	}
	return text
}
