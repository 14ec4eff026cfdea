package gateway

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/approval"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// approvingBackend asks for approval of each tool call, and then lets the module ask what the fake one asks.
type approvingBackend struct {
	*fakeBackend
	mu        sync.Mutex
	decisions []string
	used      map[string]bool
}

func (b *approvingBackend) Find(r call.Request) (Queued, *abi.Error) {
	queued, err := b.fakeBackend.Find(r)
	if err != nil || r.Method != abi.MethodToolsCall {
		return queued, err
	}
	return approvingCall{queued, b, r}, nil
}

type approvingCall struct {
	Queued
	b *approvingBackend
	r call.Request
}

func (c approvingCall) Execute(ctx context.Context, n Notifier) (call.Result, error) {
	a := c.r.Interaction.Approval
	if a == nil || a.Decision == "" {
		return call.Result{}, &Ask{
			Ask: interaction.Ask{Requests: []interaction.Request{approval.Request("run it?")}}, PluginVersion: "fake", Timeout: time.Minute,
			Approval: &Approval{Approval: interaction.Approval{Shown: []byte("digest")}, Text: "run it?"},
		}
	}
	c.b.mu.Lock()
	c.b.decisions = append(c.b.decisions, strings.TrimSpace(string(a.Decision)+" "+a.Why))
	c.b.mu.Unlock()
	if a.ID != "" && c.b.isUsed(a.ID) {
		return call.Result{}, c.Failure("replayed", "its approval was used before")
	}
	if a.Decision != interaction.Approved || string(a.Shown) != "digest" {
		return call.Result{}, c.Failure("not_approved", fmt.Sprintf("%s: %s", a.Decision, a.Why))
	}
	return c.Queued.Execute(ctx, n)
}

// isUsed uses an approval, and reports whether it was used before.
func (b *approvingBackend) isUsed(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used == nil {
		b.used = map[string]bool{}
	}
	used := b.used[id]
	b.used[id] = true
	return used
}

const (
	initForm    = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{},"roots":{}},"clientInfo":{"name":"t","version":"1"}}}`
	approveForm = `{"action":"accept","content":{"approve":true}}`
)

func (b *approvingBackend) want(t *testing.T, decisions ...string) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if got, want := strings.Join(b.decisions, ", "), strings.Join(decisions, ", "); got != want {
		t.Errorf("the backend got the decisions %s, want %s", got, want)
	}
}

func decisionLine(n int, result string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":"bulkhead-%d","result":%s}`, n, result)
}

// TestDecisionsReachBackend checks that every way in which a question for approval can end is a decision that the backend records.
func TestDecisionsReachBackend(t *testing.T) {
	for name, test := range map[string]func(t *testing.T, b *approvingBackend, p *peer){
		"approved, and then asked by the module": func(t *testing.T, b *approvingBackend, p *peer) {
			if got := p.say(askLine("1", askRoots)); len(got) != 1 || !strings.Contains(got[0], `"method":"elicitation/create","params":{"message":"run it?"`) {
				t.Fatalf("got %q", got)
			}
			if got := p.say(decisionLine(1, approveForm)); len(got) == 0 || !strings.Contains(got[len(got)-1], "roots/list") {
				t.Fatalf("got %q", got)
			}
			if got := p.say(answerLine(2)); len(got) == 0 || !strings.Contains(got[len(got)-1], `round 1 of fake, state , answers {\"r\":{\"roots\":[]}}`) {
				t.Errorf("got %q", got)
			}
			b.want(t, "approved", "approved")
		},
		"declined": func(t *testing.T, b *approvingBackend, p *peer) {
			p.say(askLine("1"))
			if got := p.say(decisionLine(1, `{"action":"decline"}`)); len(got) != 1 || !strings.Contains(got[0], `"isError":true`) {
				t.Errorf("got %q", got)
			}
			b.want(t, "declined")
		},
		"an invalid answer": func(t *testing.T, b *approvingBackend, p *peer) {
			p.say(askLine("1"))
			p.say(decisionLine(1, `{"action":"perhaps"}`))
			b.want(t, "unasked asked the client for elicitation (bulkhead_approval), and its answer is invalid: action is none of accept, decline, cancel")
		},
		"an error": func(t *testing.T, b *approvingBackend, p *peer) {
			p.say(askLine("1"))
			p.say(`{"jsonrpc":"2.0","id":"bulkhead-1","error":{"code":-32601,"message":"what?"}}`)
			b.want(t, "unasked the client refused to ask: what?")
		},
		"no answer in time": func(t *testing.T, b *approvingBackend, p *peer) {
			p.say(askLine("1"))
			time.Sleep(time.Minute)
			synctest.Wait()
			b.want(t, "expired")
			p.say(decisionLine(1, approveForm)) // too late
			b.want(t, "expired")
		},
		"a cancelled call": func(t *testing.T, b *approvingBackend, p *peer) {
			p.say(askLine("1"))
			wantLines(t, p.say(cancelLine("1")))
			b.want(t, "cancelled")
			wantLines(t, p.say(decisionLine(1, approveForm)))
			b.want(t, "cancelled")
		},
		"the end of the session": func(t *testing.T, b *approvingBackend, p *peer) {
			p.say(askLine("1"))
			p.in.Close()
			synctest.Wait()
			b.want(t, "cancelled")
		},
		"too many questions": func(t *testing.T, b *approvingBackend, p *peer) {
			for n := range maxAsking {
				p.say(askLine(fmt.Sprint(n + 1)))
			}
			if got := p.say(askLine("100")); len(got) != 1 || !strings.Contains(got[0], "because 64 other calls wait") {
				t.Errorf("got %q", got)
			}
			b.want(t, "unasked cannot ask the client, because 64 other calls wait for its answers")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &approvingBackend{fakeBackend: newFake()}
				p := connect(t, newGateway(t, Config{MaxInFlight: 100}, b))
				p.say(initForm)
				test(t, b, p)
				p.in.Close()
				<-p.served
			})
		})
	}
}

