//go:build unix

package worker

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Operations that need what the worker was started with do not reach the caller of Supervisor.Call, and no others are kept from it.
func TestOperatorPerformsOperationsOfLaunch(t *testing.T) {
	refused := errors.New("refused")
	for name, c := range map[string]struct {
		operation wire.Operation
		launch    Launch
		want      string // what performed the operation
		fails     bool
	}{
		"create":                          {wire.Operation{Op: wire.OpCreate, Params: []byte("3")}, Launch{}, "create 3", false},
		"create of a mount that is text":  {wire.Operation{Op: wire.OpCreate, Params: []byte("x")}, Launch{}, "", true},
		"create that fails":               {wire.Operation{Op: wire.OpCreate, Params: []byte("4")}, Launch{}, "create 4", true},
		"create, which nothing provides":  {wire.Operation{Op: wire.OpCreate, Params: []byte("3")}, Launch{Create: nil, Stale: func() string { return "" }}, "next", false},
		"another operation than create":   {wire.Operation{Op: abi.OpClaims, Params: []byte("3")}, Launch{}, "next", false},
		"a lock, which nothing provides":  {wire.Operation{Op: abi.OpLock}, Launch{Stale: func() string { return "" }}, "next", false},
		"an operation with locks at hand": {wire.Operation{Op: abi.OpNotify}, Launch{}, "next", false},
	} {
		performed := ""
		l := c.launch
		if l.Stale == nil {
			l.Create = func(mount int) error {
				performed = fmt.Sprint("create ", mount)
				if mount == 4 {
					return refused
				}
				return nil
			}
			l.Locks = func() Locks { t.Errorf("%s: locks were requested", name); return nil }
		}
		o := operator{launch: &l, next: func(context.Context, wire.Operation) wire.Reply { performed = "next"; return wire.Reply{} }}
		reply := o.operate(t.Context(), c.operation)
		o.end()
		if performed != c.want || (reply.Error != nil) != c.fails {
			t.Errorf("%s: performed %q with the error %v, want %q", name, performed, reply.Error, c.want)
		}
	}
}

// Locks of a call are made once, and end with it.
func TestOperatorMakesLocksOnce(t *testing.T) {
	made, locked, ended := 0, 0, 0
	l := &Launch{Locks: func() Locks { made++; return callLocks{&locked, &ended} }}
	o := operator{launch: l, next: func(context.Context, wire.Operation) wire.Reply { return wire.Reply{} }}
	for range 2 {
		if reply := o.operate(t.Context(), wire.Operation{Op: abi.OpLock}); reply.Error != nil {
			t.Error(reply.Error)
		}
	}
	if o.end(); made != 1 || locked != 2 || ended != 1 {
		t.Errorf("made %d, locked %d, ended %d", made, locked, ended)
	}
}

type callLocks struct{ locked, ended *int }

func (l callLocks) Lock(context.Context, []byte) error { *l.locked++; return nil }

func (l callLocks) End() { *l.ended++ }

// The worker's clock decides which error a late call returns: operations end a little later.
func TestOperationsEndSoonAfterTheirCall(t *testing.T) {
	const limit = time.Hour
	s := newSupervisor(t, func(c *Config) { c.Limits.Time = limit })
	r := withParams("ask", "{}")
	began := time.Now()
	r.Operate = func(ctx context.Context, o wire.Operation) wire.Reply {
		deadline, ok := ctx.Deadline()
		if late := 50 * time.Millisecond; !ok || deadline.Before(began.Add(limit+late)) || deadline.After(time.Now().Add(limit+late)) {
			t.Errorf("the operation ends after %v", deadline.Sub(began))
		}
		return wire.Reply{Result: o.Params}
	}
	if _, err := s.Call(t.Context(), r); err != nil {
		t.Error(err)
	}
}

// No operation of a call runs after the call has ended.
func TestOperationsEndWithTheirCall(t *testing.T) {
	s := newSupervisor(t, nil)
	r := method("result with an operation")
	var running atomic.Int32
	r.Operate = func(ctx context.Context, _ wire.Operation) wire.Reply {
		running.Add(1)
		defer running.Add(-1)
		<-ctx.Done()
		return wire.Reply{}
	}
	if _, err := s.Call(t.Context(), r); err == nil || running.Load() != 0 {
		t.Errorf("got %v, and %d operations run", err, running.Load())
	}
}
