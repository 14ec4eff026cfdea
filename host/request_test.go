package host

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

func TestATemplateThatIsJSONStaysJSON(t *testing.T) {
	values := map[string]string{"{message}": "said \"no\"\n\\o/", "{code}": "trap"}
	for template, want := range map[string]string{
		`{"a":"{code}: {message}"}`:  "trap: said \"no\"\n\\o/",
		`{"a":"{message}{message}"}`: "said \"no\"\n\\o/said \"no\"\n\\o/",
	} {
		var got struct{ A string }
		text := fill(template, values)
		if err := json.Unmarshal([]byte(text), &got); err != nil || got.A != want {
			t.Errorf("%s: %v %q in %s", template, err, got.A, text)
		}
	}
	if got := fill("{code}: {message}", values); got != "trap: said \"no\"\n\\o/" {
		t.Errorf("a template that is a text: %q", got)
	}
}

func TestAFailureThatIsJSONIsStructuredContentToo(t *testing.T) {
	h := newWorldHost(t, handmade("it", crashing(), "[server]\nfailure = '{\"ok\":false,\"why\":\"{code}: {message}\"}'\n"+reads("it_reads")))
	answer := asked(t, h, "it_reads", "")
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

// ownWords are a manifest whose one tool words its failures otherwise than the plugin does; behind it its schemas
// may follow.
const ownWords = "[server]\nfailure = 'of the plugin'\n[[tools]]\nname = 'it_reads'\ndescription = 'does it'\naccess = 'read'\n" +
	"failure = '{tool} by itself: {code}'\n"

// textOf is the text of an answer.
func textOf(t *testing.T, answer Answer) string {
	t.Helper()
	var result struct{ Content []struct{ Text string } }
	if err := json.Unmarshal(answer.Result, &result); err != nil || len(result.Content) != 1 {
		t.Fatalf("%v: %+v", err, answer)
	}
	return result.Content[0].Text
}

// Whatever a call fails with, the template of its tool words it, and not that of the plugin.
func TestAToolWordsItsFailures(t *testing.T) {
	const drop = 0x1a
	loop := module(wasmtest.Code(0x03, 0x40, 0x0c, 0, 0x0b), "")
	operation := wasmtest.Code(wasmtest.Invoke(wasmtest.HostCall, 0, 2), drop)
	exiting := wasmtest.Plugin(wasmtest.Invoke(wasmtest.Extra, 0), "", wasmtest.Import{Module: "wasi_snapshot_preview1", Name: "proc_exit", Type: wasmtest.OfI32})
	large := wasmtest.Plugin(nil, "")
	large.Memory = []byte{0, 2}
	nested := wasmtest.Plugin(nil, "")
	nested.Funcs[1].Code = wasmtest.Code(0x20, 0, 0x10, int(nested.Next())-1, 0x0b)
	for name, c := range map[string]struct {
		wasm                   []byte
		module, limits, schema string // of the manifest
		arguments              string
		spoil                  func(w *world) error // once the host is open
		want                   string
	}{
		"arguments that do not fit its schema": {wasm: answering(done), schema: "[tools.input]\ntype = 'object'\nrequired = ['id']\n", want: "invalid_arguments"},
		"a result that nobody can read":        {wasm: answering(`{"result":{"content":7}}`), want: "invalid_result"},
		"a result that breaks its promise":     {wasm: answering(done), schema: "[tools.output]\ntype = 'object'\n", want: "invalid_result"},
		"an answer that is none":               {wasm: answering("none"), want: "invalid_response"},
		"a crash":                              {wasm: crashing(), want: "trap"},
		"an exit":                              {wasm: exiting.Bytes(), want: "exit"},
		"no answer":                            {wasm: module(nil, ""), want: "no_response"},
		"too much time":                        {wasm: loop, limits: "time = '20ms'", want: "timeout"},
		"too many instructions":                {wasm: loop, limits: "fuel = 100000", want: "fuel"},
		"too much memory":                      {wasm: large.Bytes(), limits: "memory = '64KiB'", want: "memory"},
		"calls that nest too deep":             {wasm: nested.Bytes(), want: "stack_overflow"},
		"a request that is too large":          {wasm: answering(done), limits: "input = '1KiB'", arguments: `{"a":"` + strings.Repeat("x", 1<<10) + `"}`, want: "input_too_large"},
		"an answer that is too large":          {wasm: answering(strings.Repeat(" ", 1<<10) + done), limits: "output = '1KiB'", want: "output_too_large"},
		"too many operations":                  {wasm: module(wasmtest.Code(operation, operation), "{}"), limits: "operations = 1", want: "too_many_operations"},
		"a log that is too large":              {wasm: module(wasmtest.Invoke(wasmtest.Log, 1, 0, 2<<10), strings.Repeat("x", 2<<10)), limits: "log = '1KiB'", want: "log_too_large"},
		"a wrong use of an import":             {wasm: module(wasmtest.Invoke(wasmtest.Output, 0, 1<<30), ""), want: "abi_misuse"},
		"what is no module":                    {wasm: []byte("none"), want: "invalid_module"},
		"another module":                       {wasm: answering(done), module: "sha256 = '" + strings.Repeat("0a", 32) + "'\n", want: "digest_mismatch"},
		"a module that is gone":                {wasm: answering(done), spoil: func(w *world) error { return os.Remove(w.dir + "/plugins/it/it.wasm") }, want: "module_missing"},
		"a sandbox that cannot be set up":      {wasm: answering(done), spoil: func(w *world) error { return os.WriteFile(w.dir+"/state", nil, 0o600) }, want: "sandbox"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, handmade("it", c.wasm, c.module+"[limits]\n"+c.limits+"\n"+ownWords+c.schema))
			h := w.open(t, w.options())
			if c.spoil != nil {
				if err := c.spoil(w); err != nil {
					t.Fatal(err)
				}
			}
			answer := asked(t, h, "it_reads", c.arguments)
			if got, want := textOf(t, answer), "it_reads by itself: "+c.want; got != want || answer.Failure != c.want {
				t.Errorf("got %q, want %q: %+v", got, want, answer)
			}
		})
	}
	// What needs another call, a person or a fault in the host.
	h := newWorldHost(t, handmade("it", answering(done), ownWords))
	for _, code := range []engine.Code{engine.CodeQueue, engine.CodeCanceled, engine.CodeInternal} {
		var failure *gateway.Failure
		err := callOf(t, h, "it_reads").failed(&engine.Error{Code: code})
		if want := "it_reads by itself: " + string(code); !errors.As(err, &failure) || failure.Text != want {
			t.Errorf("got %+v, want %q", err, want)
		}
	}
}

