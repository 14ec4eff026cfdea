//go:build unix

package worker

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
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
		{"a cancelled call", []time.Duration{time.Minute, time.Minute}, time.Second, time.Second + grace},
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
