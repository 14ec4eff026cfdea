package worker

import (
	"context"
	"errors"
	"time"

	"github.com/bulkhead-mcp/bulkhead/host/engine"
)

// starting is a worker that is being started, for all calls that wait for it.
type starting struct {
	done    chan struct{} // closed when the worker has been started, or err is set
	err     error
	waiting int // calls
	cancel  context.CancelFunc
}

var errClosed = errors.New("the host is being closed")

// acquire gives the process that a call runs in, and starts it if there is none. leave must follow.
func (s *Supervisor) acquire(ctx context.Context) (*process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// A grant may change while its worker starts: then that one is of no use, and another is started.
	for range maxStarts {
		if s.closed {
			return nil, errClosed
		}
		if p := s.usable(); p != nil {
			s.use(p)
			return p, nil
		}
		if s.starting == nil {
			s.begin()
		}
		if err := s.await(ctx, s.starting); err != nil {
			return nil, err
		}
	}
	return nil, errUnsteady
}

// maxStarts bounds the workers that are started for a call whose grant keeps changing.
const maxStarts = 8

var errUnsteady = errors.New("what the plugin is granted changes faster than a process can be started for it: a directory is being replaced again and again")

// usable is the current process, unless it must not get calls any more.
func (s *Supervisor) usable() *process {
	p := s.current
	if p == nil {
		return nil
	}
	if p.hasEnded() {
		s.config.Log.Warn("a worker process ended between calls", "reason", p.reason())
		s.drop(p)
		return nil
	}
	if why := p.launch.stale(); why != "" {
		s.config.Log.Info("a new worker process takes over", "reason", why)
		s.drop(p)
		return nil
	}
	return p
}

// drop lets a process end with its last call.
func (s *Supervisor) drop(p *process) {
	p.retired = true
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
	if s.idle != nil {
		s.idle.Stop()
	}
}

// begin starts a process for all that wait. It goes on as long as anybody waits.
func (s *Supervisor) begin() {
	ctx, cancel := context.WithCancel(context.Background())
	st := &starting{done: make(chan struct{}), cancel: cancel}
	s.starting = st
	go func() {
		defer cancel()
		p, err := s.launch(ctx)
		s.mu.Lock()
		defer s.mu.Unlock()
		if err == nil && (s.closed || s.starting != st) { // or nobody waits for it any more
			p.end()
			err = errClosed
		}
		if err == nil {
			s.current, s.all[p] = p, struct{}{}
			s.rest()
		}
		st.err = err
		if s.starting == st {
			s.starting = nil
		}
		close(st.done)
	}()
}

// await waits until a process has been started, or could not be. It gives up the lock meanwhile. The caller looks
// again: the process may be of no use by then.
func (s *Supervisor) await(ctx context.Context, st *starting) error {
	st.waiting++
	s.mu.Unlock()
	select {
	case <-st.done:
	case <-ctx.Done():
	}
	s.mu.Lock()
	st.waiting--
	select {
	case <-st.done:
	default:
		if st.waiting == 0 {
			st.cancel()
			if s.starting == st {
				s.starting = nil
			}
		}
		return ctx.Err()
	}
	return st.err
}

// launch starts a process.
func (s *Supervisor) launch(ctx context.Context) (*process, error) {
	l, err := s.config.Prepare(ctx)
	if err != nil {
		return nil, err
	}
	p, err := s.start(ctx, l)
	if failure := (*engine.Error)(nil); errors.As(err, &failure) && failure.Code == engine.CodeStale && l.Discard != nil {
		s.config.Log.Warn("compiled code cannot be used, and is made anew", "reason", failure.Message)
		if err = l.Discard(); err == nil {
			if l, err = s.config.Prepare(ctx); err == nil {
				p, err = s.start(ctx, l)
			}
		}
	}
	if err != nil {
		return nil, err
	}
	s.config.Pool.add(s, p)
	return p, nil
}

// adopt takes a process for one call.
func (s *Supervisor) adopt(p *process) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		p.end()
		return errClosed
	}
	s.all[p] = struct{}{}
	p.active.Store(1)
	p.retired = true
	return nil
}

// leave gives a process back that a call ran in.
func (s *Supervisor) leave(p *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.active.Add(-1) > 0 {
		return
	}
	p.rested()
	switch {
	case p.retired || p.demoted.Load() || s.closed:
		s.drop(p)
	case p == s.current:
		s.rest()
	}
}

// rest ends the current process after a while without calls.
func (s *Supervisor) rest() {
	if s.idle == nil {
		s.idle = time.AfterFunc(s.config.Idle, s.expire)
		return
	}
	s.idle.Reset(s.config.Idle)
}

func (s *Supervisor) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.current; p != nil && !p.isActive() {
		s.drop(p)
	}
}

// evict ends a process if no call runs in it, and reports whether it did. It waits for nobody: the caller has the lock
// of the Pool, and whoever has this one may be looking at a directory on a disk that does not answer.
func (s *Supervisor) evict(p *process) bool {
	if !s.mu.TryLock() {
		return false
	}
	defer s.mu.Unlock()
	if p.isActive() || s.current != p {
		return false
	}
	s.drop(p)
	return true
}

// Running is the number of worker processes.
func (s *Supervisor) Running() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

// Close ends all processes, whatever they do. Calls fail from now on.
func (s *Supervisor) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.idle != nil {
		s.idle.Stop()
	}
	if s.starting != nil {
		s.starting.cancel()
	}
	for p := range s.all {
		if p.isActive() {
			p.kill("the host is being closed")
		} else {
			p.end()
		}
	}
	clear(s.all)
	s.current = nil
}
