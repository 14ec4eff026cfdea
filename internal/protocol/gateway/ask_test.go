package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// ask is a call that sends two notifications, and progress up to twice the number of the round. It asks what its argument, a
// list of asks, has for the round, and then returns what it was answered.
func (c fakeCall) ask(ctx context.Context, n Notifier) (json.RawMessage, error) {
	for done := range 2*c.Interaction.Round + 2 {
		if err := n.Notify(ctx, methodProgress, fmt.Appendf(nil, `{"progress":%d}`, done+1)); err != nil {
			return nil, err
		}
	}
	if err := n.Notify(ctx, "notifications/prompts/list_changed", nil); err != nil {
		return nil, err
	}
	var params struct{ Arguments []json.RawMessage }
	if err := json.Unmarshal(c.Params, &params); err != nil {
		return nil, err
	}
	i := c.Interaction
	if i.Round < len(params.Arguments) {
		ask, err := interaction.Parse(params.Arguments[i.Round])
		if err != nil {
			return nil, err
		}
		return nil, &Ask{Ask: ask, PluginVersion: "fake", Timeout: time.Minute}
	}
	switch c.Method {
	case "prompts/get":
		return json.RawMessage(`{"messages":[]}`), nil
	case "resources/read":
		return json.RawMessage(`{"contents":[]}`), nil
	}
	answers, err := json.Marshal(i.Answers)
	return textResult(fmt.Sprintf("round %d of %s, state %s, answers %s", i.Round, i.PluginVersion, i.State, answers)), err
}

const (
	askRoots   = `{"requests":{"r":{"method":"roots/list"}}}`
	initRoots  = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"t","version":"1"}}}`
	askingMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{},"elicitation":{}}}`
)

// askLine returns a call of the tool "ask" with one ask for each round.
func askLine(id string, asks ...string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"ask","arguments":[%s]}}`, id, strings.Join(asks, ","))
}

func answerLine(n int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":"bulkhead-%d","result":{"roots":[]}}`, n)
}

