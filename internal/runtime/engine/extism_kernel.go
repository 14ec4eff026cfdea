package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"math"

	"github.com/hashicorp/go-hclog"
	"github.com/tetratelabs/wazero/api"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/extism"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// extismFunction is a host function. u8 parameters and results are i32 in WebAssembly.
type extismFunction struct {
	name            string
	params, results []api.ValueType
	call            api.GoModuleFunc
}

var extismModules = []struct {
	name      string
	functions []extismFunction
}{
	{extism.KernelModule, kernelFunctions},
	{extism.UserModule, userFunctions()},
}

var (
	none   []api.ValueType
	i32    = []api.ValueType{api.ValueTypeI32}
	i64    = []api.ValueType{api.ValueTypeI64}
	twoI64 = []api.ValueType{api.ValueTypeI64, api.ValueTypeI64}
	i64i32 = []api.ValueType{api.ValueTypeI64, api.ValueTypeI32}
)

// extismWork is the fuel charged for each function of the kernel that does more than load or store a value, such as allocating a block.
const extismWork = 500

// withKernel passes the call and the kernel's memory to a host function.
func withKernel(f func(c *execution, k *kernelMemory, stack []uint64)) api.GoModuleFunc {
	return withCall(func(c *execution, _ api.Module, stack []uint64) {
		c.chargeFuel(extismWork)
		if c.extism == nil { // the module's start function or initialization runs
			c.extism = &extismCall{}
		}
		f(c, &c.instance.kernel, stack)
	})
}

// withBytes is withKernel for functions that load or store a value. A module calls such a function for every eight bytes, so the call
// must be cheap: only the meter charges for it, and only the meter checks the context.
func withBytes(f func(c *execution, k *kernelMemory, stack []uint64)) api.GoModuleFunc {
	return func(ctx context.Context, mod api.Module, stack []uint64) {
		c := ctx.Value(executionKey{}).(*execution)
		c.instance.bindCounters(mod)
		f(c, &c.instance.kernel, stack)
	}
}

// kernelFunctions are the functions of extism:host/env. A function that takes a key, value, log message or web request frees its block,
// as the original kernel does.
var kernelFunctions = []extismFunction{
	{"input_length", none, i64, withKernel(func(c *execution, _ *kernelMemory, stack []uint64) { stack[0] = uint64(len(c.request)) })},
	{"input_load_u8", i64, i32, withBytes(func(c *execution, _ *kernelMemory, stack []uint64) {
		offset := stack[0]
		stack[0] = 0
		if offset < uint64(len(c.request)) {
			stack[0] = uint64(c.request[offset])
		}
	})},
	{"input_load_u64", i64, i64, withBytes(func(c *execution, _ *kernelMemory, stack []uint64) {
		offset := stack[0]
		stack[0] = 0
		if size := uint64(len(c.request)); size >= 8 && offset <= size-8 {
			stack[0] = little(c.request[offset:])
		}
	})},
	{"length", i64, i64, withKernel(func(_ *execution, k *kernelMemory, stack []uint64) { stack[0] = k.length(stack[0]) })},
	{"length_unsafe", i64, i64, withKernel(func(_ *execution, k *kernelMemory, stack []uint64) { stack[0] = k.length(stack[0]) })},
	{"alloc", i64, i64, withKernel(func(c *execution, k *kernelMemory, stack []uint64) { stack[0] = k.alloc(c, stack[0]) })},
	{"free", i64, none, withKernel(func(c *execution, k *kernelMemory, stack []uint64) { k.release(c, stack[0]) })},
	{"load_u8", i64, i32, withBytes(func(_ *execution, k *kernelMemory, stack []uint64) {
		view := k.view(stack[0], 1)
		stack[0] = 0
		if view != nil {
			stack[0] = uint64(view[0])
		}
	})},
	{"load_u64", i64, i64, withBytes(func(_ *execution, k *kernelMemory, stack []uint64) { stack[0] = k.load64(stack[0]) })},
	{"store_u8", i64i32, none, withBytes(func(_ *execution, k *kernelMemory, stack []uint64) {
		if view := k.view(stack[0], 1); view != nil {
			view[0] = byte(stack[1])
		}
	})},
	{"store_u64", twoI64, none, withBytes(func(_ *execution, k *kernelMemory, stack []uint64) { k.store64(stack[0], stack[1]) })},
	{"output_set", twoI64, none, withKernel((*execution).extismOutput)},
	{"error_set", i64, none, withKernel(func(c *execution, k *kernelMemory, stack []uint64) {
		if stack[0] == 0 || k.length(stack[0]) > 0 {
			c.extism.message = stack[0]
		}
	})},
	{"config_get", i64, i64, withKernel(func(c *execution, k *kernelMemory, stack []uint64) {
		key := c.takeText(k, "config_get", stack[0])
		stack[0] = k.put(c, []byte(c.module.spec.Env[key]))
	})},
	{"var_get", i64, i64, withKernel(func(c *execution, k *kernelMemory, stack []uint64) {
		key := c.takeText(k, "var_get", stack[0])
		stack[0] = k.put(c, c.extism.vars[key])
	})},
	{"var_set", twoI64, none, withKernel((*execution).setVariable)},
	{"http_request", twoI64, i64, withKernel((*execution).extismFetch)},
	{"http_status_code", none, i32, withKernel(func(c *execution, _ *kernelMemory, stack []uint64) { stack[0] = uint64(uint32(c.extism.web.Status)) })},
	{"http_headers", none, i64, withKernel(func(c *execution, k *kernelMemory, stack []uint64) { stack[0] = k.put(c, c.extism.web.Headers) })},
	extismLog("log_trace", hclog.Trace),
	extismLog("log_debug", hclog.Debug),
	extismLog("log_info", hclog.Info),
	extismLog("log_warn", hclog.Warn),
	extismLog("log_error", hclog.Error),
	{"get_log_level", none, i32, withKernel(func(c *execution, _ *kernelMemory, stack []uint64) {
		stack[0] = uint64(uint32(extismLevel(c.module.spec.Log.GetLevel())))
	})},
}

