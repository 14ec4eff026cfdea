package engine

import (
	"context"
	"errors"
	"runtime/debug"

	"github.com/hashicorp/go-hclog"
	"github.com/tetratelabs/wazero/api"

	"github.com/bulkhead-mcp/bulkhead/host/visible"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// call is one run of bulkhead_call, or of _initialize, which has neither request nor operations. Host
// functions find it in their context. It belongs to the one goroutine that runs the instance.
type call struct {
	ctx      context.Context
	module   *Module
	instance *instance
	granted  int64 // fuel so far
	logged   int   // bytes of log lines
	operated int   // host operations
	yields   int   // quanta of fuel that it has used up
	busy     func()

	request     []byte
	hasRequest  bool
	trial       bool // the call that an image is taken after: it may ask the host for nothing
	response    []byte
	hasResponse bool
	result      []byte // of the last host operation
	hasResult   bool

	faults []error // of the file system, that WASI cannot tell
	ended  *Error  // why the host ended the call; nil if it did not
}

type callKey struct{}

func newCall(ctx context.Context, m *Module, i *instance) *call {
	return &call{ctx: ctx, module: m, instance: i, busy: func() {}}
}

// end stops the module. The panic unwinds it: wazero returns it from the call.
func (c *call) end(failure *Error) {
	c.ended = failure
	panic(failure)
}

func (c *call) checkTime() {
	if failure := c.module.stopped(c.ctx); failure != nil {
		c.end(failure)
	}
}

// view is the part of linear memory that a module pointed at. It is valid until the module runs on.
func (c *call) view(mod api.Module, function string, offset, length uint64) []byte {
	view, ok := mod.Memory().Read(uint32(offset), uint32(length))
	if !ok {
		c.end(c.module.fail(CodeMisuse, nil, "violated the ABI: %s was given %d bytes at %d, which is not in its memory", function, uint32(length), uint32(offset)))
	}
	return view
}

// copyOut copies data, which must have exactly the length that the module expects, into its memory.
func (c *call) copyOut(mod api.Module, stack []uint64, function string, data []byte, pending bool) {
	if !pending {
		c.end(c.module.fail(CodeMisuse, nil, "violated the ABI: %s was called, and there is nothing to copy", function))
	}
	if int64(uint32(stack[1])) != int64(len(data)) {
		c.end(c.module.fail(CodeMisuse, nil, "violated the ABI: %s was called for %d bytes, and there are %d", function, uint32(stack[1]), len(data)))
	}
	c.charge(len(data))
	move(c.view(mod, function, stack[0], stack[1]), data)
}

func (c *call) output(response []byte) {
	if !c.hasRequest {
		c.end(c.module.fail(CodeMisuse, nil, "violated the ABI: output was called without a request"))
	}
	if int64(len(response)) > c.module.spec.Output {
		c.end(c.module.fail(CodeOutputSize, nil, "gave an answer of %d bytes, and its limit is %d", len(response), c.module.spec.Output))
	}
	c.charge(len(response))
	c.response, c.hasResponse = clone(response), true
}

// maxFaults bounds how many faults a call keeps: the first are the telling ones.
const maxFaults = 5

func (c *call) fault(err error) {
	if len(c.faults) < maxFaults {
		c.faults = append(c.faults, err)
	}
}

// maxOperation bounds what a module hands to an operation, in bytes.
const maxOperation = 32 << 20

var (
	deniedInInitialize = []byte(`{"error":{"code":"` + abi.HostDenied + `","message":"there are no host operations before the first call"}}`)
	noOperations       = []byte(`{"error":{"code":"` + abi.HostUnavailable + `","message":"this host has no operations"}}`)
)

func (c *call) operate(request []byte) int {
	if len(request) > maxOperation {
		c.end(c.module.fail(CodeMisuse, nil, "violated the ABI: host_call was given %d bytes, and its limit is %d", len(request), maxOperation))
	}
	c.charge(len(request))
	if c.operated++; c.operated > c.module.spec.Operations {
		c.end(c.module.fail(CodeOperations, nil, "asked for more than its limit of %d host operations", c.module.spec.Operations))
	}
	switch {
	case !c.hasRequest || c.trial:
		// Nothing can take the answer of _initialize's operation away from it: it is a constant.
		c.result = deniedInInitialize
	case c.module.spec.Operate == nil:
		c.result = noOperations
	default:
		c.result = c.performed(clone(request))
	}
	c.hasResult = true
	c.checkTime()
	return len(c.result)
}

// performed keeps a fault of an operation's own from passing for the module's.
func (c *call) performed(request []byte) []byte {
	defer func() {
		if fault := recover(); fault != nil {
			c.module.spec.Log.Error("a host operation panicked", "plugin", c.module.spec.Name, "panic", fault, "stack", string(debug.Stack()))
			c.end(c.module.fail(CodeInternal, errors.New("host operation panicked"), "met a fault of the host's own in an operation: please report it"))
		}
	}()
	c.busy()
	return c.module.spec.Operate(c.ctx, request)
}

// maxLogLine bounds a line of a module's log, in bytes.
const maxLogLine = 4 << 10

// minLogLine is what a line counts as at least, in bytes: an empty one takes the host as long as a short one.
const minLogLine = 64

// bytesPerLogLine is what a line costs in fuel, as bytes that the host copies: writing it takes microseconds.
const bytesPerLogLine = 16 << 10

// spendLog counts and charges what a module writes to the log.
func (c *call) spendLog(bytes, lines int) {
	bytes = max(bytes, lines*minLogLine)
	c.charge(lines * bytesPerLogLine)
	if c.logged += bytes; c.logged > c.module.spec.LogSize {
		c.end(c.module.fail(CodeLogSize, nil, "logged more than its limit of %d bytes", c.module.spec.LogSize))
	}
}

func (c *call) log(level int32, line []byte) {
	c.charge(len(line))
	c.spendLog(len(line), 1)
	at := hclog.Level(level)
	if at < hclog.Trace || at > hclog.Error {
		at = hclog.Info
	}
	c.module.spec.Log.Log(at, visible.Bounded(string(line[:min(len(line), maxLogLine+1)]), maxLogLine))
}