func TestAskLegacy(t *testing.T) {
	for name, test := range map[string]func(t *testing.T, h *held, p *peer){
		"a cancelled call ends at once, and its client's answer is ignored": func(t *testing.T, h *held, p *peer) {
			if got := p.say(askLine("1", askRoots)); len(got) != 1 {
				t.Fatalf("got %q", got)
			}
			wantLines(t, p.say(cancelLine("1")))
			wantLines(t, p.say(answerLine(1), callLine("1", "echo")), echoed("1"))
		},
		"an answer that is nested too deep": func(t *testing.T, h *held, p *peer) {
			p.say(askLine("1", askRoots))
			deep := `{"jsonrpc":"2.0","id":"bulkhead-1","result":{"roots":[],"x":` + strings.Repeat("[", 119) + strings.Repeat("]", 119) + `}}`
			if got := p.say(deep); len(got) != 1 || !strings.Contains(got[0], "its answer is invalid: it is nested more than 120 deep") {
				t.Errorf("got %q", got)
			}
		},
		"a client that does not answer in time": func(t *testing.T, h *held, p *peer) {
			p.say(askLine("1", askRoots))
			time.Sleep(time.Minute)
			synctest.Wait()
			got := p.out.lines()
			if len(got) != 2 || !strings.Contains(got[0], `"method":"notifications/cancelled","params":{"requestId":"bulkhead-1"}`) || !strings.Contains(got[1], "did not answer within 1m0s") || !strings.Contains(got[1], `"ask_timeout"`) {
				t.Errorf("got %q", got)
			}
			wantLines(t, p.say(answerLine(1)))
		},
		"the calls that wait do not keep the reader from the answers": func(t *testing.T, h *held, p *peer) {
			for n := range 6 { // twice the calls in flight
				if got := p.say(askLine(fmt.Sprint(n+1), askRoots)); len(got) != 1 {
					t.Fatalf("call %d: got %q", n+1, got)
				}
			}
			p.say(callLine("7", "held"), callLine("8", "held"), callLine("9", "held"))
			// The reader waits with this call for one of the three to end.
			wantLines(t, p.say(callLine("10", "echo"), answerLine(4)))
			close(h.release)
			synctest.Wait()
			got := strings.Join(p.out.lines(), "\n")
			for _, id := range []string{"4", "7", "8", "9", "10"} {
				if !strings.Contains(got, `"id":`+id+`,"result"`) {
					t.Errorf("call %s has no result: %s", id, got)
				}
			}
			for _, n := range []int{6, 5, 3, 2, 1} {
				if got := p.say(answerLine(n)); len(got) != 1 || !strings.Contains(got[0], fmt.Sprintf(`"id":%d,"result"`, n)) {
					t.Errorf("answer %d: got %q", n, got)
				}
			}
		},
		"calls that wait are limited in number": func(t *testing.T, h *held, p *peer) {
			for n := range maxAsking {
				p.say(askLine(fmt.Sprint(n+1), askRoots))
			}
			if got := p.say(askLine("100", askRoots)); len(got) != 1 || !strings.Contains(got[0], "because 64 other calls wait") {
				t.Errorf("got %q", got)
			}
			p.say(answerLine(1))
			if got := p.say(askLine("100", askRoots)); len(got) != 1 || !strings.Contains(got[0], "roots/list") {
				t.Errorf("got %q", got)
			}
		},
		"rounds are limited": func(t *testing.T, h *held, p *peer) {
			got := p.say(askLine("1", slices.Repeat([]string{`{"state":"again"}`}, abi.MaxAskRounds+1)...))
			if len(got) != 1 || !strings.Contains(got[0], "asked the client more than 10 times") {
				t.Errorf("got %q", got)
			}
			got = p.say(askLine("2", slices.Repeat([]string{`{"state":"again"}`}, abi.MaxAskRounds)...))
			if len(got) != 1 || !strings.Contains(got[0], "round 10 of fake, state again") {
				t.Errorf("got %q", got)
			}
		},
		"answers are limited in size": func(t *testing.T, h *held, p *peer) {
			p.say(askLine("1", askRoots))
			answer := `{"jsonrpc":"2.0","id":"bulkhead-1","result":{"roots":[],"x":"` + strings.Repeat("x", abi.MaxAskAnswers) + `"}}`
			if got := p.say(answer); len(got) != 1 || !strings.Contains(got[0], "is too much") {
				t.Errorf("got %.300q", got)
			}
		},
		"a shutdown ends them": func(t *testing.T, h *held, p *peer) {
			p.say(askLine("1", askRoots))
			p.cancel()
			p.served <- <-p.served
			if got := p.out.lines(); len(got) != 1 || !strings.Contains(got[0], `"id":1,"error":{"code":-32000`) {
				t.Errorf("got %q", got)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHeld()
				p := connect(t, newGateway(t, Config{MaxInFlight: 3}, heldBackend(h)))
				p.say(initRoots)
				test(t, h, p)
				p.in.Close()
				<-p.served
			})
		})
	}
}

// TestAskInBatch checks that the calls of a batch ask at once, that a batch can have answers, and that the responses of the batch
// come together.
func TestAskInBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := connect(t, newGateway(t, Config{MaxInFlight: 1}, newFake()))
		p.say(strings.Replace(initRoots, "2025-11-25", "2025-03-26", 1))
		got := p.say("[" + askLine("1", askRoots) + "," + askLine("2", askRoots, askRoots) + "," + callLine("3", "echo") + "]")
		slices.Sort(got) // the calls run concurrently
		if len(got) != 2 || !strings.Contains(got[0], `"id":"bulkhead-1"`) || !strings.Contains(got[1], `"id":"bulkhead-2"`) {
			t.Fatalf("got %q, want two questions", got)
		}
		if got := p.say("[" + answerLine(1) + "," + answerLine(2) + "]"); len(got) != 1 || !strings.Contains(got[0], `"id":"bulkhead-3"`) {
			t.Fatalf("got %q, want another question", got)
		}
		got = p.say(answerLine(3))
		if len(got) != 1 || !strings.HasPrefix(got[0], "[") || strings.Count(got[0], `"result"`) != 3 {
			t.Errorf("got %q, want the responses of the batch", got)
		}
		if err := p.hangUp(); err != nil {
			t.Error(err)
		}
	})
}