func little(b []byte) uint64 {
	var v uint64
	for i := range 8 {
		v |= uint64(b[i]) << (8 * i)
	}
	return v
}

func extismLog(name string, level hclog.Level) extismFunction {
	return extismFunction{name, i64, none, withKernel(func(c *execution, k *kernelMemory, stack []uint64) {
		c.log(int32(level), c.peek(k, name, stack[0]))
		k.release(c, stack[0])
	})}
}

// extismLevel returns the lowest level that is logged, as Extism numbers levels from 0 (trace) to 4 (error).
func extismLevel(level hclog.Level) int32 {
	switch {
	case level >= hclog.Off:
		return math.MaxInt32
	case level < hclog.Trace:
		return 2
	}
	return int32(level - hclog.Trace)
}

// peek returns the content of a block, which is valid until the next allocation. An address at which no block begins aborts the
// call, except for 0, which is an empty block.
func (c *execution) peek(k *kernelMemory, function string, address uint64) []byte {
	content := k.block(address)
	if content == nil && address != 0 {
		c.abort(c.module.errorf(CodeMisuse, nil, "violated the ABI of Extism: %s was called with the address %d, where no block begins", function, address))
	}
	c.charge(len(content))
	return content
}

// takeText frees a block and returns its content, a key, as a string.
func (c *execution) takeText(k *kernelMemory, function string, address uint64) string {
	c.boundInput(function, k.length(address), maxVariables)
	text := string(c.peek(k, function, address))
	k.release(c, address)
	return text
}

// take frees a block and returns a copy of its content; nil for the address 0.
func (c *execution) take(k *kernelMemory, function string, address uint64) []byte {
	if address == 0 {
		return nil
	}
	content := cloneChunked(c.peek(k, function, address))
	k.release(c, address)
	return content
}

// extismOutput sets the output, which is read when the export has returned. A range that is not in the memory is ignored.
func (c *execution) extismOutput(k *kernelMemory, stack []uint64) {
	output := span{stack[0], stack[1]}
	if output.size > 0 && k.view(output.start, output.size) == nil {
		return
	}
	if output.size > uint64(c.module.spec.Output) {
		c.abort(c.module.responseTooLarge(int(output.size)))
	}
	c.charge(int(output.size))
	c.extism.output = output
}

// maxVariables bounds the variables of a call, in bytes, as the default of Extism does. Each variable counts with its key, its value and
// variableCost.
const (
	maxVariables = 1 << 20
	variableCost = 48
)

