package dispatch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
)

const (
	formMeta    = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"roots":{}}}`
	approveCall = `{"name":"a_writes","arguments":{"text":"hello"},` + formMeta + `}`
	approves    = `{"bulkhead_approval":{"action":"accept","content":{"approve":true}}}`
	auditTable  = "[audit]\nfile = \"${env:HOME}/log\"\non_failure = \"closed\"\n"
)

// approving opens a host with one plugin, whose module is given, and that can ask for roots. table are keys of its table in the config.
func approving(t *testing.T, module []byte, table string) (*hosttest.World, *host.Host) {
	t.Helper()
	w := hosttest.New(t, hosttest.Plugin("a", module, "[capabilities]\nask = ['roots']\n"+hosttest.Writes("a_writes")+hosttest.Reads("a_reads")),
		hosttest.Files{"work/bulkhead.toml": auditTable + "[[plugins]]\npath = \"../plugins/a\"\n" + table + "\n"})
	return w, w.Open(t, w.Options())
}

// with returns the params of a further round.
func with(params, responses, state string) string {
	return strings.TrimSuffix(params, "}") + fmt.Sprintf(`,"inputResponses":%s,"requestState":%q}`, responses, state)
}

func auditLog(t *testing.T, w *hosttest.World) string {
	t.Helper()
	log, err := os.ReadFile(w.Dir + "/home/log")
	if err != nil {
		t.Fatal(err)
	}
	return string(log)
}

func TestApprovalIsRequired(t *testing.T) {
	w, h := approving(t, wasmtest.Answering(hosttest.Done), "approve_writes = true")
	first := hosttest.Request(t, h, "tools/call", approveCall)
	var asked struct {
		InputRequests map[string]struct {
			Method string
			Params struct{ Message string }
		}
	}
	if err := json.Unmarshal([]byte(first), &asked); err != nil || asked.InputRequests["bulkhead_approval"].Method != "elicitation/create" {
		t.Fatalf("got %s, %v", first, err)
	}
	const want = `Bulkhead asks for your approval: this call runs only if you approve it.

Server: a
Plugin: a 0.1.0
Tool: a_writes
Arguments, complete, as the client sent them. Their lines begin with |, and with + where a line continues:

    | {
    |   "text": "hello"
    | }
