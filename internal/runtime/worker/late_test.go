//go:build unix

package worker

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/budget"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
)

func TestWorkerIsKilledWhenFirstOfItsCallsIsLate(t *testing.T) {
	for _, c := range []struct {
		name   string
		after  []time.Duration // for each call, the time until it is late
		cancel time.Duration   // time until the last call is cancelled; 0 if it is not cancelled
		want   time.Duration
	}{
		{"one call", []time.Duration{5 * time.Second}, 0, 5 * time.Second},
		{"a later call with an earlier deadline", []time.Duration{9 * time.Second, 7 * time.Second}, 0, 7 * time.Second},
		{"a later call with a later deadline", []time.Duration{7 * time.Second, 9 * time.Second}, 0, 7 * time.Second},
		{"a cancelled call", []time.Duration{time.Minute, time.Minute}, time.Second, 3 * time.Second}, // 2 s are left to end the call,
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				toHost, fromWorker := io.Pipe()
				conn := newConn(struct {
					io.Reader
					io.Writer
				}{toHost, io.Discard}, wire.Limits{Output: 1 << 10}, hclog.NewNullLogger())
				began := time.Now()
				var killed time.Duration
				conn.kill = func(string) {
					killed = time.Since(began)
					_ = fromWorker.Close()
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				// The result of this call is sent below, so its deadline must not cause a kill.
				go func() {
					_, _ = conn.call(&pending{ctx: t.Context(), late: began.Add(time.Second)}, &call.Request{})
				}()
				synctest.Wait()
				if err := wire.NewWriter(fromWorker).Write(wire.TypeResult, 1, wire.EncodeResult(call.Result{Body: []byte("{}")})...); err != nil {
					t.Fatal(err)
				}
				for _, after := range c.after {
					go func() { _, _ = conn.call(&pending{ctx: ctx, late: began.Add(after)}, &call.Request{}) }()
					synctest.Wait()
				}
				if c.cancel > 0 {
					time.AfterFunc(c.cancel, cancel)
				}
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				if killed != c.want {
					t.Errorf("killed after %v, want %v", killed, c.want)
				}
			})
		})
	}
}

// A worker ignores the cancellation of a call that it has not received.
func TestCancellationFollowsItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		toHost, fromWorker := io.Pipe()
		toWorker, fromHost := io.Pipe()
		conn := newConn(struct {
			io.Reader
			io.Writer
		}{toHost, fromHost}, wire.Limits{}, hclog.NewNullLogger())
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		done := make(chan struct{})
		go func() {
			_, _ = conn.call(&pending{ctx: ctx, late: time.Now().Add(time.Hour)}, &call.Request{})
			close(done)
		}()
		in := wire.NewReader(toWorker, func(wire.Type) int { return 1 << 10 })
		for _, want := range []wire.Type{wire.TypeCall, wire.TypeCancel} {
			if f, err := in.Next(); err != nil || f.Type != want {
				t.Errorf("got a frame of type %d, %v; want %d", f.Type, err, want)
			}
		}
		_ = fromWorker.Close()
		<-done
		conn.mu.Lock()
		conn.timer.Stop()
		conn.mu.Unlock()
	})
}

// A worker is not late while its call waits for memory, and has the rest of its time afterwards.
func TestWaitForMemoryDoesNotMakeCallLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		toHost, fromWorker := io.Pipe()
		c := newConn(struct {
			io.Reader
			io.Writer
		}{toHost, io.Discard}, wire.Limits{Output: 1 << 10, OperationBytes: 1 << 10}, hclog.NewNullLogger())
		memory := budget.New(100 << 20)
		others, err := memory.Open(t.Context(), budget.Call{Patience: time.Hour}, 60<<20, 60<<20)
		if err != nil {
			t.Fatal(err)
		}
		if c.account, err = memory.Open(t.Context(), budget.Call{Patience: time.Hour}, 40<<20, 1<<40); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		var killed time.Duration
		c.kill = func(string) {
			killed = time.Since(began)
			_ = fromWorker.Close()
		}
		p := &pending{ctx: t.Context(), claim: budget.Call{Patience: time.Minute}, late: began.Add(5 * time.Second), end: began.Add(3 * time.Second)}
		go func() { _, _ = c.call(p, &call.Request{}) }()
		time.Sleep(time.Second)
		if err := wire.NewWriter(fromWorker).Write(wire.TypeOperation, 1, wire.Operation{Op: wire.OpMemory, Params: []byte("1000000")}.Encode()...); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		others.Close()
		time.Sleep(time.Minute)
		c.mu.Lock()
		defer c.mu.Unlock()
		if want := 35 * time.Second; killed != want {
			t.Errorf("the worker was killed after %v, want %v: 5 s and the wait of 30 s", killed, want)
		}
		if want := 33 * time.Second; p.end.Sub(began) != want || p.waited != 30*time.Second {
			t.Errorf("operations may last until %v, and the call waited for %v", p.end.Sub(began), p.waited)
		}
	})
}

