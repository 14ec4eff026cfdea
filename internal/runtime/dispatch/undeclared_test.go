package dispatch_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
)

// A misspelled optional argument has no effect on the tool, so the result and the log report it, with validation by the host and by the plugin.
func TestUndeclaredArgumentsAreReported(t *testing.T) {
	input := "[tools.input]\ntype = 'object'\nproperties.limit.type = 'integer'\n"
	byPlugin := hosttest.Plugin("own", wasmtest.Answering(`{"result":{"content":[],"isError":true,"_meta":{"a":1}}}`), hosttest.Reads("own_reads")+input)
	byPlugin["plugins/own/plugin.toml"] = strings.Replace(byPlugin["plugins/own/plugin.toml"], "[module]", "validate = 'plugin'\n[module]", 1)
	w := hosttest.New(t, byPlugin,
		hosttest.Plugin("hand", wasmtest.Answering(hosttest.Done), hosttest.Reads("hand_reads")+input),
		hosttest.Plugin("sad", wasmtest.Answering(`{"error":{"code":-7,"message":"m"}}`), hosttest.Reads("sad_reads")+input))
	h := w.Open(t, w.Options())
	for _, c := range []struct {
		tool, arguments string
		meta            string // of the result
		log             string
	}{
		{"hand_reads", `{"limit":3}`, ``, ``},
		{"hand_reads", ``, ``, ``},
		{"hand_reads", `{"limt":"secret"}`, `{"bulkhead/undeclared_arguments":[{"name":"limt","did_you_mean":"limit"}]}`, `tool=hand_reads arguments="limt (did you mean limit?)"`},
		{"own_reads", `{"limit":3}`, `{"a":1}`, ``},
		{"own_reads", `{"limt":"secret","b c":0}`, `{"bulkhead/undeclared_arguments":[{"name":"b c"},{"name":"limt","did_you_mean":"limit"}],"a":1}`, `tool=own_reads arguments="\"b c\", limt (did you mean limit?)"`},
		{"sad_reads", `{"limt":"secret"}`, ``, `tool=sad_reads arguments="limt (did you mean limit?)"`},
	} {
		before := len(w.Log.String())
		answer, err := h.Call(t.Context(), c.tool, json.RawMessage(c.arguments), host.Client{})
		if err != nil {
			t.Fatal(err)
		}
		var result struct {
			Meta json.RawMessage `json:"_meta"`
		}
		if answer.Result != nil {
			if err := json.Unmarshal(answer.Result, &result); err != nil {
				t.Fatal(err)
			}
		}
		if string(result.Meta) != c.meta {
			t.Errorf("%s %s: the result has _meta %s, want %s", c.tool, c.arguments, result.Meta, c.meta)
		}
		log := w.Log.String()[before:]
		if reported := strings.Contains(log, "does not declare"); reported != (c.log != "") || !strings.Contains(log, c.log) || strings.Contains(log, "secret") {
			t.Errorf("%s %s: the log has %s\nwant %q", c.tool, c.arguments, log, c.log)
		}
	}
}

// TestUndeclaredArgumentsAreLoggedOnce checks that a call which waits for the user is reported when it has run, not in each round.
func TestUndeclaredArgumentsAreLoggedOnce(t *testing.T) {
	w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), hosttest.Writes("a_writes")+"[tools.input]\ntype = 'object'\nproperties.limit.type = 'integer'\n"),
		hosttest.Files{"work/bulkhead.toml": "[[plugins]]\npath = '../plugins/a'\napprove_writes = true\n"})
	h := w.Open(t, w.Options())
	const params = `{"name":"a_writes","arguments":{"limt":3},` + formMeta + `}`
	var asked struct{ RequestState string }
	if err := json.Unmarshal([]byte(hosttest.Request(t, h, "tools/call", params)), &asked); err != nil || asked.RequestState == "" {
		t.Fatalf("got %+v, %v", asked, err)
	}
	if got := hosttest.Request(t, h, "tools/call", with(params, approves, asked.RequestState)); !strings.Contains(got, `"text":"done"`) {
		t.Fatalf("got %s", got)
	}
	if n := strings.Count(w.Log.String(), "does not declare"); n != 1 {
		t.Errorf("the log has %d warnings\n%s", n, &w.Log)
	}
}
