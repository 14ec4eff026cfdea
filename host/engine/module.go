package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"
)

// Module is one module and its instances. It is safe for concurrent use.
type Module struct {
	engine  *Engine
	spec    Spec
	running chan struct{} // a place for each call that may run
	life    context.Context
	end     context.CancelFunc // of life, and with it of a load under way

	mu      sync.Mutex // guards what follows
	loaded  *loaded
	loading *loading // nil: nobody loads it
	closed  bool

	count  sync.Mutex // guards what follows
	active int        // calls that need the module loaded
	idle   *time.Timer
}

var errClosed = errors.New("the module is closed")

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
	if failure := m.enter(ctx); failure != nil {
		return Response{}, failure
	}
	defer func() { <-m.running }()
	l, err := m.load(ctx)
	if err != nil {
		return Response{}, err
	}
	defer m.expect(-1)
	limited, cancel := context.WithTimeout(ctx, m.spec.Time)
	defer cancel()
	inst, failure := l.pool.take(limited, r.busy, func() (*instance, *Error) { return m.fresh(limited, l) })
	if failure == nil && inst == nil {
		failure = m.stopped(limited)
	}
	if failure != nil {
		return Response{}, failure
	}
	response, failure := inst.call(limited, r)
	if failure != nil {
		inst.close() // what state a stopped module is in nobody knows
		return response, failure
	}
	m.finish(l, inst)
	return response, nil
}

// enter waits for a place to run.
func (m *Module) enter(ctx context.Context) *Error {
	select {
	case m.running <- struct{}{}:
		return nil
	default:
	}
	patience := time.NewTimer(m.spec.Queue)
	defer patience.Stop()
	select {
	case m.running <- struct{}{}:
		return nil
	case <-patience.C:
		return m.fail(CodeQueue, nil, "waited for %s, and all of its %d places were taken", m.spec.Queue, m.spec.Concurrency)
	case <-ctx.Done():
		return m.stopped(ctx)
	}
}

// fresh makes an instance in the state that calls begin with.
func (m *Module) fresh(ctx context.Context, l *loaded) (*instance, *Error) {
	inst, failure := m.instantiate(ctx, l)
	if failure != nil {
		return nil, failure
	}
	if l.image == nil {
		failure = inst.initialize(ctx)
	} else if !inst.restore(l.image) {
		failure = m.fail(CodeInternal, nil, "cannot run: its instance cannot be set up")
	}
	if failure != nil {
		inst.close()
		return nil, failure
	}
	return inst, nil
}

// finish readies an instance for another call.
func (m *Module) finish(l *loaded, inst *instance) {
	switch {
	case m.spec.Reused:
		l.pool.put(inst)
	case l.image == nil:
		inst.close()
	default:
		l.pool.putBack(inst, func(i *instance) bool { return i.untouched() && i.restore(l.image) })
	}
}

// loading is a load under way, which goes on when the call that began it has been cancelled.
type loading struct {
	done   chan struct{}
	loaded *loaded
	err    error
}

// Load loads the module, which a call does otherwise.
func (m *Module) Load(ctx context.Context) error {
	_, err := m.load(ctx)
	if err == nil {
		m.expect(-1)
	}
	return err
}

// load returns the module as it is in memory, loading it if it is not. After a failure the next call tries
// again: the file may have been built in between. Without an error, expect(-1) must follow.
func (m *Module) load(ctx context.Context) (*loaded, error) {
	m.expect(1)
	l, err := m.await(ctx)
	if err != nil {
		m.expect(-1)
	}
	return l, err
}

func (m *Module) await(ctx context.Context) (*loaded, error) {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return nil, m.fail(CodeInternal, errClosed, "cannot run: it is being closed")
	}
	if m.loaded != nil {
		defer m.mu.Unlock()
		m.loaded.resting = false
		return m.loaded, nil
	}
	if m.loading == nil {
		m.loading = &loading{done: make(chan struct{})}
		go m.finishLoading(m.loading)
	}
	under := m.loading
	m.mu.Unlock()
	select {
	case <-under.done:
		return under.loaded, under.err
	case <-ctx.Done():
		return nil, m.stopped(ctx)
	}
}

func (m *Module) finishLoading(under *loading) {
	l, err := m.compile(m.life)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil && m.closed {
		err = errors.Join(m.fail(CodeInternal, errClosed, "cannot run: it is being closed"), l.close(context.Background()))
	}
	if err == nil {
		under.loaded, m.loaded = l, l
	}
	under.err, m.loading = err, nil
	close(under.done)
}

// expect counts the calls that need the module loaded. When the last one ends, what it needed is released
// after a while.
func (m *Module) expect(calls int) {
	m.count.Lock()
	defer m.count.Unlock()
	if m.active += calls; m.active > 0 {
		if m.idle != nil {
			m.idle.Stop()
		}
		return
	}
	if m.idle == nil {
		m.idle = time.AfterFunc(m.engine.config.InstanceIdle, m.release)
	} else {
		m.idle.Reset(m.engine.config.InstanceIdle)
	}
}

func (m *Module) busy() bool {
	m.count.Lock()
	defer m.count.Unlock()
	return m.active > 0
}

// release closes the instances of a module that nobody has called for a while, and unloads it after
// another while.
func (m *Module) release() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.loaded == nil || m.busy() {
		return
	}
	if m.loaded.resting {
		m.unload(context.Background())
		return
	}
	m.loaded.pool.work.Wait()
	m.loaded.pool.drain()
	m.loaded.resting = true
	m.count.Lock()
	defer m.count.Unlock()
	if m.active == 0 {
		m.idle.Reset(m.engine.config.ModuleIdle)
	}
}

// unload releases the loaded module.
func (m *Module) unload(ctx context.Context) {
	if m.loaded == nil {
		return
	}
	if err := m.loaded.close(ctx); err != nil {
		m.engine.log.Warn("unload", "plugin", m.spec.Name, "error", err)
	}
	m.loaded = nil
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

// Loaded tells whether the module is in memory.
func (m *Module) Loaded() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.loaded != nil
}

// Close releases the module. Calls must have ended; later ones fail.
func (m *Module) Close(ctx context.Context) error {
	m.mu.Lock()
	m.closed = true
	under := m.loading
	m.mu.Unlock()
	m.end()
	if under != nil {
		<-under.done
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.loaded == nil {
		return nil
	}
	err := m.loaded.close(ctx)
	m.loaded = nil
	if err != nil {
		return fmt.Errorf("plugin %q: close: %w", m.spec.Name, err)
	}
	return nil
}