// setVariable sets a variable, or removes it if the address of its value is 0.
func (c *execution) setVariable(k *kernelMemory, stack []uint64) {
	e := c.extism
	tooLarge := func() {
		c.abort(c.module.errorf(CodeMemory, nil, "set variables of more than %d bytes", maxVariables))
	}
	if k.length(stack[1]) > maxVariables { // a copy would not count towards the memory limit
		tooLarge()
	}
	value := c.take(k, "var_set", stack[1])
	key := c.takeText(k, "var_set", stack[0])
	if old, ok := e.vars[key]; ok {
		e.varBytes -= len(key) + len(old) + variableCost
		delete(e.vars, key)
	}
	if stack[1] == 0 {
		return
	}
	if e.varBytes += len(key) + len(value) + variableCost; e.varBytes > maxVariables {
		tooLarge()
	}
	if e.vars == nil {
		e.vars = map[string][]byte{}
	}
	e.vars[key] = value
}

// maxWebRequest bounds a web request and its body, in bytes: in base64 it is still below maxOperation.
const maxWebRequest = 23 << 20

// extismFetch makes a web request. If it is refused or fails, the call ends with an error, as in Extism.
func (c *execution) extismFetch(k *kernelMemory, stack []uint64) {
	e := c.extism
	e.web = extism.WebResponse{}
	c.boundInput("http_request", k.length(stack[0])+k.length(stack[1]), maxWebRequest)
	request := c.take(k, "http_request", stack[0])
	operation, err := extism.EncodeRequest(request, c.take(k, "http_request", stack[1]))
	if err == nil {
		c.hostCall(operation)
		e.web, err = extism.DecodeResponse(c.result)
		c.result, c.hasResult = nil, false
	}
	if err != nil {
		c.fail("http_request: " + err.Error())
	}
	stack[0] = k.put(c, e.web.Body)
	e.web.Body = nil
}

// maxUserInput bounds the input of a function of extism:host/user, in bytes. abi.MaxAskBytes bounds what reaches a client.
const maxUserInput = 4 << 20

// boundInput aborts the call if the input of a function is too large: converting it takes a multiple of its size in memory.
func (c *execution) boundInput(function string, size, limit uint64) {
	if size > limit {
		c.abort(c.module.errorf(CodeMisuse, nil, "violated the ABI: %s was called with %d bytes, and the limit is %d", function, size, limit))
	}
}

// fail ends the call with an error of the plugin.
func (c *execution) fail(message string) {
	if c.extism.request == nil {
		c.abort(c.module.errorf(CodeMisuse, nil, "failed in its initialization: %s", message))
	}
	c.end(c.extism.request.Response(-1, nil, []byte(message)))
}

// userFunctions returns the functions of extism:host/user.
func userFunctions() []extismFunction {
	var functions []extismFunction
	for _, f := range extism.UserFunctions {
		have := extismFunction{name: f.Name}
		if f.Input {
			have.params = i64
		}
		if f.Value {
			have.results = i64
		}
		have.call = withKernel(func(c *execution, k *kernelMemory, stack []uint64) {
			var input []byte
			if f.Input {
				c.boundInput(f.Name, k.length(stack[0]), maxUserInput)
				input = cloneChunked(c.peek(k, f.Name, stack[0]))
			}
			value := c.performUser(k, f.Name, input)
			if f.Value {
				stack[0] = value
			}
		})
		functions = append(functions, have)
	}
	return functions
}

// performUser performs a function of extism:host/user, and returns the address of its value.
func (c *execution) performUser(k *kernelMemory, function string, input []byte) uint64 {
	if c.extism.request == nil {
		c.abort(c.module.errorf(CodeMisuse, nil, "violated the ABI: %s was called outside a request", function))
	}
	c.charge(len(input) * chargePerByte) // parsing and hashing take longer than copying does
	reply := c.extism.request.Host(function, input)
	switch {
	case reply.Problem != "":
		c.fail(reply.Problem)
	case reply.Response != nil:
		c.end(reply.Response)
	case reply.Operation != nil:
		c.hostCall(reply.Operation)
		if why := refused(c.result); why != "" {
			c.log(int32(hclog.Warn), []byte(function+": "+why))
		}
		c.result, c.hasResult = nil, false
	}
	if reply.Note != "" {
		c.log(int32(hclog.Warn), []byte(reply.Note))
	}
	return k.put(c, reply.Output)
}

// refused returns the error of a host operation; empty if it succeeded.
func refused(response []byte) string {
	if !bytes.HasPrefix(response, []byte(`{"error"`)) {
		return ""
	}
	var r abi.HostResponse
	if err := json.Unmarshal(response, &r); err != nil || r.Error == nil {
		return "the host's response is invalid"
	}
	return r.Error.Error()
}
