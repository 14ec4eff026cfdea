package worker

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
)

// inPool returns a Supervisor in a pool. The limits of its calls sum up to 8 MiB.
func inPool(t *testing.T, pool *Pool, change func(*Config)) *Supervisor {
	return newSupervisor(t, func(c *Config) {
		c.Pool, c.Limits.Memory, c.Limits.Output = pool, 7<<20, 1<<20
		if change != nil {
			change(c)
		}
	})
}

func TestBudgetEndsTheLeastRecentlyUsedWorkerFirst(t *testing.T) {
	pool := NewPool(3*baseMemory + 8<<20)
	var all []*Supervisor
	for range 3 {
		s := inPool(t, pool, nil)
		wantEcho(t, s)
		all = append(all, s)
	}
	wantEcho(t, all[0]) // now the second worker is the least recently used
	another := inPool(t, pool, nil)
	wantEcho(t, another)
	wantEcho(t, another) // now its worker counts toward the budget
	if all[1].running() != 0 || another.running() != 1 {
		t.Errorf("the plugins have %d, %d, %d and %d workers; want none for the second and one for the last", all[0].running(), all[1].running(), all[2].running(), another.running())
	}
	wantEcho(t, all[1]) // starts a new worker
}

func TestCallsWaitForTheBudget(t *testing.T) {
	pool := NewPool(2*baseMemory + 8<<20 - 1)
	first, second := inPool(t, pool, nil), inPool(t, pool, func(c *Config) { c.Queue = 20 * time.Millisecond })
	wantEcho(t, first)
	asked, goOn := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		r := withParams("ask", `{}`)
		r.Operate = func(_ context.Context, operation wire.Operation) wire.Reply {
			close(asked)
			<-goOn
			return wire.Reply{Result: operation.Params}
		}
		if _, err := first.Call(t.Context(), r); err != nil {
			t.Error(err)
		}
	})
	<-asked
	if _, err := second.Call(t.Context(), method("echo")); codeOf(t, err) != engine.CodeQueue {
		t.Errorf("a call beyond the budget: got %v, want the code %s", err, engine.CodeQueue)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := second.Call(ctx, method("echo")); codeOf(t, err) != engine.CodeCanceled {
		t.Errorf("a cancelled call beyond the budget: got %v, want the code %s", err, engine.CodeCanceled)
	}
	patient := inPool(t, pool, nil)
	all.Go(func() { wantEcho(t, patient) })
	for waiting := 0; waiting == 0; time.Sleep(time.Millisecond) {
		pool.mu.Lock()
		waiting = pool.waiting
		pool.mu.Unlock()
	}
	close(goOn)
	all.Wait()
}

// The only call of a pool never waits for the budget, because no other call could end and free memory.
func TestOnlyCallRunsDespiteTooSmallBudget(t *testing.T) {
	wantEcho(t, inPool(t, NewPool(1), nil))
}

func TestKilledIdleWorkerIsReplaced(t *testing.T) {
	s := newSupervisor(t, nil)
	for range 5 {
		wantEcho(t, s)
		s.mu.Lock()
		p := s.current
		s.mu.Unlock()
		_ = p.command.Process.Kill()
		<-p.gone
	}
	wantEcho(t, s)
}

func TestCrowdingWorkerIsDemoted(t *testing.T) {
	pool := NewPool(1 << 40)
	spinning, other := inPool(t, pool, nil), inPool(t, pool, nil)
	wantEcho(t, spinning)
	wantEcho(t, other)
	spinning.mu.Lock()
	p := spinning.current
	spinning.mu.Unlock()
	if _, err := p.processorTime(); err != nil {
		t.Skip("this system does not report the processor time of processes:", err)
	}
	calls := map[*Supervisor]int64{}
	p.computed, p.crowding = 1, crowdingTime+time.Second // simulate that the worker has used much processor time
	pool.mu.Lock()
	pool.demoteCrowding(calls)
	pool.mu.Unlock()
	if !p.demoted.Load() {
		t.Fatal("the worker was not demoted")
	}
	wantEcho(t, spinning) // runs in the demoted process, which then ends
	<-p.gone
	wantEcho(t, spinning)
}

// running returns the number of worker processes.
func (s *Supervisor) running() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}