`
	if got := asked.InputRequests["bulkhead_approval"].Params.Message; got != want {
		t.Errorf("the user is shown\n%s\nwant\n%s", got, want)
	}
	for _, c := range []struct{ name, responses, want string }{
		{"an answer that declines", `{"bulkhead_approval":{"action":"decline"}}`, "approval_declined"},
		{"an answer that cancels", `{"bulkhead_approval":{"action":"cancel"}}`, "approval_cancelled"},
		{"an answer without the field", `{"bulkhead_approval":{"action":"accept"}}`, "approval_declined"},
		{"an answer with false", `{"bulkhead_approval":{"action":"accept","content":{"approve":false}}}`, "approval_declined"},
		{"an answer with a string", `{"bulkhead_approval":{"action":"accept","content":{"approve":"true"}}}`, "approval_declined"},
		{"an answer with both", `{"bulkhead_approval":{"action":"accept","content":{"approve":false,"approve":true}}}`, "approval_unable"},
		{"two answers", `{"bulkhead_approval":{"action":"decline"},"bulkhead_approval":{"action":"accept","content":{"approve":true}}}`, "approval_unable"},
		{"an error", `{"bulkhead_approval":{"error":{"code":-1,"message":"no"}}}`, "approval_unable"},
		{"no answer", `{}`, `"input_required"`},
		{"the answer to another question", `{"r":{"action":"accept","content":{"approve":true}}}`, `"input_required"`},
	} {
		if got := hosttest.Request(t, h, "tools/call", with(approveCall, c.responses, stateOf(t, first))); !strings.Contains(got, c.want) || strings.Contains(got, `"done"`) {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
	if got := hosttest.Request(t, h, "tools/call", with(approveCall, approves, stateOf(t, first))); !strings.Contains(got, `"text":"done"`) {
		t.Errorf("an approved call: got %s", got)
	}
	if got := hosttest.Request(t, h, "tools/call", with(approveCall, approves, stateOf(t, first))); !strings.Contains(got, "approval_replayed") {
		t.Errorf("an approval that was used: got %s", got)
	}
	log := auditLog(t, w)
	for _, part := range []string{`"outcome":"asked","code":"approve"`, `"outcome":"denied","code":"approval_declined"`, `"code":"approval_cancelled"`, `"code":"approval_unable"`,
		`"outcome":"ok"`, `"operations":[{"op":"approve","outcome":"ok","count":1}]`, `"code":"approval_replayed"`} {
		if !strings.Contains(log, part) {
			t.Errorf("the log has no %s: %s", part, log)
		}
	}
	if strings.Contains(log, "hello") {
		t.Errorf("the log has the arguments: %s", log)
	}
}

// TestApprovalBindsRequest checks that an approval counts for the call that was shown, and for no other one.
func TestApprovalBindsRequest(t *testing.T) {
	_, h := approving(t, wasmtest.Answering(hosttest.Done), "approve_writes = true")
	for _, ahead := range []string{
		strings.TrimSuffix(approveCall, "}") + `,"inputResponses":` + approves + `}`,
		strings.TrimSuffix(approveCall, "}") + `,"inputResponses":` + approves + `,"requestState":null}`,
	} {
		if got := hosttest.Request(t, h, "tools/call", ahead); strings.Contains(got, `"done"`) {
			t.Errorf("an answer ahead of the question approves: %s", got)
		}
	}
	state := stateOf(t, hosttest.Request(t, h, "tools/call", approveCall))
	for name, other := range map[string]string{
		"other arguments":      strings.Replace(approveCall, "hello", "bye", 1),
		"further arguments":    strings.Replace(approveCall, `"hello"`, `"hello","more":1`, 1),
		"no arguments":         strings.Replace(approveCall, `"arguments":{"text":"hello"},`, "", 1),
		"a further parameter":  strings.Replace(approveCall, `{"name"`, `{"more":1,"name"`, 1),
		"another tool":         strings.Replace(approveCall, "a_writes", "a_reads", 1),
		"a changed state":      approveCall,
		"a state that is none": approveCall,
	} {
		of := state
		switch name {
		case "a changed state":
			of = state[:len(state)-9] + "A" + state[len(state)-8:]
		case "a state that is none":
			of = ""
		}
		if got := hosttest.Request(t, h, "tools/call", with(other, approves, of)); !strings.Contains(got, `"code":-32602`) {
			t.Errorf("%s: got %s", name, got)
		}
	}
	same := strings.Replace(approveCall, `{"text":"hello"}`, `{ "text" : "\u0068ello" }`, 1)
	if got := hosttest.Request(t, h, "tools/call", with(same, approves, state)); !strings.Contains(got, `"done"`) {
		t.Errorf("the same arguments in another encoding: got %s", got)
	}
	const two, exchanged = `"arguments":{"text":"hello","more":[1]}`, `"arguments":{"more":[1],"text":"hello"}`
	call := strings.Replace(approveCall, `"arguments":{"text":"hello"}`, two, 1)
	state = stateOf(t, hosttest.Request(t, h, "tools/call", call))
	if got := hosttest.Request(t, h, "tools/call", with(strings.Replace(call, two, exchanged, 1), approves, state)); !strings.Contains(got, `"done"`) {
		t.Errorf("the same arguments in another order: got %s", got)
	}
}

func TestApprovalCountsOnceForConcurrentCalls(t *testing.T) {
	_, h := approving(t, wasmtest.Answering(hosttest.Done), "approve_tools = ['a_*']")
	again := with(approveCall, approves, stateOf(t, hosttest.Request(t, h, "tools/call", approveCall)))
	var mu sync.Mutex
	ran, replayed := 0, 0
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			answer, err := h.Ask(t.Context(), "tools/call", json.RawMessage(again), host.Client{})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil && strings.Contains(string(answer.Result), `"done"`):
				ran++
			case err == nil && answer.Failure == "approval_replayed":
				replayed++
			default:
				t.Errorf("got %s %+v, %v", answer.Result, answer.Error, err)
			}
		})
	}
	all.Wait()
	if ran != 1 || replayed != 99 {
		t.Errorf("%d calls ran and %d were refused, want 1 and 99", ran, replayed)
	}
}

// TestApprovalPrecedesQuestions checks a call whose module asks the client itself: approval comes first, and each later state counts once.
func TestApprovalPrecedesQuestions(t *testing.T) {
	_, h := approving(t, asking(askRoots, hosttest.Done), "approve_writes = true")
	const call = `{"name":"a_writes",` + formMeta + `}`
	first := hosttest.Request(t, h, "tools/call", call)
	if !strings.Contains(first, "bulkhead_approval") || strings.Contains(first, "roots/list") {
		t.Fatalf("got %s, want the question of the host only", first)
	}
	roots := `{"r":` + rootsAnswer + `,"bulkhead_approval":{"action":"accept","content":{"approve":true}}}`
	second := hosttest.Request(t, h, "tools/call", with(call, roots, stateOf(t, first)))
	if !strings.Contains(second, "roots/list") || strings.Contains(second, "bulkhead_approval") {
		t.Fatalf("got %s, want the question of the module only: an answer ahead of it does not count", second)
	}
	last := with(call, roots, stateOf(t, second))
	if got := hosttest.Request(t, h, "tools/call", last); !strings.Contains(got, `"done"`) {
		t.Errorf("got %s", got)
	}
	for name, again := range map[string]string{"the last state": last, "the first state": with(call, roots, stateOf(t, first))} {
		if got := hosttest.Request(t, h, "tools/call", again); !strings.Contains(got, "approval_replayed") {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

func TestApprovalOfClientThatCannotAsk(t *testing.T) {
	w, h := approving(t, wasmtest.Answering(hosttest.Done), "approve_writes = true")
	if got := hosttest.Request(t, h, "tools/call", strings.Replace(approveCall, `"elicitation":{},`, "", 1)); !strings.Contains(got, `-32021`) || !strings.Contains(got, `"requiredCapabilities":{"elicitation":{"form":{}}}`) {
		t.Errorf("modern: got %s", got)
	}
	answer, err := h.Call(t.Context(), "a_writes", nil, host.Client{})
	if err != nil || answer.Failure != "approval_unable" || !strings.Contains(string(answer.Result), "a_writes needs the approval of the user, who cannot be asked here: call it directly") {
		t.Errorf("local: got %s, %v", answer.Result, err)
	}
	if log := auditLog(t, w); strings.Count(log, `"outcome":"denied","code":"approval_unable"`) != 2 {
		t.Errorf("the log is %s", log)
	}
}

func TestApprovalInProcess(t *testing.T) {
	w, h := approving(t, asking(askRoots, hosttest.Done), "approve_writes = true")
	for _, c := range []struct {
		decision host.Decision
		err      error
		want     string
	}{
		{host.Approved, nil, ""}, {host.Declined, nil, "approval_declined"}, {host.Cancelled, nil, "approval_cancelled"}, {"", errors.New("no terminal"), "approval_unable"},
	} {
		questions := 0
		client := host.Client{
			Capabilities: json.RawMessage(`{"roots":{}}`),
			Answer: func(context.Context, host.Question) (json.RawMessage, error) {
				return json.RawMessage(rootsAnswer), nil
			},
			Approve: func(_ context.Context, text string) (host.Decision, error) {
				if questions++; !strings.Contains(text, "Tool: a_writes\n") {
					t.Errorf("asked %s", text)
				}
				return c.decision, c.err
			},
		}
		answer, err := h.Call(t.Context(), "a_writes", nil, client)
		if err != nil || answer.Failure != c.want || questions != 1 || c.want == "" && !strings.Contains(string(answer.Result), `"done"`) {
			t.Errorf("%s: got %s, %v after %d questions", c.decision, answer.Result, err, questions)
		}
	}
	if log := auditLog(t, w); strings.Count(log, `"op":"approve"`) != 2 { // the two rounds of the call that ran
		t.Errorf("the log is %s", log)
	}
}

func TestApprovalOfWhatCannotBeShown(t *testing.T) {
	_, h := approving(t, wasmtest.Answering(hosttest.Done), "approve_writes = true")
	for name, arguments := range map[string]string{
		"too large":  `{"text":"` + strings.Repeat("x", 100_000) + `"}`,
		"duplicates": `{"text":"a","TEXT":"b"}`,
	} {
		got := hosttest.Request(t, h, "tools/call", strings.Replace(approveCall, `{"text":"hello"}`, arguments, 1))
		if !strings.Contains(got, "approval_not_shown") {
			t.Errorf("%s: got %s", name, got)
		}
	}
}

// TestApprovalEndsWithPluginVersion checks that an approval does not count for another version of the plugin.
func TestApprovalEndsWithPluginVersion(t *testing.T) {
	w, h := approving(t, wasmtest.Answering(hosttest.Done), "approve_writes = true")
	again := with(approveCall, approves, stateOf(t, hosttest.Request(t, h, "tools/call", approveCall)))
	manifest, err := os.ReadFile(w.Dir + "/plugins/a/plugin.toml")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(w.Dir+"/plugins/a/plugin.toml", append(manifest, "# another version\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := h.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := hosttest.Request(t, h, "tools/call", again); !strings.Contains(got, "has changed since it asked the client") {
		t.Errorf("got %s", got)
	}
}

// TestApprovalAfterReload checks that a decision counts also if the config requires none any more, and that a config that has come to require
// one applies to calls that were asked something by their module before.
func TestApprovalAfterReload(t *testing.T) {
	w, h := approving(t, asking(askRoots, hosttest.Done), "approve_writes = true")
	reload := func(table string) {
		t.Helper()
		content := auditTable + "[[plugins]]\npath = \"../plugins/a\"\n" + table + "\n"
		if err := os.WriteFile(w.Dir+"/work/bulkhead.toml", []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := h.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	const call = `{"name":"a_writes",` + formMeta + `}`
	state := stateOf(t, hosttest.Request(t, h, "tools/call", call))
	reload("")
	if got := hosttest.Request(t, h, "tools/call", with(call, `{"bulkhead_approval":{"action":"decline"}}`, state)); !strings.Contains(got, "approval_declined") {
		t.Errorf("a declined call: got %s", got)
	}
	state = stateOf(t, hosttest.Request(t, h, "tools/call", call)) // of the module
	reload("approve_tools = ['a_writes']")
	answered := `{"r":` + rootsAnswer + `,"bulkhead_approval":{"action":"accept","content":{"approve":true}}}`
	asked := hosttest.Request(t, h, "tools/call", with(call, answered, state))
	if !strings.Contains(asked, "bulkhead_approval") {
		t.Fatalf("a later round of a call that was not approved: got %s", asked)
	}
	if got := hosttest.Request(t, h, "tools/call", with(call, approves, stateOf(t, asked))); !strings.Contains(got, `"done"`) {
		t.Errorf("the module does not get the answer of before: %s", got)
	}
	reload("deny_tools = ['a_writes']")
	if got := hosttest.Request(t, h, "tools/call", with(call, approves, state)); !strings.Contains(got, "-32602") {
		t.Errorf("a tool that is denied since: got %s", got)
	}
}

// TestApprovalOfResourcesAndPrompts checks requests that run code of a plugin that can write, without calling a tool. If several plugins may
// have what is requested, each of them needs an approval of its own.
func TestApprovalOfResourcesAndPrompts(t *testing.T) {
	const rw = "[[capabilities.fs]]\npath = '${project}'\naccess = 'rw'\n"
	lacking := hosttest.Plugin("a", wasmtest.Answering(nothing), "[offers]\nprompts = true\nresources = true\n"+rw)
	having := hosttest.Plugin("b", wasmtest.Answering(`{"result":`+hosttest.TextOf("b")+`}`), "[offers]\nprompts = true\nresources = true\n"+rw)
	w := hosttest.New(t, lacking, having, hosttest.Files{
		"work/bulkhead.toml": "[defaults]\napprove_writes = true\n[[plugins]]\npath = \"../plugins/a\"\n[[plugins]]\npath = \"../plugins/b\"\n",
	})
	h := w.Open(t, w.Options())
	for method, params := range map[string]string{"prompts/get": `{"name":"it",` + formMeta + `}`, "resources/read": `{"uri":"it:x",` + formMeta + `}`} {
		first := hosttest.Request(t, h, method, params)
		if !strings.Contains(first, `Plugin: a 0.1.0\nRequest: `+method) {
			t.Fatalf("%s: got %s, want the question for plugin a", method, first)
		}
		if got := hosttest.Request(t, h, method, with(params, `{"bulkhead_approval":{"action":"decline"}}`, stateOf(t, first))); !strings.Contains(got, "approval_declined") {
			t.Errorf("%s: a declined request: got %s", method, got)
		}
		second := hosttest.Request(t, h, method, with(params, approves, stateOf(t, first)))
		if !strings.Contains(second, `Plugin: b 0.1.0\nRequest: `+method) {
			t.Fatalf("%s: got %s, want the question for plugin b", method, second)
		}
		for name, c := range map[string]struct{ params, want string }{
			"the approval of the other plugin": {with(params, approves, stateOf(t, first)), "approval_replayed"},
			"both are approved":                {with(params, approves, stateOf(t, second)), `b`},
		} {
			if got := hosttest.Request(t, h, method, c.params); !strings.Contains(got, c.want) || strings.Contains(got, "input_required") {
				t.Errorf("%s: %s: got %s, want %s", method, name, got, c.want)
			}
		}
		if got := hosttest.Request(t, h, method, with(params, approves, stateOf(t, second))); !strings.Contains(got, "approval_replayed") {
			t.Errorf("%s: an approval that was used: got %s", method, got)
		}
	}
	if got := hosttest.Request(t, h, "resources/list", `{`+formMeta+`}`); strings.Contains(got, "bulkhead_approval") {
		t.Errorf("a list: got %s", got)
	}
}

// TestApprovalThroughToolOfHost checks that the user is shown the tool that is called in the end, with its arguments.
func TestApprovalThroughToolOfHost(t *testing.T) {
	w := searching(t, "", "approve_tools = ['a_put']\n")
	h := w.Open(t, w.Options())
	const call = `{"name":"write_tool","arguments":{"name":"a_put","arguments":{"id":"x"}},` + formMeta + `}`
	first := hosttest.Request(t, h, "tools/call", call)
	if !strings.Contains(first, `Tool: a_put\n`) || !strings.Contains(first, `    | {\n    |   \"id\": \"x\"\n    | }`) || strings.Contains(first, "write_tool") {
		t.Errorf("got %s", first)
	}
	state := stateOf(t, first)
	for name, other := range map[string]string{
		"a direct call":   strings.Replace(call, `"name":"write_tool","arguments":{"name":"a_put","arguments":{"id":"x"}}`, `"name":"a_put","arguments":{"id":"x"}`, 1),
		"other arguments": strings.Replace(call, `"x"`, `"y"`, 1),
	} {
		if got := hosttest.Request(t, h, "tools/call", with(other, approves, state)); !strings.Contains(got, "-32602") {
			t.Errorf("%s: got %s", name, got)
		}
	}
	if got := hosttest.Request(t, h, "tools/call", with(call, approves, state)); !strings.Contains(got, `"done"`) {
		t.Errorf("got %s", got)
	}
	if got := hosttest.Request(t, h, "tools/call", with(call, approves, state)); !strings.Contains(got, "approval_replayed") {
		t.Errorf("an approval that was used: got %s", got)
	}
}
