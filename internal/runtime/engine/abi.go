package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

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
	{abi.ImportInput, 2, 0, withCall(func(c *execution, mod api.Module, stack []uint64) {
		c.copyToGuest(mod, stack, abi.ImportInput, c.request, c.hasRequest)
	})},
	{abi.ImportOutput, 2, 0, withCall(func(c *execution, mod api.Module, stack []uint64) {
		c.output(c.guestMemory(mod, abi.ImportOutput, stack[0], stack[1]))
	})},
	{abi.ImportHostCall, 2, 1, withCall(func(c *execution, mod api.Module, stack []uint64) {
		stack[0] = uint64(c.hostCall(c.guestMemory(mod, abi.ImportHostCall, stack[0], stack[1])))
	})},
	{abi.ImportHostResult, 2, 0, withCall(func(c *execution, mod api.Module, stack []uint64) {
		c.copyToGuest(mod, stack, abi.ImportHostResult, c.result, c.hasResult)
	})},
	{abi.ImportLog, 3, 0, withCall(func(c *execution, mod api.Module, stack []uint64) {
		c.log(api.DecodeI32(stack[0]), c.guestMemory(mod, abi.ImportLog, stack[1], stack[2]))
	})},
}

// withCall passes the current call to a host function, and aborts the call if its context has ended.
func withCall(f func(c *execution, mod api.Module, stack []uint64)) api.GoModuleFunc {
	return func(ctx context.Context, mod api.Module, stack []uint64) {
		c := ctx.Value(executionKey{}).(*execution)
		c.instance.bindCounters(mod)
		c.checkContext()
		f(c, mod, stack)
	}
}

// abi1 is the kind of modules that implement ABI 1. Requests and responses are abi.Request and abi.Response.
type abi1 struct{}

func (abi1) entry() string { return abi.ExportCall }

func (abi1) hostModules(ctx context.Context, runtime wazero.Runtime) error {
	if err := instantiateWASI(ctx, runtime); err != nil {
		return err
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
	return nil
}

func (abi1) configure(_ *instance, config wazero.ModuleConfig) wazero.ModuleConfig { return config }

func (abi1) reusable() bool { return true }

// initialize runs _initialize, if there is one.
func (abi1) initialize(ctx context.Context, i *instance) *Error {
	f := i.module.ExportedFunction(abi.ExportInitialize)
	if f == nil {
		return nil
	}
	c := newExecution(ctx, i.owner, i)
	if err := i.invoke(c, f); err != nil {
		return i.owner.callError(ctx, err, c, i)
	}
	i.initFuel = c.fuelUsed()
	return nil
}

// warm calls bulkhead/describe. A Go module lazily initializes its runtime and its handler tables in the first call, so the
// snapshot then contains them.
func (abi1) warm(ctx context.Context, i *instance) *Error {
	c := newExecution(ctx, i.owner, i)
	c.request, c.hasRequest, c.describing = []byte(`{"method":"`+abi.MethodDescribe+`"}`), true, true
	_, failure := i.answer(c, uint64(len(c.request)))
	c.uncover()
	return failure
}

func (abi1) handle(c *execution, r Prepared) (Held, *Error) {
	c.request, c.hasRequest = envelope(c.ctx, r.Request), true
	return c.instance.answer(c, uint64(len(c.request)))
}

// answer runs the instance's entry, which has to respond by output.
func (i *instance) answer(c *execution, parameters ...uint64) (Held, *Error) {
	response, failure := i.respond(c, i.entry, parameters...)
	if failure != nil {
		return response, failure
	}
	if !c.hasResponse {
		response.execution = nil // the caller closes the instance
		return response, i.owner.errorf(CodeNoResponse, nil, "returned without a response")
	}
	response.Body = c.response
	return response, nil
}

func i32s(n int) []api.ValueType { return slices.Repeat([]api.ValueType{api.ValueTypeI32}, n) }

// check implements kind.
func (abi1) check(compiled wazero.CompiledModule) error {
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
	if exports[abi.ExportMarker] == nil && exports[exportStart] != nil {
		violations = append(violations, "it exports "+exportStart+", as a program for WASI does")
	}
	violations = append(violations, checkMemory(compiled)...)
	for _, f := range compiled.ImportedFunctions() {
		if violation := checkImport(f); violation != "" {
			violations = append(violations, violation)
		}
	}
	if len(violations) > 0 {
		return fmt.Errorf("it does not implement ABI 1: %s", strings.Join(violations, "; "))
	}
	return nil
}

func checkImport(f api.FunctionDefinition) string {
	module, name, _ := f.Import()
	if provided(module) {
		return ""
	}
	for _, have := range hostFunctions {
		if module != abi.ImportModule || have.name != name {
			continue
		}
		if slices.Equal(f.ParamTypes(), i32s(have.params)) && slices.Equal(f.ResultTypes(), i32s(have.results)) {
			return ""
		}
		return fmt.Sprintf("its import %s.%s does not have the signature %s", module, name, signature(have.params, have.results))
	}
	return notProvided(f)
}

func signature(params, results int) string {
	text := "(" + strings.TrimSuffix(strings.Repeat("i32, ", params), ", ") + ")"
	if results > 0 {
		text += " -> i32"
	}
	return text
}
