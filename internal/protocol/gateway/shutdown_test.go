package gateway

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
)

// shutDown returns the response to a request that is cancelled by the shutdown.
func shutDown(id string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32000,"message":"The server is shutting down: the request was cancelled"}}`
}

// refused returns the response to a request that is read during the shutdown.
func refused(id string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32000,"message":"The server is shutting down: the request was refused"}}`
}

// connectWithDrain starts a session with a drain time of one minute.
func connectWithDrain(t *testing.T, g *Gateway, out io.Writer) *peer {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	p := &peer{t: t, in: w, out: &outBuffer{}, cancel: cancel, served: make(chan error, 1)}
	if out == nil {
		out = p.out
	}
	go func() { p.served <- g.ServeDrain(ctx, r, out, func() time.Duration { return time.Minute }) }()
	t.Cleanup(func() { cancel(); w.Close() })
	return p
}

func TestDrain(t *testing.T) {
	for name, test := range map[string]func(t *testing.T, h *held, p *peer){
		"a call in flight may finish, and further requests are refused": func(t *testing.T, h *held, p *peer) {
			wantLines(t, p.say(callLine("1", "held")))
			p.cancel()
			wantLines(t, p.say(callLine("2", "echo"), `{"jsonrpc":"2.0","id":3,"method":"ping"}`, "["+callLine("4", "echo")+"]"), refused("2"), refused("3"), "["+refused("4")+"]")
			close(h.release)
			if err := <-p.served; !errors.Is(err, context.Canceled) {
				t.Errorf("Serve: %v, want context.Canceled", err)
			}
			wantLines(t, p.out.lines(), echoed("1"))
		},
		"requests that were sent when the last call ended are refused": func(t *testing.T, h *held, p *peer) {
			p.cancel()
			synctest.Wait()
			wantLines(t, p.say(callLine("1", "echo")), refused("1"))
			p.in.Close()
			start := time.Now()
			<-p.served
			if waited := time.Since(start); waited != 0 {
				t.Errorf("Serve took %v after the end of the input", waited)
			}
		},
		"a call can be cancelled": func(t *testing.T, h *held, p *peer) {
			p.say(callLine("1", "held"))
			start := time.Now()
			p.cancel()
			synctest.Wait()
			p.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
			<-p.served
			if waited := time.Since(start); waited > refuseGrace {
				t.Errorf("Serve took %v", waited)
			}
		},
		"it ends when the last call ends": func(t *testing.T, h *held, p *peer) {
			p.say(callLine("1", "held"))
			p.cancel()
			start := time.Now()
			time.Sleep(time.Second)
			close(h.release)
			<-p.served
			if waited := time.Since(start); waited != time.Second+refuseGrace {
				t.Errorf("Serve took %v, want 1s and the time for refusals", waited)
			}
		},
		"calls that do not end are cancelled and get an error response": func(t *testing.T, h *held, p *peer) {
			p.say(callLine("1", "held"), "["+callLine("2", "held")+","+callLine("3", "echo")+"]")
			start := time.Now()
			p.cancel()
			<-p.served
			if waited := time.Since(start); waited != time.Minute+refuseGrace {
				t.Errorf("Serve took %v, want 1m and the time for refusals", waited)
			}
			got := p.out.lines()
			slices.Sort(got)
			wantLines(t, got, "["+echoed("3")+","+shutDown("2")+"]", shutDown("1"))
		},
		"open streams get their response": func(t *testing.T, h *held, p *peer) {
			p.say(listenLine("9"))
			p.cancel()
			<-p.served
			if got := p.out.lines(); len(got) != 1 || !slices.Contains(got, streamEnded("9")) {
				t.Errorf("got %q", got)
			}
		},
		"the end of input does not affect it": func(t *testing.T, h *held, p *peer) {
			p.say(callLine("1", "held"))
			p.in.Close()
			synctest.Wait()
			p.cancel()
			<-p.served
			wantLines(t, p.out.lines(), shutDown("1"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHeld()
				test(t, h, connectWithDrain(t, newGateway(t, Config{Offers: Offers{ToolsChange: true}}, heldBackend(h)), nil))
			})
		})
	}
}

// endingCall is a call of a batch. It ends while the shutdown fails the pending calls.
type endingCall struct {
	*batch
	end func()
}

func (e endingCall) Respond(r Response) {
	e.batch.Respond(r)
	e.end()
}

// TestCallThatEndsDuringShutdownCountsOnceInBatch checks that the error of the shutdown is the only response of the call. If
// the end of the call counted as a second response, the batch would be sent without the responses of other calls.
func TestCallThatEndsDuringShutdownCountsOnceInBatch(t *testing.T) {
	out := &outBuffer{}
	s, w := newLineSession(newGateway(t, Config{}, newFake()).View, out, func(error) {})
	to := &batch{out: w, kept: &s.batched, missing: 2}
	for _, id := range []string{"1", "2"} {
		c := &clientRequest{session: s, notifier: newNotifier(s, &call.Request{}, requestMeta{}, w)}
		e, err := s.calls.add(&message{id: []byte(id)}, endingCall{to, func() { c.end([]byte(`{}`), nil, func() {}) }}, func() {})
		if err != nil {
			t.Fatal(err)
		}
		c.entry = e
	}
	s.calls.failPending()
	got := out.lines()
	if len(got) != 1 || len(got[0]) != len("["+shutDown("1")+","+shutDown("2")+"]") {
		t.Errorf("got %q, want one batch with two errors", got)
	}
	if kept := s.batched.Load(); kept != 0 {
		t.Errorf("%d bytes are still counted", kept)
	}
}

// streamEnded returns the response to the request that opened a stream.
func streamEnded(id string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":` + id + `,"io.modelcontextprotocol/serverInfo":{"name":"fake","version":"1.2.3"}}}}`
}

func TestShutdownIsBoundedWhileWriteBlocks(t *testing.T) {
	h := newHeld()
	out := &stuck{stop: make(chan struct{}), release: make(chan struct{})}
	close(out.stop)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	in, lines := io.Pipe()
	defer lines.Close()
	served := make(chan error, 1)
	b := heldBackend(h)
	g := newGateway(t, Config{Offers: Offers{ToolsChange: true}}, b)
	go func() { served <- g.ServeDrain(ctx, in, out, func() time.Duration { return time.Millisecond }) }()
	if _, err := io.WriteString(lines, callLine("1", "held")+"\n"+callLine("2", "echo")+"\n"); err != nil {
		t.Fatal(err)
	}
	for b.runs() < 2 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	select {
	case err := <-served:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Serve: %v, want context.Canceled", err)
		}
	case <-time.After(20 * (stopGrace + answerGrace)):
		t.Fatal("Serve does not return")
	}
	if err := <-h.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the call ended with %v", err)
	}
	close(out.release)
}
