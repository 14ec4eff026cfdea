package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// held is a tool that blocks until its context ends or release is closed. It sends its error to ended.
type held struct {
	release chan struct{}
	ended   chan error
}

func newHeld() *held { return &held{release: make(chan struct{}), ended: make(chan error, 100)} }

func (h *held) run(ctx context.Context, arguments json.RawMessage, n Notifier) (json.RawMessage, error) {
	select {
	case <-ctx.Done():
		h.ended <- ctx.Err()
		return nil, ctx.Err()
	case <-h.release:
		h.ended <- nil
		return echo(ctx, arguments, n)
	}
}

func heldBackend(h *held) *fakeBackend {
	b := newFake()
	b.tools["held"] = h.run
	return b
}

// callLine returns a tools/call request whose arguments are its id.
func callLine(id, tool string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, id)
}

func cancelLine(id string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, id)
}

func echoed(id string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%s}]}}`, id, rawjson.Quote(id))
}

func pinged(id string) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, id) }

func pingLine(id string) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"ping"}`, id) }

// listenLine returns a request that opens a stream, and listening returns its acknowledgement.
func listenLine(id string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"subscriptions/listen","params":{"notifications":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, id)
}

func listening(id string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{},"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`, id)
}

func wantLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestCalls(t *testing.T) {
	cases := map[string]func(t *testing.T, h *held, p *peer){
		"run concurrently to requests that the gateway handles": func(t *testing.T, h *held, p *peer) {
			wantLines(t, p.say(callLine("1", "held"), pingLine("2"), callLine("3", "echo")), pinged("2"), echoed("3"))
			close(h.release)
			synctest.Wait()
			wantLines(t, p.out.lines(), echoed("1"))
		},
		"get no response if a cancellation follows immediately": func(t *testing.T, h *held, p *peer) {
			wantLines(t, p.say(callLine("1", "held"), cancelLine("1")))
			if err := <-h.ended; !errors.Is(err, context.Canceled) {
				t.Errorf("the call ended with %v, want context.Canceled", err)
			}
		},
		"get no response if they are cancelled and return a result": func(t *testing.T, h *held, p *peer) {
			p.say(callLine("1", "stubborn"))
			wantLines(t, p.say(cancelLine("1")))
			close(h.release)
			synctest.Wait()
			wantLines(t, p.out.lines())
		},
		"are cancelled by their exact id only": func(t *testing.T, h *held, p *peer) {
			wantLines(t, p.say(callLine("1", "held"), callLine(`"1"`, "held"), callLine("9007199254740993", "held"),
				cancelLine(`"1"`), cancelLine("9007199254740992")))
			close(h.release)
			synctest.Wait()
			if got := p.out.lines(); len(got) != 2 || strings.Contains(strings.Join(got, ""), `"id":"1"`) {
				t.Errorf("got %q, want answers to 1 and 9007199254740993 only", got)
			}
		},
		"refuse a call with the same id while they run": func(t *testing.T, h *held, p *peer) {
			wantLines(t, p.say(callLine("1", "held"), callLine("1", "echo")),
				`{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid request: a call with this id is still running"}}`)
			close(h.release)
			synctest.Wait()
			wantLines(t, p.out.lines(), echoed("1"))
			wantLines(t, p.say(callLine("1", "echo")), echoed("1"))
		},
		"refuse a stream with the same id while they run": func(t *testing.T, h *held, p *peer) {
			wantLines(t, p.say(callLine("1", "held"), listenLine("1")),
				`{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid request: a call with this id is still running"}}`)
			close(h.release)
			synctest.Wait()
			wantLines(t, p.out.lines(), echoed("1"))
			wantLines(t, p.say(listenLine("1")), listening("1"))
		},
		"are refused with the id of an open stream": func(t *testing.T, h *held, p *peer) {
			wantLines(t, p.say(listenLine("1"), callLine("1", "echo"), callLine(`"1"`, "echo")), listening("1"),
				`{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Invalid request: a stream with this id is still open"}}`,
				echoed(`"1"`))
			wantLines(t, p.say(cancelLine("1"), callLine("1", "echo")), echoed("1"))
		},
		"are limited in number: reading pauses at the limit": func(t *testing.T, h *held, p *peer) {
			wantLines(t, p.say(callLine("1", "held"), callLine("2", "held"), callLine("3", "held"), callLine("4", "echo"), pingLine("5")))
			close(h.release)
			synctest.Wait()
			got := p.out.lines()
			slices.Sort(got)
			wantLines(t, got, echoed("1"), echoed("2"), echoed("3"), echoed("4"), pinged("5"))
		},
		"that wait at the limit are refused when the context ends": func(t *testing.T, h *held, p *peer) {
			p.say(callLine("1", "held"), callLine("2", "held"), callLine("3", "held"), callLine("4", "echo"))
			p.cancel()
			<-p.served
			got := p.out.lines()
			slices.Sort(got)
			wantLines(t, got, shutDown("1"), shutDown("2"), shutDown("3"), shutDown("4"))
		},
		"get their response before Serve returns at the end of input": func(t *testing.T, h *held, p *peer) {
			wantLines(t, p.say(callLine("1", "held")))
			p.in.Close()
			synctest.Wait()
			select {
			case err := <-p.served:
				t.Errorf("Serve returned %v before the call had ended", err)
			default:
			}
			close(h.release)
			if err := <-p.served; err != nil {
				t.Errorf("Serve: %v", err)
			}
			wantLines(t, p.out.lines(), echoed("1"))
		},
		"are cancelled when the context ends, and Serve returns while Read blocks": func(t *testing.T, h *held, p *peer) {
			p.say(callLine("1", "held"))
			p.cancel()
			if err := <-p.served; !errors.Is(err, context.Canceled) {
				t.Errorf("Serve: %v, want context.Canceled", err)
			}
			if err := <-h.ended; !errors.Is(err, context.Canceled) {
				t.Errorf("the call ended with %v, want context.Canceled", err)
			}
			wantLines(t, p.say(callLine("2", "echo")), shutDown("1"))
		},
		"that ignore their context get an error response, and Serve returns": func(t *testing.T, h *held, p *peer) {
			p.say(callLine("1", "stubborn"))
			start := time.Now()
			p.cancel()
			<-p.served
			if waited := time.Since(start); waited != stopGrace {
				t.Errorf("Serve took %v, want %v", waited, stopGrace)
			}
			close(h.release)
			synctest.Wait()
			wantLines(t, p.out.lines(), shutDown("1"))
		},
		"that were cancelled are omitted from their batch": func(t *testing.T, h *held, p *peer) {
			wantLines(t, p.say("["+callLine("1", "held")+","+callLine("2", "echo")+"]"))
			wantLines(t, p.say(cancelLine("1")), "["+echoed("2")+"]")
		},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHeld()
				b := heldBackend(h)
				b.tools["stubborn"] = func(_ context.Context, arguments json.RawMessage, n Notifier) (json.RawMessage, error) {
					<-h.release
					return textResult("late"), nil
				}
				test(t, h, connect(t, newGateway(t, Config{MaxInFlight: 3, Offers: Offers{ToolsChange: true}}, b)))
			})
		})
	}
}

func TestResponsesToPipelinedRequestsAreInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFake()
		p := connect(t, newGateway(t, Config{}, b))
		var lines, want []string
		for i := range 100 {
			id := fmt.Sprint(i)
			switch i % 3 {
			case 0:
				lines, want = append(lines, pingLine(id)), append(want, pinged(id))
			case 1:
				lines = append(lines, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/list"}`, id))
				want = append(want, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[]}}`, id))
			case 2:
				lines = append(lines, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"nope"}`, id))
				want = append(want, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found: nope"}}`, id))
			}
		}
		wantLines(t, p.say(lines...), want...)
	})
}

func TestFindIsCalledInOrderOfRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFake()
		var lines, want []string
		for i := range 100 {
			name := fmt.Sprintf("tool%d", i)
			b.tools[name] = echo
			lines, want = append(lines, callLine(fmt.Sprint(i), name)), append(want, name)
		}
		p := connect(t, newGateway(t, Config{}, b))
		if got := p.say(lines...); len(got) != 100 {
			t.Errorf("%d answers, want 100", len(got))
		}
		if diff := cmp.Diff(want, b.looked); diff != "" {
			t.Errorf("order of look-ups (-want +got):\n%s", diff)
		}
	})
}

func TestNotificationsAfterTheCallAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFake()
		var kept Notifier
		b.tools["keeper"] = func(ctx context.Context, arguments json.RawMessage, n Notifier) (json.RawMessage, error) {
			kept = n
			return echo(ctx, arguments, n)
		}
		h := newHeld()
		b.tools["held"] = func(ctx context.Context, arguments json.RawMessage, n Notifier) (json.RawMessage, error) {
			kept = n
			return h.run(ctx, arguments, n)
		}
		p := connect(t, newGateway(t, Config{}, b))
		request := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":1,"_meta":{"progressToken":"t"}}}`
		wantLines(t, p.say(fmt.Sprintf(request, "keeper")), echoed("1"))
		late := func() {
			t.Helper()
			if err := kept.Notify(t.Context(), "notifications/progress", json.RawMessage(`{"progress":1}`)); err != nil {
				t.Errorf("Notify: %v", err)
			}
			wantLines(t, p.out.lines())
		}
		late()
		wantLines(t, p.say(fmt.Sprintf(request, "held"), cancelLine("1")))
		late()
	})
}

