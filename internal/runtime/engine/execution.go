package engine

import (
	"bytes"
	"context"
	"errors"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/tetratelabs/wazero/api"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// execution is one run of bulkhead_call, of bulkhead_derive, or of _initialize. A run of _initialize has no request. Runs of
// bulkhead_derive and _initialize may perform no host operations. A host function gets the call from its context. Only
// the goroutine that runs the instance uses the call.
type execution struct {
	ctx      context.Context
	module   *Module
	instance *instance
	busy     func() // see Prepared.Busy

	fuelLimit   int64 // 0: no limit
	fuelGranted int64
	logged      int       // bytes logged
	printed     printed   // by a script
	operations  int       // host operations performed
	yielded     time.Time // time of the last yield to other goroutines

	request     []byte
	hasRequest  bool
	describing  bool // set in the bulkhead/describe call before the snapshot, which may perform no host operations
	response    []byte
	hasResponse bool
	result      []byte // result of the last host operation
	hasResult   bool

	returned uint64      // first result of the export, if it has one
	extism   *extismCall // state of a module of the kind Extism; nil until it is needed
	process  *process    // state of a command; nil outside of a request

	covered covered // has credit

	faults  []error // reported by Caller.Fault
	aborted *Error  // why the host aborted the call; nil if it did not

	released atomic.Bool // set once another call may use the instance
}

type executionKey struct{}

func newExecution(ctx context.Context, m *Module, i *instance) *execution {
	return &execution{ctx: ctx, module: m, instance: i, busy: func() {}, fuelLimit: m.spec.Fuel}
}

// abort stops the module. wazero recovers the panic and returns it as the error of the guest call.
func (c *execution) abort(failure *Error) {
	c.aborted = failure
	panic(failure)
}

// checkContext aborts the call if it has exceeded its time limit or was cancelled.
func (c *execution) checkContext() {
	if failure := c.module.contextError(c.ctx); failure != nil {
		c.abort(failure)
	}
}

// guestMemory returns a view of a range of linear memory, valid until the guest resumes. An invalid range aborts the call.
func (c *execution) guestMemory(mod api.Module, function string, offset, length uint64) []byte {
	view, ok := mod.Memory().Read(uint32(offset), uint32(length))
	if !ok {
		c.abort(c.module.errorf(CodeMisuse, nil, "violated the ABI: %s was called with offset %d and length %d, outside its memory of %d bytes", function, uint32(offset), uint32(length), mod.Memory().Size()))
	}
	return view
}

// copyToGuest copies data into linear memory. The guest must ask for exactly len(data) bytes.
func (c *execution) copyToGuest(mod api.Module, stack []uint64, function string, data []byte, pending bool) {
	if !pending {
		c.abort(c.module.errorf(CodeMisuse, nil, "violated the ABI: %s was called with no data pending", function))
	}
	if int64(uint32(stack[1])) != int64(len(data)) {
		c.abort(c.module.errorf(CodeMisuse, nil, "violated the ABI: %s was called with length %d, want %d", function, uint32(stack[1]), len(data)))
	}
	c.charge(len(data))
	copyChunked(c.guestMemory(mod, function, stack[0], stack[1]), data)
}

func (c *execution) output(response []byte) {
	if !c.hasRequest {
		c.abort(c.module.errorf(CodeMisuse, nil, "violated the ABI: output was called outside a request"))
	}
	if int64(len(response)) > c.module.spec.Output {
		c.abort(c.module.responseTooLarge(len(response)))
	}
	c.charge(len(response))
	c.cover(&c.covered.output, len(response))
	c.response, c.hasResponse = cloneChunked(response), true
}

func (m *Module) responseTooLarge(size int) *Error {
	return m.errorf(CodeOutputSize, nil, "returned a response of %d bytes, and its limit is %d", size, m.spec.Output)
}

// maxFaults bounds the faults that a call records. The first faults are recorded, since later faults are usually
// consequences of them.
const maxFaults = 5

func (c *execution) fault(err error) {
	if len(c.faults) < maxFaults {
		c.faults = append(c.faults, err)
	}
}

// maxOperation bounds the request of a host operation, in bytes.
const maxOperation = 32 << 20

var (
	deniedInInitialize = []byte(`{"error":{"code":"` + abi.HostDenied + `","message":"host operations are not available before the first call"}}`)
	deniedInDerivation = []byte(`{"error":{"code":"` + abi.HostDenied + `","message":"host operations are not available to a derive function"}}`)
	noOperations       = []byte(`{"error":{"code":"` + abi.HostUnavailable + `","message":"this host provides no operations"}}`)
)

func (c *execution) hostCall(request []byte) int {
	if len(request) > maxOperation {
		c.abort(c.module.errorf(CodeMisuse, nil, "violated the ABI: host_call was called with length %d, and the limit is %d", len(request), maxOperation))
	}
	c.countOperation(request)
	switch {
	case c.module.derives():
		c.result = deniedInDerivation
	case !c.hasRequest || c.describing:
		// The snapshot may contain this response, so it must be a constant.
		c.result = deniedInInitialize
	case c.module.spec.Operate == nil:
		c.result = noOperations
	default:
		c.cover(&c.covered.operation, len(request))
		c.result = c.runOperation(cloneChunked(request))
		c.cover(&c.covered.operation, len(request)+len(c.result))
	}
	c.hasResult = true
	c.checkContext()
	return len(c.result)
}

// chargePerByte is the charge for each data byte that follows the JSON of a request. The host hashes these data bytes. The
// charge is a number of copied bytes, and equals one unit of fuel.
const chargePerByte = bytesPerFuel

// minOperation is the minimum charge for an operation that does not count towards Spec.Operations, in copied bytes. It
// equals the charge for a WASI function.
const minOperation = 1000 * bytesPerFuel

// countOperation charges for an operation and enforces Spec.Operations. An operation with data bytes after its JSON
// does not count towards Spec.Operations: it only computes, and a call may hash any number of files. The fuel limit
// bounds it.
func (c *execution) countOperation(request []byte) {
	if bytes.IndexByte(request[:min(len(request), abi.MaxBeforeBytes+1)], 0) >= 0 {
		c.charge(minOperation + len(request)*chargePerByte)
		return
	}
	c.charge(len(request))
	if c.operations++; c.operations > c.module.spec.Operations {
		c.abort(c.module.errorf(CodeOperations, nil, "performed more than its limit of %d host operations", c.module.spec.Operations))
	}
}

// runOperation runs Spec.Operate. wazero would attribute a panic of the host to the module, so it is recovered here.
func (c *execution) runOperation(request []byte) []byte {
	defer func() {
		if r := recover(); r != nil {
			if c.aborted != nil {
				panic(r) // raised by Spend, to end the call
			}
			c.module.spec.Log.Error("a host operation panicked", "plugin", c.module.spec.Name, "panic", r, "stack", string(debug.Stack()))
			c.abort(c.module.errorf(CodeInternal, errors.New("host operation panicked"), "hit an internal error of the host in a host operation: please report it"))
		}
	}()
	c.busy()
	return c.module.spec.Operate(context.WithValue(c.ctx, executionKey{}, c), request) // Spend and Derive get the call from the context
}

// maxLogLine bounds a line that a module logs, in bytes; longer lines are truncated.
const maxLogLine = 4 << 10

// minLogLine is the minimum that a line counts towards LogSize, in bytes: writing an empty line takes as long as
// writing a short one.
const minLogLine = 64

// bytesPerLogLine is the fuel charged for a line, as a number of copied bytes: writing a line takes microseconds.
const bytesPerLogLine = 16 << 10

// chargeLog charges fuel for log output and enforces LogSize.
func (c *execution) chargeLog(bytes, lines int) {
	bytes = max(bytes, lines*minLogLine)
	c.charge(lines * bytesPerLogLine)
	if c.logged += bytes; c.logged > c.module.spec.LogSize {
		c.abort(c.module.errorf(CodeLogSize, nil, "logged more than its limit of %d bytes", c.module.spec.LogSize))
	}
}

func (c *execution) log(level int32, line []byte) {
	c.charge(len(line))
	at := hclog.Level(level)
	if at == levelPrinted && c.module.spec.Kind == Script {
		c.charge(bytesPerLogLine)
		c.printed.add(line)
		return
	}
	c.chargeLog(len(line), 1)
	if c.module.derives() {
		return
	}
	if at < hclog.Trace || at > hclog.Error {
		at = hclog.Info
	}
	text := visible.Bounded(string(line[:min(len(line), maxLogLine+1)]), maxLogLine)
	if at == hclog.Error { // the SDKs for AssemblyScript and JavaScript log why they end a call
		c.instance.panicked.add(text)
	}
	c.module.spec.Log.Log(at, text)
}
