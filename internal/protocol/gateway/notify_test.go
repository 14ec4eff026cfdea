package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// notifyingCall is a call with a time limit of a minute that sends a notification.
type notifyingCall struct {
	spyBackend
	ended    chan error // receives the error of Notify
	answered chan struct{}
}

func (c *notifyingCall) Find(call.Request) (Queued, *abi.Error) { return c, nil }
func (c *notifyingCall) ResponseWritten()                       { c.answered <- struct{}{} }

func (c *notifyingCall) Execute(ctx context.Context, n Notifier) (call.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	note := json.RawMessage(`{"level":"error","data":1}`)
	err := n.Notify(ctx, methodMessage, note)
	if err != nil {
		before := runtime.NumGoroutine()
		for range 100 {
			_ = n.Notify(ctx, methodMessage, note)
		}
		if after := runtime.NumGoroutine(); after > before+50 {
			err = fmt.Errorf("%d goroutines wait for the client, %d before", after, before)
		}
	}
	c.ended <- err
	return call.Result{Body: textResult("done")}, err
}

// startNotifying makes two such calls for a client that does not read.
func startNotifying(t *testing.T) (*notifyingCall, *peer, *stuck) {
	t.Helper()
	c := &notifyingCall{ended: make(chan error, 10), answered: make(chan struct{}, 10)}
	out := &stuck{stop: make(chan struct{}), release: make(chan struct{})}
	close(out.stop)
	p := connectTo(t, newGateway(t, Config{Logging: true, MaxInFlight: 2}, c), out)
	p.say(callLine("1", "any"), callLine("2", "any"))
	return c, p, out
}

func TestNotifyEndsWithItsContextWhileClientDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p, out := startNotifying(t)
		start := time.Now()
		for range 2 {
			if err := <-c.ended; !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Notify: %v, want %v", err, context.DeadlineExceeded)
			}
		}
		if waited := time.Since(start); waited != time.Minute {
			t.Errorf("Notify took %v, want 1m", waited)
		}
		go func() { _, _ = io.WriteString(p.in, callLine("3", "any")+"\n") }()
		synctest.Wait()
		if len(c.answered) > 0 || len(c.ended) > 0 {
			t.Error("a call ended before the client read its response")
		}
		close(out.release)
		synctest.Wait()
		if got := out.lines(); len(got) != 6 || len(c.answered) != 3 {
			t.Errorf("%d calls have ended and the client got %q, want 3, three notifications and three responses", len(c.answered), got)
		}
	})
}

func TestNotifyEndsWithTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, p, out := startNotifying(t)
		p.cancel()
		<-p.served
		synctest.Wait()
		for range 2 {
			if err := <-c.ended; !errors.Is(err, context.Canceled) {
				t.Errorf("Notify: %v, want %v", err, context.Canceled)
			}
		}
		if len(c.answered) != 2 {
			t.Errorf("%d of 2 calls have ended", len(c.answered))
		}
		close(out.release)
	})
}

// TestNotificationsAreReadableByAllClients checks that a plugin cannot end the parser of a client by a notification.
func TestNotificationsAreReadableByAllClients(t *testing.T) {
	nested := strings.Repeat("[", 5_000) + strings.Repeat("]", 5_000)
	for name, c := range map[string]struct{ method, params, want, sent string }{
		"deep data of a log message": {methodMessage, `{"level":"error","data":` + nested + `}`, "it is nested more than 120 deep", ""},
		"a deep member of progress":  {methodProgress, `{"progress":1,"x":` + nested + `}`, "it is nested more than 120 deep", ""},
		"a deep member of an update": {"notifications/resources/updated", `{"uri":"a:b","x":` + nested + `}`, "it is nested more than 120 deep", ""},
		"an infinite progress":       {methodProgress, `{"progress":1e999}`, "it has a number that exceeds the range", ""},
		"half a pair of surrogates": {methodMessage, `{"level":"error","data":"\ud83d"}`, "",
			`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"\ufffd"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			var out outBuffer
			s, w := newLineSession(newGateway(t, Config{Logging: true}, newFake()).View, &out, func(error) {})
			n := newNotifier(s, &call.Request{}, requestMeta{token: []byte("1"), served: s.view.served.Load()}, w)
			if err := n.Notify(t.Context(), c.method, json.RawMessage(c.params)); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if got := strings.Join(out.lines(), "\n"); got != c.sent {
				t.Errorf("sent %q, want %q", got, c.sent)
			}
		})
	}
}
