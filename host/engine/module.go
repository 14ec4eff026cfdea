package engine

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/bulkhead-mcp/bulkhead/host/engine/code"
)

// Module is a module in memory, and its instances. It is safe for concurrent use; how many calls run at the same
// time is the caller's to bound.
type Module struct {
	spec    Spec
	program *code.Program
	image   *image // that instances are restored to; nil: they cannot or shall not be
	pool    *pool

	mu     sync.Mutex  // guards what follows
	active int         // calls
	idle   *time.Timer // releases instances
}

// Response is what a call gave.
type Response struct {
	// Body is the module's answer: text of at most Spec.Output bytes, of which nothing more is known.
	Body []byte
	// Faults are the errors of the file system that WASI could not tell the module, at most a few.
	Faults []error
	// Fuel is what the call took, in instructions. It is there after an error, too.
	Fuel int64
}

// Request is what Call sends.
type Request struct {
	Method string // of ABI 1
	Params []byte // valid JSON, or empty
	// Busy is called, by the goroutine that runs the call, whenever the call has used a quantum of fuel or is
	// about to wait; nil: it is not.
	Busy func()
}

func (r Request) busy() {
	if r.Busy != nil {
		r.Busy()
	}
}

// Call sends a request. An error is an *Error.
func (m *Module) Call(ctx context.Context, r Request) (Response, error) {
	if int64(len(r.Params)) > m.spec.Input {
		return Response{}, m.fail(CodeInputSize, nil, "was sent %d bytes, and its limit is %d", len(r.Params), m.spec.Input)
	}
	m.expect(1)
	defer m.expect(-1)
	limited, cancel := context.WithTimeout(ctx, m.spec.Time)
	defer cancel()
	inst, failure := m.pool.take(limited, r.busy, func() (*instance, *Error) { return m.fresh(limited) })
	if failure == nil && inst == nil {
		failure = m.stopped(limited)
	}
	if failure != nil {
		return Response{}, failure
	}
	response, failure := inst.call(limited, r)
	if failure != nil {
		inst.close() // the state of a module that was stopped is not known
		return response, failure
	}
	m.finish(inst)
	return response, nil
}

// fresh makes an instance in the state that calls begin with.
func (m *Module) fresh(ctx context.Context) (*instance, *Error) {
	inst, failure := m.instantiate(ctx)
	if failure != nil {
		return nil, failure
	}
	if m.image == nil {
		failure = inst.initialize(ctx)
	} else if !inst.restore(m.image) {
		failure = m.fail(CodeInternal, nil, "cannot run: its instance cannot be set up")
	}
	if failure != nil {
		inst.close()
		return nil, failure
	}
	return inst, nil
}

// finish readies an instance for another call.
func (m *Module) finish(inst *instance) {
	switch {
	case m.spec.Reused:
		m.pool.put(inst)
	case m.image == nil:
		inst.close()
	default:
		m.pool.putBack(inst, func(i *instance) bool { return i.untouched() && i.restore(m.image) })
	}
}

// expect counts the calls. Instances are released some time after the last one.
func (m *Module) expect(calls int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.active += calls
	switch {
	case m.active > 0:
		m.idle.Stop()
	case m.idle == nil:
		m.idle = time.AfterFunc(m.spec.Idle, m.release)
	default:
		m.idle.Reset(m.spec.Idle)
	}
}

// release closes the instances of a module without calls.
func (m *Module) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.active == 0 {
		m.pool.drain()
	}
}

// envelope is an abi.Request around parameters that are copied, not decoded.
func envelope(ctx context.Context, method string, params []byte) []byte {
	out := make([]byte, 0, len(method)+len(params)+64)
	out = append(out, `{"method":"`...)
	out = append(out, method...)
	out = append(out, '"')
	if deadline, ok := ctx.Deadline(); ok {
		out = append(out, `,"deadline":`...)
		out = strconv.AppendInt(out, deadline.UnixMilli(), 10)
	}
	if len(params) > 0 {
		out = append(out, `,"params":`...)
		out = append(out, params...)
	}
	return append(out, '}')
}

// Close releases the module. Calls must have ended, and there must be no later ones.
func (m *Module) Close(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.idle.Stop()
	m.pool.drain()
	if err := m.program.Close(ctx); err != nil {
		return fmt.Errorf("plugin %q: close: %w", m.spec.Name, err)
	}
	return nil
}
