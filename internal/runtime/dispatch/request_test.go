package dispatch_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/dispatch"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

func TestFailureTextIs(t *testing.T) {
	for name, c := range map[string]struct{ server, tool, want string }{
		"in the words of the host":                           {"", "", "bulkhead: it_reads took <5s> & {code}"},
		"in the words of the manifest":                       {"Error [{code}] in {tool} of {plugin}: {message}!", "", "Error [slow] in it_reads of it: took <5s> & {code}!"},
		"without omitted placeholders":                       {"Internal error", "", "Internal error"},
		"with repeated placeholders":                         {"{code}{code}", "", "slowslow"},
		"as JSON that stays JSON":                            {`{"why":"{tool} {message}"}`, "", `{"why":"it_reads took <5s> & {code}"}`},
		"in the words of its tool":                           {"", "{tool}, {code}", "it_reads, slow"},
		"in the words of its tool instead of the plugin's":   {"{message}", "{tool}, {code}", "it_reads, slow"},
		"in the words of the plugin if the tool's are empty": {"{message}", "", "took <5s> & {code}"},
		"in the words of its tool, as JSON that stays JSON":  {"{message}", `{"why":"{message}"}`, `{"why":"took <5s> & {code}"}`},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t, hosttest.Plugin("it", wasmtest.Answering(hosttest.Done), "[server]\nfailure = '"+c.server+"'\n"+hosttest.Reads("it_reads")+"failure = '"+c.tool+"'\n"))
			got := callOf(t, d, "it_reads").Failure("slow", "took <5s> & {code}")
			want := &gateway.Failure{Code: "slow", Plugin: "it", Tool: "it_reads", Message: "took <5s> & {code}", Text: c.want}
			hosttest.WantEqual(t, got, want)
		})
	}
}

func TestJSONFailureIsAlsoStructuredContent(t *testing.T) {
	h := hosttest.Open(t, hosttest.Plugin("it", wasmtest.Crashing(), "[server]\nfailure = '{\"ok\":false,\"why\":\"{code}: {message}\"}'\n"+hosttest.Reads("it_reads")))
	answer := hosttest.Call(t, h, "it_reads", "")
	var got struct {
		Content           []struct{ Text string }
		StructuredContent struct {
			OK  *bool
			Why string
		}
	}
	if err := json.Unmarshal(answer.Result, &got); err != nil {
		t.Fatal(err)
	}
	if s := got.StructuredContent; s.OK == nil || *s.OK || s.Why != "trap: crashed: wasm error: unreachable" || got.Content[0].Text == "" {
		t.Errorf("%s", answer.Result)
	}
}

// assembled returns a module that runs code in each call.
func assembled(code []byte, data string) []byte { return wasmtest.Plugin(code, data).Bytes() }

// ownWords is the part of a manifest that sets one failure template for the plugin and another one for its tool. The keys of the
// tool's schemas may be appended.
const ownWords = "[server]\nfailure = 'of the plugin'\n[[tools]]\nname = 'it_reads'\ndescription = 'does it'\naccess = 'read'\n" +
	"failure = '{tool} by itself: {code}'\n"

// textOf returns the text in an answer.
func textOf(t *testing.T, answer host.Answer) string {
	t.Helper()
	var result struct{ Content []struct{ Text string } }
	if err := json.Unmarshal(answer.Result, &result); err != nil || len(result.Content) != 1 {
		t.Fatalf("%v: %+v", err, answer)
	}
	return result.Content[0].Text
}

