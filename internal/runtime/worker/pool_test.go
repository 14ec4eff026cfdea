package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/budget"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
)

// startCredit is the credit that the worker of a test has after its start.
const startCredit = baseMemory + budget.Chunk

// inPool returns a Supervisor in a pool.
func inPool(t *testing.T, pool *Pool, change func(*Config)) *Supervisor {
	return newSupervisor(t, func(c *Config) {
		c.Pool = pool
		if change != nil {
			change(c)
		}
	})
}

// lines is a log whose lines a test counts.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}

const evicted = "an idle worker process was ended because its memory is needed"

// waitUntil polls a condition that another goroutine makes true.
func waitUntil(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for range 20_000 {
		if condition() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("%s: not within 20 seconds", what)
}

func TestBudgetEndsTheLeastRecentlyUsedWorkerFirst(t *testing.T) {
	pool, log := NewPool(3*startCredit), &lines{}
	logged := func(c *Config) { c.Log = hclog.New(&hclog.LoggerOptions{Output: log}) }
	var all []*Supervisor
	for range 3 {
		s := inPool(t, pool, logged)
		wantEcho(t, s)
		all = append(all, s)
	}
	wantEcho(t, all[0]) // now the second worker is the least recently used
	another := inPool(t, pool, logged)
	wantEcho(t, another)
	if all[0].running() != 1 || all[1].running() != 0 || all[2].running() != 1 || another.running() != 1 {
		t.Errorf("the plugins have %d, %d, %d and %d workers; want none for the second only", all[0].running(), all[1].running(), all[2].running(), another.running())
	}
	waitUntil(t, "one line of the log", func() bool { return log.count(evicted) == 1 })
	wantEcho(t, all[1]) // starts a new worker
	waitUntil(t, "another line of the log", func() bool { return log.count(evicted) == 2 })
	if credit := pool.memory.Credit(); credit > 3*startCredit {
		t.Errorf("the workers have %d bytes, and the budget is %d", credit, 3*startCredit)
	}
}

// The number of workers follows from the plugins, and not from the limits of the calls in flight: mixed calls of five plugins whose
// limits would fill the budget several times start five workers and end none.
func TestCallsInFlightStartNoFurtherWorkers(t *testing.T) {
	for _, inFlight := range []int{4, 64, 320} {
		pool := NewPool(2 << 30)
		var starts atomic.Int32
		var plugins []*Supervisor
		for range 5 {
			plugins = append(plugins, inPool(t, pool, func(c *Config) {
				c.Limits.Memory, c.Limits.Output = 256<<20, 64<<20
				prepare := c.Prepare
				c.Prepare = func(ctx context.Context) (*Launch, error) {
					starts.Add(1)
					return prepare(ctx)
				}
			}))
		}
		var all sync.WaitGroup
		var next atomic.Int32
		for range inFlight {
			all.Go(func() {
				for i := next.Add(1); i <= 1000; i = next.Add(1) {
					if _, err := plugins[i%5].Call(t.Context(), withParams("ask", `{}`)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		if got := starts.Load(); got != 5 {
			t.Errorf("1,000 calls, %d in flight, started %d workers, want 5", inFlight, got)
		}
	}
}

// holdCall makes a call that lasts until release is called. It returns when the call runs.
func holdCall(t *testing.T, s *Supervisor) (release func()) {
	t.Helper()
	asked, goOn := make(chan struct{}), make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		r := withParams("ask", `{}`)
		r.Operate = func(_ context.Context, operation wire.Operation) wire.Reply {
			close(asked)
			<-goOn
			return wire.Reply{Result: operation.Params}
		}
		if _, err := s.Call(t.Context(), r); err != nil {
			t.Error(err)
		}
	})
	<-asked
	return func() {
		close(goOn)
		done.Wait()
	}
}

func TestCallsWaitForTheBudget(t *testing.T) {
	pool := NewPool(2*startCredit - 1)
	first, second := inPool(t, pool, nil), inPool(t, pool, func(c *Config) { c.Queue = 20 * time.Millisecond })
	release := holdCall(t, first)
	if _, err := second.Call(t.Context(), method("echo")); codeOf(t, err) != engine.CodeQueue {
		t.Errorf("a call beyond the budget: got %v, want the code %s", err, engine.CodeQueue)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := second.Call(ctx, method("echo")); codeOf(t, err) != engine.CodeCanceled {
		t.Errorf("a cancelled call beyond the budget: got %v, want the code %s", err, engine.CodeCanceled)
	}
	patient := inPool(t, pool, nil)
	var all sync.WaitGroup
	all.Go(func() { wantEcho(t, patient) })
	waitUntil(t, "a call that waits", func() bool { return pool.memory.Waiting() == 1 })
	release()
	all.Wait()
}

// If all calls wait for memory, the newest one that has written nothing ends, and the others continue.
func TestExhaustedBudgetEndsNewestCallThatHasWrittenNothing(t *testing.T) {
	pool := NewPool(startCredit + 40<<20)
	s := inPool(t, pool, nil)
	release := holdCall(t, s)
	errs := make([]error, 3)
	var all sync.WaitGroup
	var grow []func()
	for i, how := range []string{"write and grow", "grow", "write and grow"} {
		began, goOn := make(chan struct{}), make(chan struct{})
		r := withParams(how, fmt.Sprint(50<<20))
		r.Operate = func(context.Context, wire.Operation) wire.Reply {
			close(began)
			<-goOn
			return wire.Reply{}
		}
		all.Go(func() { _, errs[i] = s.Call(t.Context(), r) })
		<-began
		grow = append(grow, func() { close(goOn) })
	}
	for i := range grow {
		grow[i]()
		waitUntil(t, "a call that waits", func() bool { return pool.memory.Waiting() == i+1 })
	}
	release()
	all.Wait()
	if codeOf(t, errs[1]) != engine.CodeQueue {
		t.Errorf("the call that has written nothing: got %v, want the code %s", errs[1], engine.CodeQueue)
	}
	if codeOf(t, errs[2]) != engine.CodeMemory { // its module was refused memory
		t.Errorf("the newest call, which has written something: got %v, want the code %s", errs[2], engine.CodeMemory)
	}
	if errs[0] != nil {
		t.Errorf("the oldest call: %v", errs[0])
	}
	if s.running() != 1 {
		t.Errorf("%d workers are left, want the one", s.running())
	}
	wantEcho(t, s)
}

func TestEndedWorkerFreesItsCredit(t *testing.T) {
	pool := NewPool(1 << 40)
	s := inPool(t, pool, nil)
	if _, err := s.Call(t.Context(), withParams("grow", fmt.Sprint(50<<20))); err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	p := s.current
	s.mu.Unlock()
	if credit, _ := p.account.Bound(); credit != startCredit+64<<20 || pool.memory.Credit() != credit {
		t.Errorf("the worker has a credit of %d bytes, and the pool counts %d", credit, pool.memory.Credit())
	}
	_ = p.command.Process.Kill()
	<-p.gone
	if got := pool.memory.Credit(); got != 0 {
		t.Errorf("%d bytes are in use without a worker", got)
	}
}

// The only call of a pool never waits for the budget, because no other call could end and free memory.
func TestOnlyCallRunsDespiteTooSmallBudget(t *testing.T) {
	s := inPool(t, NewPool(1), nil)
	wantEcho(t, s)
	if _, err := s.Call(t.Context(), withParams("grow", fmt.Sprint(50<<20))); err != nil {
		t.Error(err)
	}
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
		if wantEcho(t, s); s.process() == p || s.running() != 1 {
			t.Errorf("the ended process still gets calls, or one of %d is not needed", s.running())
		}
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
	// Simulate that the worker has used much processor time. No time counts at the first sample.
	for crowding, want := range map[time.Duration]bool{2*time.Second - 1: false, 2 * time.Second: true} {
		pool.mu.Lock()
		p.computed, p.crowding = 0, crowding
		p.demoted.Store(false)
		pool.demoteCrowding(calls)
		pool.mu.Unlock()
		if p.demoted.Load() != want {
			t.Fatalf("after %v the worker was demoted: %t", crowding, !want)
		}
		p.demoted.Store(true)
	}
	wantEcho(t, spinning) // runs in the demoted process, which then ends
	<-p.gone
	wantEcho(t, spinning)
}

// Only processor time that a worker uses while another plugin has calls counts, and sampling ends with the last call.
func TestProcessorTimeCountsWhileOthersHaveCalls(t *testing.T) {
	for name, c := range map[string]struct {
		spinningCalls, otherCalls bool
		failing                   bool // whether processor times cannot be read
		want                      bool
	}{
		"both have calls":               {true, true, false, true},
		"no other plugin has calls":     {true, false, false, false},
		"the plugin itself has no call": {false, true, false, true},
		"times that cannot be read":     {true, true, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pool := NewPool(1)
				add := func(active bool) *process {
					p := &process{command: &exec.Cmd{Process: &os.Process{Pid: -1}}, gone: make(chan struct{})}
					s := &Supervisor{config: Config{Log: hclog.NewNullLogger()}}
					if active {
						p.active.Add(1)
					}
					pool.add(s, p)
					t.Cleanup(func() { close(p.gone) })
					return p
				}
				samples := 0
				spinning, other := add(c.spinningCalls), add(c.otherCalls)
				began := time.Now()
				pool.processorTime = func(p *process) (time.Duration, error) {
					if c.failing {
						return time.Hour, errors.New("no time")
					}
					if p == spinning {
						samples++
						return time.Since(began), nil
					}
					return 0, nil
				}
				caller := &Supervisor{} // of a third plugin, so that calls run
				pool.begin(caller)
				time.Sleep(2 * time.Second) // no time counts at the first sample
				if spinning.demoted.Load() {
					t.Error("the worker was demoted before it had used two seconds")
				}
				time.Sleep(2 * time.Second) // a quarter of the time is its share
				if spinning.demoted.Load() != c.want || other.demoted.Load() {
					t.Errorf("the worker was demoted: %t, want %t; the other one: %t", spinning.demoted.Load(), c.want, other.demoted.Load())
				}
				pool.end()
				time.Sleep(time.Second)
				last := samples
				if time.Sleep(time.Minute); samples != last {
					t.Errorf("%d samples were taken without a call", samples-last)
				}
			})
		})
	}
}

// running returns the number of worker processes.
func (s *Supervisor) running() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

// process returns the current process of a Supervisor.
func (s *Supervisor) process() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}