func TestAskLocal(t *testing.T) {
	two := strings.Replace(askRoots, `"r"`, `"r1"`, 1) + "," + strings.Replace(askRoots, `"r"`, `"r2"`, 1)
	for name, c := range map[string]struct {
		answer string
		err    error
		want   string
	}{
		"answers":               {`{"roots":[]}`, nil, `round 2 of fake`},
		"a refusal":             {"", &abi.Error{Code: -1, Message: "no"}, `{\"error\":{\"code\":-1,\"message\":\"no\"}}`},
		"no JSON":               {`{`, nil, "its answer is invalid: it is not JSON"},
		"an invalid answer":     {`{}`, nil, "its answer is invalid: roots is not an array"},
		"answers of 4 MiB each": {`{"roots":[],"x":"` + strings.Repeat("x", abi.MaxAskAnswers-30) + `"}`, nil, "got answers of its client of more than 4194304 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			local := &Local{Can: interaction.Client{Roots: true}, Answer: func(context.Context, interaction.Request) (json.RawMessage, error) {
				return json.RawMessage(c.answer), c.err
			}}
			if err := newGateway(t, Config{}, newFake()).ServeLocal(t.Context(), strings.NewReader(askLine("1", two)+"\n"), &out, local); err != nil {
				t.Fatal(err)
			}
			if got := out.String(); !strings.Contains(got, c.want) {
				t.Errorf("got %.300s, want %s", got, c.want)
			}
		})
	}
}