// The template of the tool formats every failure of a call, and takes precedence over the template of the plugin.
func TestEveryFailureUsesTemplateOfTool(t *testing.T) {
	const drop = 0x1a
	loop := assembled(wasmtest.Code(0x03, 0x40, 0x0c, 0, 0x0b), "")
	operation := wasmtest.Code(wasmtest.Invoke(wasmtest.HostCall, 0, 2), drop)
	exiting := wasmtest.Plugin(wasmtest.Invoke(wasmtest.Extra, 0), "", wasmtest.Import{Module: "wasi_snapshot_preview1", Name: "proc_exit", Type: wasmtest.OfI32})
	large := wasmtest.Plugin(nil, "")
	large.Memory = []byte{0, 2}
	nested := wasmtest.Plugin(nil, "")
	nested.Funcs[1].Code = wasmtest.Code(0x20, 0, 0x10, int(nested.Next())-1, 0x0b)
	for name, c := range map[string]struct {
		wasm                   []byte
		module, limits, schema string // additional lines for the tables [module], [limits] and the tool
		arguments              string
		spoil                  func(w *hosttest.World) error // called after the host was opened
		want                   string
	}{
		"arguments that do not match the schema":  {wasm: wasmtest.Answering(hosttest.Done), schema: "[tools.input]\ntype = 'object'\nrequired = ['id']\n", want: "invalid_arguments"},
		"a result of the wrong type":              {wasm: wasmtest.Answering(`{"result":{"content":7}}`), want: "invalid_result"},
		"a result that does not match the schema": {wasm: wasmtest.Answering(hosttest.Done), schema: "[tools.output]\ntype = 'object'\n", want: "invalid_result"},
		"an answer that is not a response":        {wasm: wasmtest.Answering("none"), want: "invalid_response"},
		"a crash":                                 {wasm: wasmtest.Crashing(), want: "trap"},
		"an exit":                                 {wasm: exiting.Bytes(), want: "exit"},
		"no answer":                               {wasm: assembled(nil, ""), want: "no_response"},
		"too much time":                           {wasm: loop, limits: "time = '20ms'", want: "timeout"},
		"too many instructions":                   {wasm: loop, limits: "fuel = 100000", want: "fuel"},
		"too much memory":                         {wasm: large.Bytes(), limits: "memory = '64KiB'", want: "memory"},
		"calls that nest too deep":                {wasm: nested.Bytes(), want: "stack_overflow"},
		"a request that is too large":             {wasm: wasmtest.Answering(hosttest.Done), limits: "input = '1KiB'", arguments: `{"a":"` + strings.Repeat("x", 1<<10) + `"}`, want: "input_too_large"},
		"an answer that is too large":             {wasm: wasmtest.Answering(strings.Repeat(" ", 1<<10) + hosttest.Done), limits: "output = '1KiB'", want: "output_too_large"},
		"too many operations":                     {wasm: assembled(wasmtest.Code(operation, operation), "{}"), limits: "operations = 1", want: "too_many_operations"},
		"a log that is too large":                 {wasm: assembled(wasmtest.Invoke(wasmtest.Log, 1, 0, 2<<10), strings.Repeat("x", 2<<10)), limits: "log = '1KiB'", want: "log_too_large"},
		"a wrong use of an import":                {wasm: assembled(wasmtest.Invoke(wasmtest.Output, 0, 1<<30), ""), want: "abi_misuse"},
		"a file that is not a module":             {wasm: []byte("none"), want: "invalid_module"},
		"a module with another digest":            {wasm: wasmtest.Answering(hosttest.Done), module: "sha256 = '" + strings.Repeat("0a", 32) + "'\n", want: "digest_mismatch"},
		"a module that is gone":                   {wasm: wasmtest.Answering(hosttest.Done), spoil: func(w *hosttest.World) error { return os.Remove(w.Dir + "/plugins/it/it.wasm") }, want: "module_missing"},
		"a sandbox that cannot be set up":         {wasm: wasmtest.Answering(hosttest.Done), spoil: func(w *hosttest.World) error { return os.WriteFile(w.Dir+"/state", nil, 0o600) }, want: "sandbox"},
	} {
		t.Run(name, func(t *testing.T) {
			w := hosttest.New(t, hosttest.Plugin("it", c.wasm, c.module+"[limits]\n"+c.limits+"\n"+ownWords+c.schema))
			h := w.Open(t, w.Options())
			if c.spoil != nil {
				if err := c.spoil(w); err != nil {
					t.Fatal(err)
				}
			}
			answer := hosttest.Call(t, h, "it_reads", c.arguments)
			if got, want := textOf(t, answer), "it_reads by itself: "+c.want; got != want || answer.Failure != c.want {
				t.Errorf("got %q, want %q: %+v", got, want, answer)
			}
		})
	}
	// These failures require another call, a person or a fault in the host, so the test calls Failed directly.
	d := open(t, hosttest.Plugin("it", wasmtest.Answering(hosttest.Done), ownWords))
	for _, code := range []engine.Code{engine.CodeQueue, engine.CodeCanceled, engine.CodeInternal} {
		var failure *gateway.Failure
		err := dispatch.Failed(callOf(t, d, "it_reads"), &engine.Error{Code: code})
		if want := "it_reads by itself: " + string(code); !errors.As(err, &failure) || failure.Text != want {
			t.Errorf("got %+v, want %q", err, want)
		}
	}
}

func TestTemplateOfToolAppliesToThatToolOnly(t *testing.T) {
	d := open(t, hosttest.Plugin("it", wasmtest.Answering(hosttest.Done), "[offers]\nprompts = true\n"+ownWords+hosttest.Reads("it_other")))
	if got := callOf(t, d, "it_other").Failure("slow", "took long").Text; got != "of the plugin" {
		t.Errorf("another tool: %q", got)
	}
	prompt, unknown := d.Find(call.Request{Method: abi.MethodPromptsGet, Name: "it_reads"})
	if unknown != nil {
		t.Fatal(unknown)
	}
	if got := prompt.Failure("slow", "took long").Text; got != "bulkhead: it_reads took long" {
		t.Errorf("a prompt with the name of the tool: %q", got)
	}
}

// If on_failure is "closed" and an audit record cannot be written, the call fails after it has run. The next call fails before it runs.
func TestAuditFailureUsesTemplateOfTool(t *testing.T) {
	w := hosttest.New(t, hosttest.Plugin("it", wasmtest.Answering(hosttest.Done), ownWords))
	log := w.Dir + "/audit.jsonl"
	w.Write(t, hosttest.Files{"work/bulkhead.toml": "[audit]\nfile = '" + log + "'\non_failure = 'closed'\n[[plugins]]\npath = '../plugins/it'\n"})
	h := w.Open(t, w.Options())
	hosttest.Call(t, h, "it_reads", "")
	if err := os.Rename(log, log+".1"); err != nil {
		t.Fatal(err)
	}
	w.Write(t, hosttest.Files{"audit.jsonl": "/"})
	for _, when := range []string{"it has run", "it runs"} {
		if got := textOf(t, hosttest.Call(t, h, "it_reads", "")); got != "it_reads by itself: audit" {
			t.Errorf("where %s: got %q", when, got)
		}
	}
}