// TestApprovalOfModernClient checks what the state of a client says of approval.
func TestApprovalOfModernClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &approvingBackend{fakeBackend: newFake()}
		p := connect(t, newGateway(t, Config{}, b))
		const form = `{"requests":{"bulkhead_approval":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}}}`
		ahead := `,"inputResponses":{"bulkhead_approval":` + approveForm + `}`
		requests, first := asked(t, p, modernLine(1, form, ahead))
		if len(requests) != 1 || !strings.Contains(string(requests["bulkhead_approval"].Params), "run it?") {
			t.Fatalf("asked %v", requests)
		}
		b.want(t)
		asked(t, p, modernLine(2, form, `,"requestState":"`+first+`"`)) // no answer
		_, second := asked(t, p, modernLine(3, form, ahead+`,"requestState":"`+first+`"`))
		b.want(t, "approved")
		if got := p.say(modernLine(4, form, ahead+`,"requestState":"`+second+`"`)); len(got) == 0 || !strings.Contains(got[len(got)-1], "round 1 of fake") {
			t.Errorf("got %q", got)
		}
		b.want(t, "approved", "approved")
		time.Sleep(time.Minute)
		p.say(modernLine(5, form, ahead+`,"requestState":"`+first+`"`))
		b.want(t, "approved", "approved", "expired")
		if got := p.say(modernLine(6, form, ahead+`,"requestState":"`+second+`"`)); len(got) != 1 || !strings.Contains(got[0], "it has expired") {
			t.Errorf("got %q", got)
		}
		if err := p.hangUp(); err != nil {
			t.Error(err)
		}
	})
}

// TestApprovalIsSpentByFirstRound checks that a call which goes on in this process, as a task does, does not bring the ID of its client's
// state again.
func TestApprovalIsSpentByFirstRound(t *testing.T) {
	b := &approvingBackend{fakeBackend: newFake()}
	c := &clientRequest{session: &session{g: newGateway(t, Config{}, b)}}
	c.notifier = newNotifier(c.session, &c.Request, requestMeta{}, nil)
	c.Method, c.Name, c.Params = abi.MethodToolsCall, "ask", []byte(`{"arguments":[`+askRoots+`,`+askRoots+`]}`)
	c.Interaction.Approval = (&interaction.Approval{Shown: []byte("digest"), Decision: interaction.Approved}).Sealed()
	for c.Interaction.Round = range 2 {
		queued, _ := b.Find(c.Request)
		if result, ask, err := c.execute(t.Context(), queued); ask == nil || ask.Approval != nil {
			t.Fatalf("round %d: got %s, %v, want the question of the module", c.Interaction.Round, result, err)
		}
	}
	b.want(t, "approved", "approved")
}
