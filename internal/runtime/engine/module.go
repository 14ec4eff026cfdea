package engine

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/code"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/extism"
)

// Module is a loaded module and its instances. It is safe for concurrent use; the caller bounds the number of
// concurrent calls.
type Module struct {
	spec     Spec
	kind     kind
	entry    string // the export that runs a call: that of the kind, or abi.ExportDerive
	program  *code.Program
	deriver  *deriver  // nil: the module has no derive functions that can run
	snapshot *snapshot // nil: instances cannot be restored, or Spec.Reused is set
	pool     *pool

	mu        sync.Mutex // guards the fields below
	active    int        // calls in progress
	idleTimer *time.Timer
}

// Held is the result of a call whose instance is held until Release. Body is the module's response: at most Spec.Output bytes, untrusted
// and not validated. For a command it is the standard output of the program.
type Held struct {
	call.Result
	// Exit is the exit code of a command, and Stderr an excerpt of its standard error.
	Exit   uint32
	Stderr []byte
	// Faults are the errors reported by Caller.Fault, at most maxFaults.
	Faults []error

	execution *execution // its instance is released by Release; nil after an error
}

// Release restores the instance of a call for the next one. It must be called once for the Held of each Call that
// succeeded, preferably after the response was sent, so that the client does not wait for the restore. It calls
// Prepared.Busy before work that takes longer than copying the pages that a small call wrote. Further calls of Release have
// no effect.
func (r Held) Release() {
	if e := r.execution; e != nil && !e.released.Swap(true) {
		e.uncover()
		e.module.release(e.instance, e.busy)
	}
}

// Prepared is a request that is prepared for a module: Method is a method of ABI 1, and Params are valid JSON, or empty.
type Prepared struct {
	*call.Request
	// Extism is the request to a module of the kind Extism, translated from Method, Params and Members.
	Extism *extism.Translation
	// Args are the arguments of a command, without the name of the program, and Stdin is its standard input. An argument with a NUL
	// byte ends there for most programs.
	Args  []string
	Stdin []byte
	// Busy is called by the goroutine that runs the call after every quantum of fuel from the shortCall-th on, and before
	// the call may block; nil: it is not called.
	Busy func()
}

func (r Prepared) busy() {
	if r.Busy != nil {
		r.Busy()
	}
}

// CheckInput returns an *Error if a request of so many bytes exceeds Spec.Input.
func (m *Module) CheckInput(size int) error {
	if int64(size) > m.spec.Input {
		return m.errorf(CodeInputSize, nil, "was sent %d bytes, and its limit is %d: raise limits.input", size, m.spec.Input)
	}
	return nil
}

// Call sends a request and returns the response. An error is an *Error.
func (m *Module) Call(ctx context.Context, r Prepared) (Held, error) {
	if err := m.CheckInput(len(r.Params) + len(r.Members)); err != nil {
		return Held{}, err
	}
	m.trackCalls(1)
	limited := limit(ctx, cmp.Or(r.Time, m.spec.Time))
	defer limited.release()
	response, failure := m.callInstance(limited, r)
	if failure != nil {
		m.trackCalls(-1)
		return response, failure
	}
	if m.spec.Reused {
		response.Release() // nothing is restored: the next call must find the state of this call
	}
	return response, nil
}

func (m *Module) callInstance(ctx context.Context, r Prepared) (Held, *Error) {
	inst, failure := m.acquire(ctx, r.busy)
	if failure != nil {
		return Held{}, failure
	}
	response, failure := inst.call(ctx, r)
	if failure != nil {
		inst.close() // the state of the instance is undefined
	}
	return response, failure
}

// acquire returns an idle instance, or a new one.
func (m *Module) acquire(ctx context.Context, busy func()) (*instance, *Error) {
	if inst := m.pool.take(ctx, busy); inst != nil {
		return inst, nil
	}
	if failure := m.contextError(ctx); failure != nil {
		return nil, failure
	}
	busy()
	return m.newInstance(ctx)
}

// newInstance returns an instance that is ready for a call.
func (m *Module) newInstance(ctx context.Context) (*instance, *Error) {
	inst, failure := m.instantiate(ctx)
	if failure != nil {
		return nil, failure
	}
	defer func() { inst.creator = nil }()
	if m.snapshot == nil {
		failure = m.kind.initialize(ctx, inst)
	} else if !inst.restore(m.snapshot, func() {}) {
		failure = m.errorf(CodeInternal, nil, "cannot run: its instance cannot be restored from the snapshot")
		if inst.memory.starved {
			failure = m.noCredit(ctx, ErrRefused)
		}
	}
	if failure != nil {
		inst.close()
		return nil, failure
	}
	return inst, nil
}

// release ends a call: it prepares the instance for the next call, or closes it.
func (m *Module) release(inst *instance, busy func()) {
	defer m.trackCalls(-1)
	m.pool.end(inst, func(inst *instance) bool {
		if inst.spent {
			busy()
			return false
		}
		if m.spec.Reused {
			return true
		}
		if m.snapshot != nil && inst.resetFiles() && inst.restore(m.snapshot, busy) {
			return true
		}
		busy() // closing an instance returns its memory to the system
		return false
	})
}

// trackCalls adds delta to the number of calls in progress. While no call is in progress, the idle timer runs.
func (m *Module) trackCalls(delta int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.active += delta
	switch {
	case m.active > 0:
		m.idleTimer.Stop()
	case m.idleTimer == nil:
		m.idleTimer = time.AfterFunc(m.spec.Idle, m.closeIdle)
	default:
		m.idleTimer.Reset(m.spec.Idle)
	}
}

// closeIdle closes all instances unless a call has started since the idle timer fired.
func (m *Module) closeIdle() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.active == 0 {
		m.pool.drain()
	}
}

// envelope encodes an abi.Request. It copies the request's JSON without decoding it.
func envelope(ctx context.Context, r *call.Request) []byte {
	out := make([]byte, 0, len(r.Method)+len(r.Params)+len(r.Members)+64)
	out = append(out, `{"method":"`...)
	out = append(out, r.Method...)
	out = append(out, '"')
	if deadline, ok := ctx.Deadline(); ok {
		out = append(out, `,"deadline":`...)
		out = strconv.AppendInt(out, deadline.UnixMilli(), 10)
	}
	if len(r.Params) > 0 {
		out = append(out, `,"params":`...)
		out = append(out, r.Params...)
	}
	if len(r.Members) > 0 {
		return append(append(out, ','), r.Members[1:]...) // its closing brace is that of the request
	}
	return append(out, '}')
}

// Exports reports whether the module exports a function.
func (m *Module) Exports(name string) bool {
	return m.program.Compiled.ExportedFunctions()[name] != nil
}

// Close releases the module. No call may be in progress, and no call may follow.
func (m *Module) Close(ctx context.Context) error {
	if m.deriver != nil {
		m.deriver.module.closeInstances()
	}
	m.closeInstances()
	if err := m.program.Close(ctx); err != nil {
		return fmt.Errorf("plugin %q: cannot close the module: %w", m.spec.Name, err)
	}
	return nil
}

func (m *Module) closeInstances() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.idleTimer.Stop()
	m.pool.drain()
}
