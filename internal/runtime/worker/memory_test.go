//go:build unix

package worker

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/budget"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
)

// The worker is told the last state of memory, also if that changes while a write blocks.
func TestWorkerIsToldTheLastStateOfMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		toWorker, fromHost := io.Pipe()
		p := &process{conn: newConn(struct {
			io.Reader
			io.Writer
		}{strings.NewReader(""), fromHost}, wire.Limits{}, hclog.NewNullLogger())}
		told := []byte{}
		read := func() {
			in := make([]byte, 10) // a header of 9 bytes, and the state
			if _, err := io.ReadFull(toWorker, in); err != nil || wire.Type(in[8]) != wire.TypeShort {
				t.Error(in, err)
			}
			told = append(told, in[9])
			synctest.Wait()
		}
		p.Tell(true)
		synctest.Wait() // until the write blocks
		for _, short := range []bool{true, false, true, false} {
			p.Tell(short)
		}
		read()
		read()
		p.Tell(true)
		read()
		if want := []byte{1, 0, 1}; !bytes.Equal(told, want) {
			t.Errorf("told %v, want %v", told, want)
		}
	})
}

func TestRequestsForMemoryAreRefusedWithAReason(t *testing.T) {
	memory := budget.New(100 << 20)
	account, err := memory.Open(t.Context(), budget.Call{}, 60<<20, 200<<20)
	if err != nil {
		t.Fatal(err)
	}
	account.Serve(busyWorker{})
	c := discarded(wire.Limits{})
	c.account = account
	for name, test := range map[string]struct {
		request budget.Call
		bytes   int
		err     error
		code    string
	}{
		"beyond the limit of the worker":         {budget.Call{}, 200 << 20, budget.ErrLimit, wire.CreditRefused},
		"beyond the budget":                      {budget.Call{}, 50 << 20, budget.ErrBusy, wire.CreditBusy},
		"beyond the budget, by one that wrote":   {budget.Call{Wrote: true}, 50 << 20, budget.ErrRefused, wire.CreditRefused},
		"within the budget, and the call is old": {budget.Call{}, 1, nil, ""},
	} {
		reply, err := c.grow(t.Context(), test.request, []byte(fmt.Sprint(test.bytes)))
		if !errors.Is(err, test.err) || (reply.Error == nil) != (test.code == "") || reply.Error != nil && reply.Error.Code != test.code {
			t.Errorf("%s: got %+v, %v", name, reply, err)
		}
	}
}

// Each of the two requests for memory counts.
func TestRequestsForMemoryAreBounded(t *testing.T) {
	for _, op := range []string{wire.OpMemory, wire.OpMemoryNow} {
		c := discarded(wire.Limits{OperationBytes: 100})
		p := flight(t, c)
		operation := wire.Frame{Type: wire.TypeOperation, Call: p.number, Payload: bytes.Join(wire.Operation{Op: op, Params: []byte("1")}.Encode(), nil)}
		if err := c.take(operation); !errors.Is(err, wire.ErrProtocol) { // without an account
			t.Errorf("%s: got %v", op, err)
		}
		var err error
		if c.account, err = budget.New(1<<40).Open(t.Context(), budget.Call{}, 1<<20, 1<<20); err != nil {
			t.Fatal(err)
		}
		p.growths = 16<<10 + 1 - 1
		if err := c.take(operation); err != nil {
			t.Errorf("%s: the last request: got %v", op, err)
		}
		p.inFlight.Wait()
		if err := c.take(operation); !errors.Is(err, wire.ErrProtocol) {
			t.Errorf("%s: got %v", op, err)
		}
	}
}

func TestCallWithoutRecordsIsServed(t *testing.T) {
	s := newSupervisor(t, nil)
	if _, err := s.Call(t.Context(), method("record")); err != nil {
		t.Error(err)
	}
}

// A call that was refused memory and then writes keeps its result: it must not be repeated.
func TestCallThatWritesAfterRefusalIsNotBusy(t *testing.T) {
	for how, want := range map[string]engine.Code{"grow and write": "", "grow and go on": engine.CodeQueue} {
		pool := NewPool(startCredit + 40<<20)
		s := inPool(t, pool, func(c *Config) { c.Queue = 20 * time.Millisecond })
		release := holdCall(t, s)
		if _, err := s.Call(t.Context(), withParams(how, fmt.Sprint(50<<20))); codeOf(t, err) != want {
			t.Errorf("%s: got %v, want the code %q", how, err, want)
		}
		release()
	}
}

// A worker that needs more memory while it starts than it can ever get continues without it. One that would have to wait for others ends.
func TestStartingWorkerIsToldThatMemoryIsRefused(t *testing.T) {
	growing := func(c *Config) {
		c.Queue = 20 * time.Millisecond
		counting(new(atomic.Int32), func(_ int32, l *Launch) { l.Setup.Plugin = "growing while loading" })(c)
	}
	pool := NewPool(2*startCredit + 40<<20)
	release := holdCall(t, inPool(t, pool, nil))
	if _, err := inPool(t, pool, growing).Call(t.Context(), withParams("echo", "{}")); codeOf(t, err) != engine.CodeQueue {
		t.Errorf("beyond the budget: got %v", err)
	}
	release()
	limited := inPool(t, NewPool(1<<40), func(c *Config) {
		growing(c)
		counting(new(atomic.Int32), func(_ int32, l *Launch) { l.Setup.Confine.Memory = 60 << 20 })(c)
	})
	if got, err := limited.Call(t.Context(), withParams("echo", "{}")); err != nil || string(got.Body) != "{}" {
		t.Errorf("beyond the worker's limit: got %s, %v", got.Body, err)
	}
}

type writerFunc func([]byte)

func (w writerFunc) Write(p []byte) (int, error) { w(p); return len(p), nil }
