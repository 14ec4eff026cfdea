package worker

import (
	"context"
	"errors"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/guard"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/budget"
)

// starting is the start of a worker. Several calls may wait for it.
type starting struct {
	done    chan struct{} // closed after the start succeeded, or failed with err
	err     error
	waiting int // number of calls that wait
	cancel  context.CancelFunc
	others  budget.Others // principals of calls that wait beside the one that began it
}

var errClosed = errors.New("the host is being closed")

// acquire returns the process for a call, and starts one if there is none. claim is that of the call, and waiting is Hooked.Waiting. The caller must call
// leave after the call.
func (s *Supervisor) acquire(ctx context.Context, claim budget.Call, waiting func()) (*process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// A grant may change while its worker starts, which makes that worker stale.
	for range maxStarts {
		if s.closed {
			return nil, errClosed
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if p := s.usable(); p != nil {
			s.use(p)
			return p, nil
		}
		if s.starting == nil {
			s.startProcess(claim)
		} else {
			s.config.Pool.memory.Join(&s.starting.others, claim.Principal)
		}
		if err := s.await(ctx, s.starting, waiting); err != nil {
			return nil, err
		}
	}
	return nil, errUnsteady
}

// maxStarts bounds the workers that one call starts while its grants keep changing.
const maxStarts = 8

var errUnsteady = errors.New("the granted directories change faster than a process can be started: stop the program that replaces one of them repeatedly")

// usable returns the current process. It returns nil if there is none, or if it has ended or is stale.
func (s *Supervisor) usable() *process {
	p := s.current
	if p == nil {
		return nil
	}
	if p.hasEnded() {
		s.config.Log.Warn("a worker process ended between calls", "reason", p.reason())
		s.retire(p, "")
		return nil
	}
	if why := p.launch.stale(); why != "" {
		s.config.Log.Info("worker process replaced", "reason", why)
		s.retire(p, EndReplaced)
		return nil
	}
	return p
}

// retire excludes a process from further calls, and ends it when its last call has ended. why is empty if the process has ended, or was retired
// before.
func (s *Supervisor) retire(p *process, why End) {
	p.retired = true
	if p.why == "" {
		p.why = why
	}
	if s.current == p {
		s.current = nil
	}
	if !p.isActive() {
		delete(s.all, p)
		p.end()
	}
}

func (s *Supervisor) use(p *process) {
	p.active.Add(1)
}

// startProcess starts a process in the background, for as long as a call waits for it. claim is that of the first of these calls.
func (s *Supervisor) startProcess(claim budget.Call) {
	ctx, cancel := context.WithCancel(context.Background())
	st := &starting{done: make(chan struct{}), cancel: cancel}
	s.starting, claim.Others = st, &st.others
	go func() {
		defer cancel()
		p, err := s.launch(ctx, claim)
		s.mu.Lock()
		defer s.mu.Unlock()
		if err == nil && (s.closed || s.starting != st) { // starting differs if no call waits for the process any more
			p.end()
			err = errClosed
		}
		if err == nil {
			s.current, s.all[p] = p, struct{}{}
			p.idleSince.Store(time.Now().UnixNano())
			s.idle.Reset(s.config.Idle)
		}
		st.err = err
		if s.starting == st {
			s.starting = nil
		}
		close(st.done)
	}()
}

// await waits until the start of a process has ended. It releases the lock while it waits, so the caller has to check
// the process again.
func (s *Supervisor) await(ctx context.Context, st *starting, waiting func()) error {
	st.waiting++
	s.mu.Unlock()
	waitReporting(ctx, st.done, waiting)
	s.mu.Lock()
	st.waiting--
	select {
	case <-st.done:
	default:
		if st.waiting == 0 {
			st.cancel()
			s.starting = nil
		}
		return ctx.Err()
	}
	return st.err
}

// waitingInterval is the time between two calls of Hooked.Waiting, and before the first one.
const waitingInterval = time.Second

// waitReporting waits until done is closed or ctx ends, and calls waiting at intervals until then. waiting may be nil.
func waitReporting(ctx context.Context, done <-chan struct{}, waiting func()) {
	var tick <-chan time.Time
	if waiting != nil {
		ticker := time.NewTicker(waitingInterval)
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		select {
		case <-done:
			return
		case <-ctx.Done():
			return
		case <-tick:
			waiting()
		}
	}
}

// launch starts a process. It retries once if the compiled code turns out to be unusable, which it compiles again, or if the process was
// ended from outside.
func (s *Supervisor) launch(ctx context.Context, claim budget.Call) (p *process, err error) {
	if o := s.config.Pool.observing(); o != nil {
		began := time.Now()
		defer func() {
			if ctx.Err() == nil && !isDeferred(err) {
				o.WorkerStarted(s.config.Plugin, time.Since(began), err)
			}
		}()
	}
	defer guard.Recover(s.config.Log, "while a worker was started", &err)
	p, l, err := s.prepareAndStart(ctx, claim)
	switch failure := (*engine.Error)(nil); {
	case l != nil && errors.As(err, &failure) && failure.Code == engine.CodeStale && l.Discard != nil:
		s.config.Log.Warn("the compiled code is unusable: the module is compiled again", "reason", failure.Message)
		if err = l.Discard(); err == nil {
			p, _, err = s.prepareAndStart(ctx, claim)
		}
	case isTransient(err) && ctx.Err() == nil:
		s.config.Log.Warn("a worker process did not start, which is tried again once", "reason", err)
		p, _, err = s.prepareAndStart(ctx, claim)
	}
	if err != nil {
		return nil, err
	}
	s.config.Pool.add(s, p)
	return p, nil
}

// isDeferred reports whether err says nothing of the plugin: a worker was not started for want of memory, or since its grant has changed.
func isDeferred(err error) bool {
	failure, ok := errors.AsType[*engine.Error](err)
	return ok && (failure.Code == engine.CodeQueue || failure.Code == engine.CodeReplaced)
}

func (s *Supervisor) prepareAndStart(ctx context.Context, claim budget.Call) (*process, *Launch, error) {
	l, err := s.config.Prepare(ctx)
	if err != nil {
		return nil, nil, err
	}
	p, err := s.start(ctx, l, claim)
	return p, l, err
}

// adopt registers a process that runs a single call and is then retired.
func (s *Supervisor) adopt(p *process) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		p.end()
		return errClosed
	}
	s.all[p] = struct{}{}
	p.active.Store(1)
	p.retired, p.why = true, EndReplaced
	return nil
}

