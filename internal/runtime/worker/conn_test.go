//go:build unix

package worker

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// stream is a connection whose other end sends the data of the Reader, and discards the data that it receives.
type stream struct{ io.Reader }

func (stream) Write(p []byte) (int, error) { return len(p), nil }

// FuzzConn checks that each call ends exactly once, and that no call hangs, for any data from a worker.
func FuzzConn(f *testing.F) {
	for _, frames := range [][]wire.Frame{
		{{Type: wire.TypeResult, Call: 1}, {Type: wire.TypeResult, Call: 2}},
		{{Type: wire.TypeOperation, Call: 1, Payload: []byte("\x01x")}, {Type: wire.TypeResult, Call: 2, Payload: make([]byte, 17)}},
		{{Type: wire.TypeWrote, Call: 1}, {Type: wire.TypeLog, Payload: []byte(`{"t":"x"}`)}, {Type: wire.TypeRecord, Call: 2, Payload: []byte(`{}`)}},
		{{Type: wire.TypeDerived}, {Type: wire.TypeDerived, Call: 1, Payload: []byte("x")}, {Type: wire.TypeResult, Call: 1, Payload: append(make([]byte, 17), "{}"...)}},
		{{Type: wire.TypeResult, Call: 3, Payload: append(make([]byte, 17), "{}"...)}, {Type: wire.TypeResult, Call: 3, Payload: make([]byte, 17)}},
	} {
		var data bytes.Buffer
		w := wire.NewWriter(&data)
		for _, frame := range frames {
			if err := w.Write(frame.Type, frame.Call, frame.Payload); err != nil {
				f.Fatal(err)
			}
		}
		f.Add(data.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c := newConn(stream{bytes.NewReader(data)}, wire.Limits{Output: 1 << 16, LogSize: 1 << 10, Operations: 3, OperationBytes: 1 << 16}, hclog.NewNullLogger())
		c.derived = func([]byte) {}
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				p := &pending{ctx: t.Context(), late: time.Now().Add(time.Hour), end: time.Now().Add(time.Hour), record: func(audit.Operation) {}, operate: func(context.Context, wire.Operation) wire.Reply { return wire.Reply{} }}
				result, err := c.call(p, &call.Request{Method: "m"})
				if err == nil && len(result.Body) > len(data) {
					t.Errorf("the result has a body of %d bytes, but the worker sent only %d bytes", len(result.Body), len(data))
				}
			})
		}
		all.Wait()
		if _, err := c.call(&pending{ctx: t.Context(), late: time.Now().Add(time.Hour)}, &call.Request{}); err == nil && c.closed == nil && len(data) == 0 {
			t.Error("a call on a connection that has ended returned a result")
		}
	})
}

// TestReadingIsNotHandedToWritingCall has a worker that reads the third call's request only after it has sent the result of
// the second call. A host that let the third call read results while its write blocks would deadlock.
func TestReadingIsNotHandedToWritingCall(t *testing.T) {
	for range 20 { // the iteration order of a map decides which call takes over reading
		synctest.Test(t, func(t *testing.T) {
			toHost, fromWorker := io.Pipe()
			toWorker, fromHost := io.Pipe()
			c := newConn(struct {
				io.Reader
				io.Writer
			}{toHost, fromHost}, wire.Limits{Output: 1 << 20, LogSize: 1 << 10}, hclog.NewNullLogger())
			out, in := wire.NewWriter(fromWorker), wire.NewReader(toWorker, func(wire.Type) int { return 1 << 30 })
			send := func(params []byte) chan error {
				done := make(chan error, 1)
				p := &pending{ctx: t.Context(), late: time.Now().Add(time.Hour), end: time.Now().Add(time.Hour)}
				go func() { _, err := c.call(p, &call.Request{Method: "m", Params: params}); done <- err }()
				synctest.Wait()
				return done
			}
			receive := func() uint32 {
				f, err := in.Next()
				if err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				return f.Call
			}
			answer := func(number uint32) {
				go func() { _ = out.Write(wire.TypeResult, number, wire.EncodeResult(call.Result{Body: []byte("{}")})...) }()
				synctest.Wait()
			}
			first := send(nil)
			firstNumber := receive()
			second := send(nil)
			secondNumber := receive()
			third := send(bytes.Repeat([]byte("x"), 1<<20)) // blocks while writing the request
			answer(firstNumber)
			answer(secondNumber)
			for _, done := range []chan error{first, second} {
				select {
				case err := <-done:
					if err != nil {
						t.Error(err)
					}
				default:
					t.Error("a call whose result was sent has not ended")
				}
			}
			answer(receive())
			if err := <-third; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSocketCloseEndsReadsAndWrites(t *testing.T) {
	ours, theirs, err := socketPair()
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close() // keep it open during the test: closing it would end reads, too
	var all sync.WaitGroup
	all.Go(func() {
		for {
			if _, err := ours.Write(make([]byte, 1<<20)); err != nil {
				return
			}
		}
	})
	all.Go(func() {
		for {
			if _, err := ours.Read(make([]byte, 10)); err != nil {
				return
			}
		}
	})
	all.Go(func() { _ = ours.Close() })
	all.Wait()
	if _, err := ours.Write([]byte("x")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("got %v from a write after Close, want %v", err, os.ErrClosed)
	}
}

// Reading the user's configuration of git, as git/ignored does, has no effect. Such a call may be retried if its worker ends.
func TestReadingGitUserIsNoChange(t *testing.T) {
	for op, want := range map[string]bool{wire.OpGitUser: false, wire.OpGitOpen: false, abi.OpClaims: false, wire.OpCreate: true, "unknown": true} {
		if got := changes(wire.Operation{Op: op}); got != want {
			t.Errorf("changes(%s) = %t, want %t", op, got, want)
		}
	}
}
