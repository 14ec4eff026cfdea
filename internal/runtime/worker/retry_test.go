//go:build unix

package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/budget"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
)

// A call that may have had an effect, that used up its time, or that ended its worker is not made again.
func TestRetriesOfLostCalls(t *testing.T) {
	violation := wire.Violation("x")
	for name, c := range map[string]struct {
		lost   lostError
		killed bool
		want   bool
	}{
		"never sent":                                    {lostError{wrote: true, late: true, alone: true, reason: violation}, true, true},
		"worker ended by itself":                        {lostError{sent: true, alone: true, reason: io.EOF}, false, true},
		"worker killed, with other calls":               {lostError{sent: true, reason: io.EOF}, true, true},
		"worker killed for the only call":               {lostError{sent: true, alone: true, reason: io.EOF}, true, false},
		"protocol violated, with other calls":           {lostError{sent: true, reason: violation}, false, true},
		"protocol violated by the only call":            {lostError{sent: true, alone: true, reason: violation}, false, false},
		"may have written":                              {lostError{sent: true, wrote: true, reason: io.EOF}, false, false},
		"time limit had passed":                         {lostError{sent: true, late: true, reason: io.EOF}, false, false},
		"may have written, before its time limit ended": {lostError{sent: true, wrote: true, late: true, reason: io.EOF}, false, false},
	} {
		if got := c.lost.isRetried(c.killed); got != c.want {
			t.Errorf("%s: retried: %t, want %t", name, got, c.want)
		}
	}
}

// All calls of a worker that cannot be written to end, although its end of the connection stays open.
func TestFailedWriteEndsCalls(t *testing.T) {
	toHost, _ := io.Pipe() // nothing arrives
	broken := errors.New("broken")
	c := newConn(struct {
		io.Reader
		io.Writer
	}{toHost, failingWriter{broken}}, wire.Limits{}, hclog.NewNullLogger())
	done := make(chan error, 1)
	go func() {
		_, err := c.call(&pending{ctx: t.Context(), late: time.Now().Add(time.Hour)}, &call.Request{})
		done <- err
	}()
	waitUntil(t, "the end of the connection", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.closed != nil
	})
	c.fail(errors.New("a later reason"))
	_ = toHost.Close() // the call reads until then
	lost := (*lostError)(nil)
	if err := <-done; !errors.As(err, &lost) || !errors.Is(err, broken) || !lost.sent || !lost.alone {
		t.Errorf("got %v, want the first reason", err)
	}
	if _, err := c.call(&pending{ctx: t.Context()}, &call.Request{}); !errors.Is(err, broken) {
		t.Errorf("a later call: got %v", err)
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

// A call that does not begin in time, because an older one needs memory, starts no worker.
func TestCallThatDoesNotBeginStartsNoWorker(t *testing.T) {
	pool := NewPool(startCredit + 40<<20)
	s := inPool(t, pool, nil)
	release := holdCall(t, s)
	var all sync.WaitGroup
	all.Go(func() { _, _ = s.Call(t.Context(), withParams("grow", fmt.Sprint(50<<20))) })
	waitUntil(t, "a call that waits", func() bool { return pool.memory.Waiting() == 1 })
	var launches atomic.Int32
	other := inPool(t, pool, func(c *Config) {
		c.Queue = 20 * time.Millisecond
		counting(&launches, func(int32, *Launch) {})(c)
	})
	if _, err := other.Call(t.Context(), method("echo")); codeOf(t, err) != engine.CodeQueue || launches.Load() != 0 {
		t.Errorf("got %v after %d starts", err, launches.Load())
	}
	release()
	all.Wait()
}

// A retry waits for other retries, but not longer than its call.
func TestRetryEndsWithItsCall(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := newSupervisor(t, func(c *Config) {
		c.Log = hclog.New(&hclog.LoggerOptions{Output: writerFunc(func(line []byte) {
			if bytes.Contains(line, []byte("a worker process ended")) {
				cancel()
			}
		})})
	})
	s.retry <- struct{}{}
	if _, err := s.Call(ctx, method("exit")); codeOf(t, err) != engine.CodeCanceled {
		t.Errorf("got %v", err)
	}
}

// Only a call that was alone in flight is told that it needed too much memory: otherwise another one may be the cause.
func TestLackOfMemoryIsBlamedOnTheOnlyCall(t *testing.T) {
	s := newSupervisor(t, nil)
	wantEcho(t, s)
	p := s.process()
	s.Close()
	<-p.gone
	p.killed.Store(nil)
	for line, want := range map[string]engine.Code{"fatal error: runtime: out of memory\n": engine.CodeMemory, "fatal error: something else\n": engine.CodeWorkerLost} {
		p.stderr = &firstBytes{limit: 100}
		if _, err := p.stderr.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
		if got := s.lostCall(p, &lostError{alone: true}); got.Code != want {
			t.Errorf("%q: got %v", line, got)
		}
		if got := s.lostCall(p, &lostError{}); got.Code != engine.CodeWorkerLost {
			t.Errorf("%q, with other calls: got %v", line, got)
		}
	}
}

// A start that failed for the moment is not made again for a call that was cancelled.
func TestCancelledStartIsNotRepeated(t *testing.T) {
	for _, cancels := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		prepared := 0
		s := newSupervisor(t, func(c *Config) {
			c.Prepare = func(context.Context) (*Launch, error) {
				if prepared++; cancels {
					cancel()
				}
				return nil, &startError{Err: errors.New("not now"), Transient: true}
			}
		})
		if _, err := s.launch(ctx, budget.Call{}); err == nil || (prepared == 1) != cancels {
			t.Errorf("cancelled %t: prepared %d times, %v", cancels, prepared, err)
		}
		cancel()
	}
}

func TestLateCallIsNotRetried(t *testing.T) {
	for limit, want := range map[time.Duration]int32{time.Nanosecond: 1, time.Minute: 2} {
		var launches atomic.Int32
		s := newSupervisor(t, func(c *Config) {
			c.Limits.Time = limit
			counting(&launches, func(int32, *Launch) {})(c)
		})
		if _, err := s.Call(t.Context(), method("exit")); codeOf(t, err) != engine.CodeWorkerLost || !strings.HasSuffix(err.Error(), "exit status 3") || launches.Load() != want {
			t.Errorf("a limit of %v: got %v after %d starts, want %d", limit, err, launches.Load(), want)
		}
	}
}

// A retry that cannot start, or that starts while the host is closed, says so.
func TestRetryThatCannotStartIsReported(t *testing.T) {
	full := errors.New("the disk is full")
	for name, second := range map[string]func(*Supervisor) error{
		"it cannot start":    func(*Supervisor) error { return full },
		"the host is closed": func(s *Supervisor) error { s.Close(); return nil },
	} {
		want := map[string]error{"it cannot start": full, "the host is closed": errClosed}[name]
		var s *Supervisor
		prepared := 0
		s = newSupervisor(t, func(c *Config) {
			prepare := c.Prepare
			c.Prepare = func(ctx context.Context) (*Launch, error) {
				l, err := prepare(ctx)
				if prepared++; prepared == 2 {
					err = second(s)
				}
				return l, err
			}
		})
		if _, err := s.Call(t.Context(), method("exit")); !errors.Is(err, want) || codeOf(t, err) != engine.CodeInternal {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