// leave ends the use of a process by a call.
func (s *Supervisor) leave(p *process) {
	s.release(p)
	p.account.Left() // it may evict the process, which takes the lock of the Supervisor
}

func (s *Supervisor) release(p *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.active.Add(-1) > 0 {
		return
	}
	p.idleSince.Store(time.Now().UnixNano())
	if p.retired || p.demoted.Load() {
		s.retire(p, EndReplaced)
	}
}

// expire ends the current process if it has been idle for Config.Idle. The timer is not set again for each call: that
// would cost more than the runs in which expire does nothing.
func (s *Supervisor) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.current
	if p == nil {
		return
	}
	left := s.config.Idle
	if !p.isActive() {
		left -= time.Since(time.Unix(0, p.idleSince.Load()))
	}
	if left <= 0 {
		s.retire(p, EndIdle)
		return
	}
	s.idle.Reset(left)
}

// evict ends a process if it is idle, and reports whether it did. It does not block on the Supervisor's lock: the caller
// holds the lock of the Budget, and the holder of the Supervisor's lock may be waiting for a disk that does not respond.
func (s *Supervisor) evict(p *process) bool {
	if !s.mu.TryLock() {
		return false
	}
	defer s.mu.Unlock()
	if p.isActive() || s.current != p {
		return false
	}
	s.retire(p, EndMemory)
	return true
}

// Retire ends the processes when their last calls have ended. Further calls start another process.
func (s *Supervisor) Retire(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.current; p != nil {
		s.config.Log.Info("worker process replaced", "reason", why)
		s.retire(p, EndReplaced)
	}
}

// Close ends all processes and the calls in them. Further calls fail.
func (s *Supervisor) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.idle.Stop()
	if s.starting != nil {
		s.starting.cancel()
	}
	for p := range s.all {
		if p.why == "" {
			p.why = EndClosed
		}
		if p.isActive() {
			p.kill("the host is being closed")
		} else {
			p.end()
		}
	}
	clear(s.all)
	s.current = nil
}