// modernLine returns a modern call of the tool "ask" with more params.
func modernLine(id int, ask, more string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"ask","arguments":[%s],%s%s}}`, id, ask, askingMeta, more)
}

// asked says one line and returns the result, which asks.
func asked(t *testing.T, p *peer, line string) (requests map[string]abi.ClientRequest, state string) {
	t.Helper()
	got := p.say(line)
	var m struct {
		Result struct {
			ResultType    string
			InputRequests map[string]abi.ClientRequest
			RequestState  string
		}
	}
	if len(got) != 1 || json.Unmarshal([]byte(got[0]), &m) != nil || m.Result.ResultType != "input_required" || m.Result.RequestState == "" {
		t.Fatalf("got %q", got)
	}
	return m.Result.InputRequests, m.Result.RequestState
}

func TestAskModern(t *testing.T) {
	const second = `{"state":"two","requests":{"q":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}}}}`
	wantError := func(t *testing.T, got []string, words string) {
		t.Helper()
		if len(got) != 1 || !strings.Contains(got[0], `"error":{"code":-32602`) || !strings.Contains(got[0], words) {
			t.Errorf("got %q, want invalid params: %s", got, words)
		}
	}
	for name, test := range map[string]func(t *testing.T, p *peer){
		"two rounds": func(t *testing.T, p *peer) {
			requests, state := asked(t, p, modernLine(1, askRoots+","+second, ""))
			if got := slices.Collect(maps.Keys(requests)); !slices.Equal(got, []string{"r"}) || requests["r"].Method != "roots/list" {
				t.Errorf("asked %v", requests)
			}
			_, state = asked(t, p, modernLine(2, askRoots+","+second, `,"inputResponses":{"r":{"roots":[]},"unknown":7},"requestState":"`+state+`"`))
			// The order of members and the white space may differ, and so may _meta.
			got := p.say(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"requestState":"` + state + `","inputResponses":{"q":{"action":"decline"}},"arguments":[ {"requests":{"r":{"method":"roots\/list"}}},` + second + `], "name":"ask",` + strings.Replace(askingMeta, `{`, `{"other":9,`, 1) + `}}`)
			if want := `"text":"round 2 of fake, state two, answers {\"q\":{\"action\":\"decline\"},\"r\":{\"roots\":[]}}"`; len(got) != 1 || !strings.Contains(got[0], want) {
				t.Errorf("got %q, want %s", got, want)
			}
		},
		"the same call can be repeated with the same answers": func(t *testing.T, p *peer) {
			_, state := asked(t, p, modernLine(1, askRoots, ""))
			for id := range 2 {
				if got := p.say(modernLine(id+2, askRoots, `,"inputResponses":{"r":{"roots":[]}},"requestState":"`+state+`"`)); len(got) != 1 || !strings.Contains(got[0], "round 1 of") {
					t.Errorf("got %q", got)
				}
			}
		},
		"a missing answer is the plugin's to ask for again": func(t *testing.T, p *peer) {
			_, state := asked(t, p, modernLine(1, askRoots, ""))
			if got := p.say(modernLine(2, askRoots, `,"requestState":"`+state+`"`)); len(got) != 1 || !strings.Contains(got[0], "answers {}") {
				t.Errorf("got %q", got)
			}
		},
		"answers without a state are used when they are asked for": func(t *testing.T, p *peer) {
			const second = `{"requests":{"s":{"method":"roots/list"}}}`
			want := func(line, text string) {
				t.Helper()
				if got := p.say(line); len(got) != 1 || !strings.Contains(got[0], text) {
					t.Errorf("got %q, want %q", got, text)
				}
			}
			want(modernLine(1, askRoots, `,"inputResponses":{"r":{"roots":[]},"unknown":7}`), `round 1 of fake, state , answers {\"r\":{\"roots\":[]}}`)
			want(modernLine(2, askRoots+","+second, `,"inputResponses":{"r":{"roots":[]},"s":{"roots":[]}}`), "round 2 of fake")
			asked(t, p, modernLine(3, askRoots+","+second, `,"inputResponses":{"r":{"roots":[]}}`))
			asked(t, p, modernLine(4, askRoots, `,"inputResponses":{"other":{"roots":[]}}`))
			asked(t, p, modernLine(5, askRoots+","+askRoots, `,"inputResponses":{"r":{"roots":[]}}`)) // asked for again
			asked(t, p, modernLine(6, `{"state":"only a state"}`, `,"inputResponses":{"r":{"roots":[]}}`))
			wantError(t, p.say(modernLine(7, askRoots, `,"inputResponses":{"r":{"roots":7}}`)), "inputResponses: r: roots is not an array")
			wantError(t, p.say(modernLine(8, askRoots, `,"inputResponses":null`)), "inputResponses must be an object")
			want(modernLine(9, `{"requests":{"t":{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}}}`,
				`,"inputResponses":{"t":{"role":"assistant","model":"m","content":{"type":"text","text":"x"}}}`), `"code":-32021`)
		},
		"progress increases although the call runs twice": func(t *testing.T, p *peer) {
			line := strings.Replace(modernLine(1, askRoots, `,"inputResponses":{"r":{"roots":[]}}`), `"_meta":{`, `"_meta":{"progressToken":"p",`, 1)
			var reached []string
			for _, message := range p.say(line) {
				if _, progress, found := strings.Cut(message, `"progress":`); found {
					reached = append(reached, progress[:1])
				}
			}
			if want := []string{"1", "2", "3", "4"}; !slices.Equal(reached, want) {
				t.Errorf("got progress %q, want %q", reached, want)
			}
		},
		"an ambiguous answer is refused": func(t *testing.T, p *peer) {
			_, state := asked(t, p, modernLine(1, second, ""))
			for _, answer := range []string{`{"action":"accept","action":"none"}`, `{"action":"decline","Action":"accept"}`, `{"action":"accept","content":{},"CONTENT":7}`} {
				wantError(t, p.say(modernLine(2, second, `,"inputResponses":{"q":`+answer+`},"requestState":"`+state+`"`)), "inputResponses: q: the member ")
			}
		},
		"any string is an id": func(t *testing.T, p *peer) {
			const ask = `{"requests":{"__proto__":{"method":"roots\/list"},"a\u0000\u001b\u2028\"\\":{"method":"roots/list"}}}`
			requests, state := asked(t, p, modernLine(1, ask, ""))
			answers := map[string]json.RawMessage{}
			for id := range requests {
				answers[id] = json.RawMessage(`{"roots":[]}`)
			}
			all, err := json.Marshal(answers)
			if err != nil || len(answers) != 2 {
				t.Fatalf("asked %v, %v", requests, err)
			}
			got := p.say(modernLine(2, ask, `,"inputResponses":`+string(all)+`,"requestState":"`+state+`"`))
			var m struct {
				Result struct{ Content []struct{ Text string } }
			}
			if len(got) != 1 || json.Unmarshal([]byte(got[0]), &m) != nil || len(m.Result.Content) != 1 || !strings.HasSuffix(m.Result.Content[0].Text, string(all)) {
				t.Errorf("got %q, want the answers %s", got, all)
			}
			answers["a\x00\x1b\u2028\"\\"] = json.RawMessage("7")
			if all, err = json.Marshal(answers); err != nil {
				t.Fatal(err)
			}
			wantError(t, p.say(modernLine(3, ask, `,"inputResponses":`+string(all)+`,"requestState":"`+state+`"`)), "it is not an object")
		},
		"an expired state is refused": func(t *testing.T, p *peer) {
			_, state := asked(t, p, modernLine(1, askRoots, ""))
			time.Sleep(time.Minute)
			wantError(t, p.say(modernLine(2, askRoots, `,"requestState":"`+state+`"`)), "it has expired")
		},
		"a state is refused with other arguments, a changed one, and one of another server": func(t *testing.T, p *peer) {
			_, state := asked(t, p, modernLine(1, askRoots, ""))
			wantError(t, p.say(modernLine(2, second, `,"requestState":"`+state+`"`)), "not valid for this request")
			changed := []byte(state)
			changed[len(changed)/2] ^= 1
			wantError(t, p.say(modernLine(3, askRoots, `,"requestState":"`+string(changed)+`"`)), "not valid for this request")
			other, err := interaction.NewSealer().Seal(interaction.State{Expires: 1 << 60}, nil)
			if err != nil {
				t.Fatal(err)
			}
			wantError(t, p.say(modernLine(4, askRoots, `,"requestState":"`+other+`"`)), "not valid for this request")
		},
		"malformed members are refused": func(t *testing.T, p *peer) {
			_, state := asked(t, p, modernLine(1, askRoots, ""))
			wantError(t, p.say(modernLine(2, askRoots, `,"requestState":7`)), "requestState must be a string")
			wantError(t, p.say(modernLine(3, askRoots, `,"inputResponses":[],"requestState":"`+state+`"`)), "inputResponses must be an object")
			wantError(t, p.say(modernLine(4, askRoots, `,"inputResponses":{"r":{"roots":7}},"requestState":"`+state+`"`)), "inputResponses: r: roots is not an array")
			wantError(t, p.say(modernLine(5, askRoots, `,"requestState":"x","requestState":"`+state+`"`)), "requestState")
			wantError(t, p.say(modernLine(6, askRoots, `,"inputResponses":{"r":{"roots":[],"x":"`+strings.Repeat("x", abi.MaxAskAnswers)+`"}},"requestState":"`+state+`"`)), "the limit is 4194304")
		},
		"a client without the capability": func(t *testing.T, p *peer) {
			line := strings.Replace(modernLine(1, second, ""), `"elicitation":{}`, `"elicitation":{"url":{}}`, 1)
			if got := p.say(line); len(got) != 1 || !strings.Contains(got[0], `"error":{"code":-32021,"message":"ask needs a client that supports elicitation by forms","data":{"requiredCapabilities":{"elicitation":{"form":{}}}}}`) {
				t.Errorf("got %q", got)
			}
		},
		"rounds are limited": func(t *testing.T, p *peer) {
			asks := strings.Join(slices.Repeat([]string{`{"state":"again"}`}, abi.MaxAskRounds+1), ",")
			more := ""
			for round := range abi.MaxAskRounds {
				_, state := asked(t, p, modernLine(round+1, asks, more))
				more = `,"requestState":"` + state + `"`
			}
			if got := p.say(modernLine(99, asks, more)); len(got) != 1 || !strings.Contains(got[0], "asked the client more than 10 times") {
				t.Errorf("got %q", got)
			}
		},
		"a legacy request keeps members of these names": func(t *testing.T, p *peer) {
			got := p.say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","requestState":7,"arguments":[]}}`)
			if len(got) != 1 || !strings.Contains(got[0], "round 0 of") {
				t.Errorf("got %q", got)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := connect(t, newGateway(t, Config{}, newFake()))
				test(t, p)
				if err := p.hangUp(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