// withoutMemory returns a connection whose worker can get no memory, the worker's end of it, and the time after which the worker was killed.
func withoutMemory(t *testing.T) (c *conn, worker *wire.Writer, killed func() time.Duration) {
	t.Helper()
	toHost, fromWorker := io.Pipe()
	c = newConn(struct {
		io.Reader
		io.Writer
	}{toHost, io.Discard}, wire.Limits{Output: 1 << 10, OperationBytes: 1 << 10}, hclog.NewNullLogger())
	memory := budget.New(100 << 20)
	for range 2 {
		var err error
		if c.account, err = memory.Open(t.Context(), budget.Call{Patience: time.Hour}, 50<<20, 1<<40); err != nil {
			t.Fatal(err)
		}
		c.account.Serve(busyWorker{})
	}
	began := time.Now()
	var after atomic.Int64 // of the first kill, in nanoseconds
	c.kill = func(string) {
		after.CompareAndSwap(0, int64(time.Since(began)))
		_ = fromWorker.Close()
	}
	return c, wire.NewWriter(fromWorker), func() time.Duration { return time.Duration(after.Load()) }
}

// busyWorker is a worker with two calls, one of which computes.
type busyWorker struct{}

func (busyWorker) Active() int       { return 2 }
func (busyWorker) Evict(string) bool { return false }
func (busyWorker) Tell(bool)         {}

var needsMemory = wire.Operation{Op: wire.OpMemory, Params: []byte("1000000")}.Encode()

// A worker that asks again after each refusal does not prolong its call, while newer calls of all plugins are held back.
func TestWaitsForMemoryAreBoundedTogether(t *testing.T) {
	for _, canceled := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c, worker, killed := withoutMemory(t)
			began := time.Now()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			p := &pending{ctx: ctx, claim: budget.Call{Patience: time.Minute}, late: began.Add(5 * time.Second), end: began.Add(3 * time.Second)}
			go func() { _, _ = c.call(p, &call.Request{}) }()
			synctest.Wait()
			if canceled {
				cancel()
			}
			go func() {
				for worker.Write(wire.TypeOperation, 1, needsMemory...) == nil {
					for waits := true; waits; { // for the reply
						time.Sleep(time.Millisecond)
						c.mu.Lock()
						waits = p.busy
						c.mu.Unlock()
					}
				}
			}()
			time.Sleep(time.Hour)
			want := 65 * time.Second // with the wait
			if canceled {
				want = grace
			}
			if got := killed(); got != want {
				t.Errorf("canceled: %t: the worker was killed after %v, want %v", canceled, got, want)
			}
		})
	}
}

// A worker that asks for memory while it starts is not given more time to start than the time that it waits.
func TestRequestsForMemoryDoNotProlongStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, killed := withoutMemory(t)
		watchdog := time.AfterFunc(startTime, func() { c.kill("late") })
		grow := c.growStarting(t.Context(), budget.Call{Patience: 10 * time.Second}, watchdog, time.Now().Add(startTime))
		for range 20 {
			if _, err := grow([]byte("1000000")); !errors.Is(err, budget.ErrBusy) {
				t.Fatal(err)
			}
			time.Sleep(startTime / 10)
		}
		if got, want := killed(), startTime+10*time.Second; got != want {
			t.Errorf("the worker was killed after %v, want %v", got, want)
		}
	})
}

// Each return of credit makes the host look for requests that fit now, of all plugins.
func TestReturnsOfCreditAreBoundedPerCall(t *testing.T) {
	c := newConn(struct {
		io.Reader
		io.Writer
	}{nil, io.Discard}, wire.Limits{}, hclog.NewNullLogger())
	var err error
	if c.account, err = budget.New(100<<20).Open(t.Context(), budget.Call{}, 10<<20, 20<<20); err != nil {
		t.Fatal(err)
	}
	const each = 16<<10 + 20 // and one more for each MiB of the limit
	returns := func() (n int) {
		for c.takeReturn(make([]byte, 8)) == nil {
			n++
		}
		c.returns-- // the one that was refused
		return n
	}
	if got := returns(); got != each {
		t.Errorf("%d returns without a call, want %d", got, each)
	}
	p := &pending{number: 1}
	c.calls[1] = p
	if got := returns(); got != each {
		t.Errorf("%d more returns during a call, want %d", got, each)
	}
	if err := c.finish(p, bytes.Join(wire.EncodeResult(call.Result{}), nil)); err != nil {
		t.Fatal(err)
	}
	if got := returns(); got != 0 {
		t.Errorf("%d more returns after the call, want none", got)
	}
	c.calls[2] = p
	if got := returns(); got != each {
		t.Errorf("%d more returns during the next call, want %d", got, each)
	}
}
