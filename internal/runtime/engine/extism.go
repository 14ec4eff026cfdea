package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/extism"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Extism is the kind of modules that are plugins of the MCP host hyper-mcp. Each request has a Prepared.Extism.
const Extism Kind = "extism"

// extismKind runs an export without parameters. The module reads its input, and sets its output and an error message, by the functions
// of the Extism kernel (see kernelFunctions). These exchange data in blocks of the kernel's memory (see kernelMemory).
type extismKind struct{}

func (extismKind) entry() string { return "" }

// extismInitializers are the exports by which Extism initializes a module. Only the first one that a module has is called.
var extismInitializers = []string{"__wasm_call_ctors", abi.ExportInitialize}

// check implements kind.
func (extismKind) check(compiled wazero.CompiledModule) error {
	exports := compiled.ExportedFunctions()
	var violations []string
	version, err := extism.Detect(func(name string) bool { return exports[name] != nil })
	if err != nil {
		violations = append(violations, err.Error())
	} else {
		for _, name := range version.Exports() {
			if f := exports[name]; f != nil && !isExtismExport(f) {
				violations = append(violations, fmt.Sprintf("its export %s has parameters, or a result that is not an i32", name))
			}
		}
	}
	violations = append(violations, checkMemory(compiled)...)
	for _, f := range compiled.ImportedFunctions() {
		if violation := checkExtismImport(f); violation != "" {
			violations = append(violations, violation)
		}
	}
	if len(violations) > 0 {
		return fmt.Errorf("it is not a plugin of hyper-mcp that can run here: %s", strings.Join(violations, "; "))
	}
	return nil
}

func isExtismExport(f api.FunctionDefinition) bool {
	return len(f.ParamTypes()) == 0 && (len(f.ResultTypes()) == 0 || slices.Equal(f.ResultTypes(), i32s(1)))
}

func checkExtismImport(f api.FunctionDefinition) string {
	module, name, _ := f.Import()
	if provided(module) {
		return ""
	}
	for _, m := range extismModules {
		for _, have := range m.functions {
			if m.name != module || have.name != name {
				continue
			}
			if slices.Equal(f.ParamTypes(), have.params) && slices.Equal(f.ResultTypes(), have.results) {
				return ""
			}
			return fmt.Sprintf("its import %s.%s does not have the signature that Extism defines", module, name)
		}
	}
	return notProvided(f)
}

func (extismKind) hostModules(ctx context.Context, runtime wazero.Runtime) error {
	if err := instantiateWASI(ctx, runtime); err != nil {
		return err
	}
	for _, m := range extismModules {
		builder := runtime.NewHostModuleBuilder(m.name)
		for _, f := range m.functions {
			builder = builder.NewFunctionBuilder().WithGoModuleFunction(f.call, f.params, f.results).Export(f.name)
		}
		if _, err := builder.Instantiate(ctx); err != nil {
			return fmt.Errorf("the host functions of %s cannot be instantiated: %w", m.name, err)
		}
	}
	return nil
}

func (extismKind) configure(_ *instance, config wazero.ModuleConfig) wazero.ModuleConfig {
	return config
}

func (extismKind) reusable() bool { return true }

func (extismKind) initialize(ctx context.Context, i *instance) *Error {
	for _, name := range extismInitializers {
		f := i.module.ExportedFunction(name)
		if f == nil || len(f.Definition().ParamTypes())+len(f.Definition().ResultTypes()) > 0 {
			continue
		}
		c := newExecution(ctx, i.owner, i)
		defer i.kernel.reset()
		if err := i.invoke(c, f); err != nil {
			return i.owner.callError(ctx, err, c, i)
		}
		i.initFuel = c.fuelUsed()
		return nil
	}
	return nil
}

// warm makes no call: in it the plugin would have neither configuration nor host operations, and the snapshot would pass what the plugin
// stores during the call to all later calls.
func (extismKind) warm(context.Context, *instance) *Error { return nil }

// maxExtismError bounds the error message of a plugin, in bytes.
const maxExtismError = 64 << 10

func (extismKind) handle(c *execution, r Prepared) (Held, *Error) {
	i, m := c.instance, c.module
	if r.Extism == nil || i.function(r.Extism.Export) == nil {
		return Held{}, m.errorf(CodeInternal, errors.New("no export"), "hit an internal error of the host: please report it")
	}
	c.extism, c.request, c.hasRequest = &extismCall{request: r.Extism}, r.Extism.Input, true
	defer i.kernel.reset()
	f := i.function(r.Extism.Export)
	response, failure := i.respond(c, f)
	if c.extism.ended != nil { // the host has unwound the module's stack, so the instance must not run another call
		i.spent = true
		return bounded(c, c.held(c.extism.ended))
	}
	if failure != nil {
		return response, failure
	}
	code := int32(c.returned)
	if len(f.Definition().ResultTypes()) == 0 {
		code = 0
	}
	message := i.kernel.block(c.extism.message)
	message = message[:min(len(message), maxExtismError)]
	output := i.kernel.view(c.extism.output.start, c.extism.output.size)
	if failure := c.tryCover(&c.covered.output, len(output)); failure != nil {
		return Held{Result: call.Result{Fuel: response.Fuel}}, failure
	}
	response.Body = r.Extism.Response(code, cloneChunked(output), slices.Clone(message))
	return bounded(c, response)
}

// bounded returns an error for a response that exceeds Spec.Output. The response to an output within the limit can: the conversion adds
// to it. The host would end the worker for it.
func bounded(c *execution, response Held) (Held, *Error) {
	if int64(len(response.Body)) > c.module.spec.Output {
		return Held{Result: call.Result{Fuel: response.Fuel}}, c.module.responseTooLarge(len(response.Body))
	}
	return response, nil
}

// function returns an exported function; nil if there is none. It caches functions, because each lookup in wazero allocates a stack.
func (i *instance) function(name string) api.Function {
	if i.functions == nil {
		i.functions = map[string]api.Function{}
	}
	if i.functions[name] == nil {
		i.functions[name] = i.module.ExportedFunction(name)
	}
	return i.functions[name]
}

// extismCall is the state of the kernel in one call, besides its memory.
type extismCall struct {
	request  *extism.Translation // nil outside of a request
	output   span
	message  uint64 // address of the error message; 0: none
	vars     map[string][]byte
	varBytes int
	web      extism.WebResponse // response to the last web request
	ended    []byte             // the response with which a host function ended the call
}

// errExtismEnded is the panic by which a host function unwinds a module whose call it ends.
var errExtismEnded = errors.New("the call has ended")

// end ends the call with a response of ABI 1.
func (c *execution) end(response []byte) {
	c.extism.ended = response
	panic(errExtismEnded)
}