func TestAToolsWordsAreNobodyElses(t *testing.T) {
	h := newWorldHost(t, handmade("it", answering(done), ownWords+reads("it_other")))
	if got := callOf(t, h, "it_other").Failure("slow", "took long").Text; got != "of the plugin" {
		t.Errorf("another tool: %q", got)
	}
	prompt := h.plugins[0].ask(gateway.Request{Method: abi.MethodPromptsGet, Name: "it_reads"}, false)
	if got := prompt.Failure("slow", "took long").Text; got != "bulkhead: it_reads took long" {
		t.Errorf("a prompt of that name: %q", got)
	}
}

// A call that must not go unrecorded fails once it has run, and the next one before it runs.
func TestAToolWordsThatNoRecordCouldBeKept(t *testing.T) {
	w := newWorld(t, handmade("it", answering(done), ownWords))
	log := w.dir + "/audit.jsonl"
	w.write(t, files{"work/bulkhead.toml": "[audit]\nfile = '" + log + "'\non_failure = 'closed'\n[[plugins]]\npath = '../plugins/it'\n"})
	h := w.open(t, w.options())
	asked(t, h, "it_reads", "")
	if err := os.Rename(log, log+".1"); err != nil {
		t.Fatal(err)
	}
	w.write(t, files{"audit.jsonl": "/"})
	for _, when := range []string{"it has run", "it runs"} {
		if got := textOf(t, asked(t, h, "it_reads", "")); got != "it_reads by itself: audit" {
			t.Errorf("where %s: got %q", when, got)
		}
	}
}