func TestResultsKeepTheirBytes(t *testing.T) {
	result := `{"z":1e2,"content":[{"text":"a\u003c<\u00e4","type":"text","new":null}],"isError":false,"_meta":{"b":9007199254740993,"a":[ 1 , 2 ]}}`
	b := newFake()
	b.tools["fixed"] = func(context.Context, json.RawMessage, Notifier) (json.RawMessage, error) {
		return json.RawMessage(result), nil
	}
	var out outBuffer
	if err := newGateway(t, Config{}, b).Serve(t.Context(), strings.NewReader(callLine("1", "fixed")), &out); err != nil {
		t.Errorf("Serve: %v", err)
	}
	wantLines(t, out.lines(), `{"jsonrpc":"2.0","id":1,"result":`+result+`}`)
}

func TestParamsReachBackendUnchanged(t *testing.T) {
	params := `{ "name":"spy","arguments":{"b":1.0,"a":9007199254740993,"a":"\u003c"} ,"_meta":{"x":[]}}`
	spy := &spyBackend{}
	in := strings.NewReader(`{"params":` + params + `,"jsonrpc":"2.0","method":"tools/call","id":1}`)
	if err := newGateway(t, Config{}, spy).Serve(t.Context(), in, io.Discard); err != nil {
		t.Errorf("Serve: %v", err)
	}
	if spy.params != params {
		t.Errorf("params\n%s, want\n%s", spy.params, params)
	}
}

// spyBackend is a Backend that records the parameters of a request.
type spyBackend struct{ params string }

func (s *spyBackend) Find(r call.Request) (Queued, *abi.Error) {
	s.params = string(r.Params)
	return s, nil
}
func (s *spyBackend) CanSubscribe(call.Request) bool  { return false }
func (s *spyBackend) ReportRefused(call.Request)      {}
func (s *spyBackend) Failure(_, text string) *Failure { return &Failure{Message: text} }
func (s *spyBackend) Execute(context.Context, Notifier) (call.Result, error) {
	return call.Result{Body: textResult("")}, nil
}

// panickingError panics when its text is read, which happens after the call.
type panickingError struct{}

func (panickingError) Error() string { panic("no text") }

// A panic after a call has run, while its result is encoded or its error is described, fails that call only.
func TestPanicAfterCallFailsTheCallOnly(t *testing.T) {
	b := newFake()
	b.tools["unreadable"] = func(context.Context, json.RawMessage, Notifier) (json.RawMessage, error) {
		return nil, panickingError{}
	}
	var out outBuffer
	in := strings.NewReader(callLine("1", "unreadable") + "\n" + callLine("2", "echo"))
	if err := newGateway(t, Config{}, b).Serve(t.Context(), in, &out); err != nil {
		t.Errorf("Serve: %v", err)
	}
	lines := strings.Join(out.lines(), "\n")
	if !strings.Contains(lines, `"id":1,"error":{"code":-32603`) || !strings.Contains(lines, `"id":2,"result":`) {
		t.Errorf("the client received\n%s", lines)
	}
}
