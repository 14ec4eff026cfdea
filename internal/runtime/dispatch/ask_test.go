package dispatch_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
)

// longRequest is a size in bytes. A request of these tests is longer if it contains an answer, which is padded, and otherwise shorter.
const longRequest = 400

// asking returns a module that responds to a long request with done, and to a shorter one with ask.
func asking(ask, done string) []byte { return wasmtest.Asking(longRequest, ask, done) }

const (
	askRoots   = `{"ask":{"requests":{"r":{"method":"roots/list"}},"state":"s"}}`
	askingMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}}}`
)

// rootsAnswer is an answer that is padded to make a request long.
var rootsAnswer = `{"roots":[],"padding":"` + strings.Repeat("x", longRequest) + `"}`

// stateOf returns the requestState in a result.
func stateOf(t *testing.T, result string) string {
	t.Helper()
	var r struct{ ResultType, RequestState string }
	if err := json.Unmarshal([]byte(result), &r); err != nil || r.ResultType != "input_required" {
		t.Fatalf("got %s, want input_required", result)
	}
	return r.RequestState
}

func answering(params, state string) string {
	return strings.TrimSuffix(params, "}") + fmt.Sprintf(`,"inputResponses":{"r":%s},"requestState":%q}`, rootsAnswer, state)
}

func TestAskIsGrantedAndAudited(t *testing.T) {
	const call = `{"name":"a_reads",` + askingMeta + `}`
	for name, c := range map[string]struct {
		manifest, config, ask string
		want                  string   // the expected first response
		audit                 []string // parts that the audit records must contain, in this order
	}{
		"granted": {`ask = ["roots"]`, "", askRoots, `"inputRequests":{"r":{"method":"roots/list","params":{}}}`,
			[]string{`"outcome":"asked","duration_us":`, `"operations":[{"op":"ask/roots","outcome":"ok","count":1}]`}},
		"not granted by the config": {`ask = ["roots"]`, "ask = []", askRoots, `"bulkhead/error":{"code":"denied","plugin":"a"}`,
			[]string{`"outcome":"failed","code":"denied"`, `"kind":"refused"`, `"op":"ask/roots","outcome":"denied","code":"denied","count":1`}},
		"not requested by the manifest": {`ask = ["sampling"]`, "", askRoots, `asked the client for roots, which is not granted`,
			[]string{`"outcome":"failed","code":"denied"`}},
		"a state without a grant": {``, "", `{"ask":{"state":"s"}}`, `"bulkhead/error":{"code":"denied","plugin":"a"}`, nil},
		"an invalid ask":          {`ask = ["roots"]`, "", `{"ask":{}}`, `"bulkhead/error":{"code":"invalid_response","plugin":"a"}`, nil},
		"an ask and a result":     {`ask = ["roots"]`, "", `{"ask":{"state":"s"},"result":{"content":[]}}`, `with both a result and an ask`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := hosttest.New(t, hosttest.Plugin("a", asking(c.ask, hosttest.Done), "[capabilities]\n"+c.manifest+"\n"+hosttest.Reads("a_reads")),
				hosttest.Files{"work/bulkhead.toml": "[audit]\nfile = \"${env:HOME}/log\"\non_failure = \"closed\"\n[[plugins]]\npath = \"../plugins/a\"\n" + c.config + "\n"})
			h := w.Open(t, w.Options())
			if got := hosttest.Request(t, h, "tools/call", call); !strings.Contains(got, c.want) {
				t.Errorf("got %s, want %s", got, c.want)
			}
			log, err := os.ReadFile(w.Dir + "/home/log")
			if err != nil {
				t.Fatal(err)
			}
			rest := string(log)
			for _, part := range c.audit {
				_, after, found := strings.Cut(rest, part)
				if !found {
					t.Fatalf("the log is %s, want %s", log, part)
				}
				rest = after
			}
		})
	}
}

func TestAnswersReachTheModule(t *testing.T) {
	w := hosttest.New(t, hosttest.Plugin("a", asking(askRoots, hosttest.Done), "[capabilities]\nask = ['roots']\n"+hosttest.Writes("a_writes")),
		hosttest.Files{"work/bulkhead.toml": "[audit]\nfile = \"${env:HOME}/log\"\non_failure = \"closed\"\n[[plugins]]\npath = \"../plugins/a\"\n"})
	h := w.Open(t, w.Options())
	const call = `{"name":"a_writes",` + askingMeta + `}`
	state := stateOf(t, hosttest.Request(t, h, "tools/call", call))
	if got := hosttest.Request(t, h, "tools/call", answering(call, state)); !strings.Contains(got, `"text":"done"`) {
		t.Errorf("got %s", got)
	}
	log, err := os.ReadFile(w.Dir + "/home/log")
	if err != nil || !strings.Contains(string(log), `"outcome":"ok"`) || !strings.Contains(string(log), `"round":1`) {
		t.Errorf("the log is %s, %v", log, err)
	}

	// A call in this process asks the client without messages.
	answer, err := h.Call(t.Context(), "a_writes", nil, host.Client{
		Capabilities: json.RawMessage(`{"roots":{}}`),
		Answer: func(_ context.Context, q host.Question) (json.RawMessage, error) {
			if q.ID != "r" || q.Method != "roots/list" || string(q.Params) != "{}" {
				t.Errorf("asked %+v", q)
			}
			return json.RawMessage(rootsAnswer), nil
		},
	})
	if err != nil || !strings.Contains(string(answer.Result), `"text":"done"`) {
		t.Errorf("got %s %+v, %v", answer.Result, answer.Error, err)
	}
	answer, err = h.Call(t.Context(), "a_writes", nil, host.Client{})
	if err != nil || answer.Failure != "client_unable" {
		t.Errorf("a client that can be asked nothing: got %s, %v", answer.Result, err)
	}
}

// TestNothingIsHeldWhileTheClientIsAsked makes a call that writes from inside the question of another one: of the plugin's queue,
// its only slot, its only instance and its time the first call holds nothing. What the client answers is not in the audit log.
func TestNothingIsHeldWhileTheClientIsAsked(t *testing.T) {
	w := hosttest.New(t, hosttest.Plugin("a", asking(askRoots, hosttest.Done), "[capabilities]\nask = ['roots']\n[limits]\nconcurrency = 1\ntime = '5s'\nqueue = '20s'\n"+hosttest.Writes("a_writes")),
		hosttest.Files{"work/bulkhead.toml": "[audit]\nfile = \"${env:HOME}/log\"\narguments = 'full'\non_failure = 'closed'\n[[plugins]]\npath = \"../plugins/a\"\n"})
	h := w.Open(t, w.Options())
	answer := json.RawMessage(`{"roots":[],"padding":"` + strings.Repeat("secret", longRequest) + `"}`)
	depth := 0
	var client host.Client
	client = host.Client{
		Capabilities: json.RawMessage(`{"roots":{}}`),
		Answer: func(ctx context.Context, _ host.Question) (json.RawMessage, error) {
			if depth++; depth == 3 {
				return answer, nil
			}
			inner, err := h.Call(ctx, "a_writes", nil, client)
			if err != nil || !strings.Contains(string(inner.Result), `"text":"done"`) {
				t.Errorf("a call while another one waits: got %s %+v, %v", inner.Result, inner.Error, err)
			}
			return answer, nil
		},
	}
	got, err := h.Call(t.Context(), "a_writes", nil, client)
	if err != nil || !strings.Contains(string(got.Result), `"text":"done"`) {
		t.Errorf("got %s %+v, %v", got.Result, got.Error, err)
	}
	log, err := os.ReadFile(w.Dir + "/home/log")
	if err != nil || strings.Count(string(log), `"outcome":"asked"`) != 3 || strings.Count(string(log), `"round":1`) != 3 || strings.Contains(string(log), "secret") {
		t.Errorf("the log is %s, %v", log, err)
	}
}

func TestAnswersAreForThePluginThatAsked(t *testing.T) {
	asker := func(version string) hosttest.Files {
		f := hosttest.Plugin("b", asking(askRoots, `{"result":`+hosttest.TextOf("b")+`}`), "[capabilities]\nask = ['roots']\n[offers]\nprompts = true\n")
		f["plugins/b/plugin.toml"] = strings.Replace(f["plugins/b/plugin.toml"], "0.1.0", version, 1)
		return f
	}
	w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering(nothing), "[offers]\nprompts = true\n"), asker("0.1.0"),
		hosttest.Offering("c", "prompts = true", hosttest.TextOf("c")),
		hosttest.Files{"work/bulkhead.toml": "[[plugins]]\npath = '../plugins/a'\n[[plugins]]\npath = '../plugins/b'\n[[plugins]]\npath = '../plugins/c'\n"})
	h := w.Open(t, w.Options())
	const get = `{"name":"it",` + askingMeta + `}`
	state := stateOf(t, hosttest.Request(t, h, "prompts/get", get))
	if got := hosttest.Request(t, h, "prompts/get", answering(get, state)); !strings.Contains(got, `"text":"b"`) {
		t.Errorf("got %s", got)
	}
	// The manifest has no digest of the module.
	module := asking(askRoots, `{"result":`+hosttest.TextOf("another b")+`}`)
	for _, files := range []hosttest.Files{{"plugins/b/it.wasm": string(module)}, asker("0.2.0")} {
		w.Write(t, files)
		if err := h.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := hosttest.Request(t, h, "prompts/get", answering(get, state)); !strings.Contains(got, `error {"code":-32602`) || !strings.Contains(got, "changed since it asked") {
			t.Errorf("after a change of %d files of the plugin: got %s", len(files), got)
		}
	}
}
