package host_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
)

// operator returns a module that performs a host operation, logs its result, and answers with body.
func operator(request, body string) []byte {
	const localGet, localSet, callFunction, free = 0x20, 0x21, 0x10, 40_000
	return wasmtest.Plugin(wasmtest.Code(
		wasmtest.Invoke(wasmtest.HostCall, 0, int32(len(request))), localSet, 0,
		wasmtest.I32(free), localGet, 0, callFunction, wasmtest.HostResult,
		wasmtest.I32(3), wasmtest.I32(free), localGet, 0, callFunction, wasmtest.Log,
		wasmtest.Invoke(wasmtest.Output, int32(len(request)), int32(len(body))),
	), request+body).Bytes()
}

// scriptModule is the runner of scripts, as a module that makes the same calls whatever the script is. It shows what the host does with them;
// tests/script_test.go runs scripts.
func scriptModule(calls string) hosttest.Files {
	return scriptRunner(operator(`{"op":"tools/call","params":`+calls+`}`, `{"result":{"content":[],"structuredContent":{"value":"[1]"}}}`))
}

func scriptRunner(module []byte) hosttest.Files {
	return hosttest.Plugin("script", module, "kind = \"script\"\n[limits]\nmemory = \"1MiB\"\n[[tools]]\nname = \"run_script\"\ndescription = \"runs\"\naccess = \"read\"\n")
}

// scripted are plugins that scripts call: notes_read has structured content, notes_text none, notes_fail fails, notes_ask asks the client.
func scripted() hosttest.Files {
	f := hosttest.Files{}
	for name, body := range map[string]string{
		"read": `{"result":{"content":[{"type":"text","text":"two"}],"structuredContent":{"n":2}}}`,
		"text": `{"result":{"content":[{"type":"text","text":"a"},{"type":"resource","resource":{"uri":"x:y","text":"b"}},{"type":"image","data":"","mimeType":"image/png"}]}}`,
		"json": `{"result":{"content":[{"type":"text","text":"{\n \"n\": [3]}"},{"type":"text","text":"one is missing"},{"type":"text","text":"\"x\""}]}}`,
		"word": `{"result":{"content":[{"type":"text","text":"7 notes"}]}}`,
		"line": `{"result":{"content":[{"type":"text","text":"7"}]}}`,
		"deep": `{"result":{"content":[{"type":"text","text":"` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `"}]}}`,
		"fail": `{"result":{"content":[{"type":"text","text":"no such note"}],"isError":true}}`,
		"ask":  `{"ask":{"requests":{"a":{"method":"roots/list"}}}}`,
		"huge": `{"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", 10_000) + `"}]}}`,
	} {
		more := hosttest.Reads("notes_" + name)
		if name == "ask" {
			more = "[capabilities]\nask = [\"roots\"]\n" + more
		}
		if name == "read" {
			more += "[tools.input]\ntype = 'object'\nadditionalProperties = false\nproperties.id = { type = 'integer' }\n" + hosttest.Writes("notes_write")
		}
		switch name {
		case "json", "word", "deep":
			more += "returns = { anyOf = [{ type = 'object' }, { type = 'string' }] }\n"
		case "line":
			more += "returns = { type = 'string' }\n"
		}
		for path, content := range hosttest.Plugin("notes-"+name, wasmtest.Answering(body), more) {
			f[path] = content
		}
	}
	return f
}

func openScripts(t *testing.T, calls, config string) (*host.Host, *hosttest.World) {
	t.Helper()
	return openRunner(t, scriptModule(calls), config)
}

func openRunner(t *testing.T, runner hosttest.Files, config string) (*host.Host, *hosttest.World) {
	t.Helper()
	w := hosttest.New(t, scripted(), runner)
	for _, name := range []string{"text", "json", "word", "line", "deep", "read", "fail", "ask", "huge"} {
		config = "[[plugins]]\nname = 'notes-" + name + "'\n" + config
	}
	w.Write(t, hosttest.Files{"work/bulkhead.toml": strings.ReplaceAll(config, "DIR", w.Dir)})
	o := w.Options()
	o.Tools = "code"
	h, err := host.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(t.Context()) })
	return h, w
}

func TestCallsOfScripts(t *testing.T) {
	t.Parallel()
	many := "[" + strings.TrimSuffix(strings.Repeat(`{"name":"notes_read"},`, 65), ",") + "]"
	for name, test := range map[string]struct{ calls, want string }{
		"structured content":    {`[{"name":"notes_read","arguments":{"id":1}}]`, `[{"value":{"n":2}}]`},
		"text":                  {`[{"name":"notes_text"}]`, `[{"value":"a\nb\n[content of the type image, which a script does not get: call the tool directly]"}]`},
		"text that is JSON":     {`[{"name":"notes_json"}]`, "[{\"value\":{\n \"n\": [3]},\"notes\":[\"one is missing\",\"\\\"x\\\"\"]}]"},
		"text that is no JSON":  {`[{"name":"notes_word"}]`, `[{"value":"7 notes"}]`},
		"text that stays text":  {`[{"name":"notes_line"}]`, `[{"value":"7"}]`},
		"JSON that is too deep": {`[{"name":"notes_deep"}]`, `[{"value":"[[[[`},
		"several":               {`[{"name":"notes_fail"},{"name":"notes_read"},{"name":"notes_read"}]`, `[{"error":"no such note"},{"value":{"n":2}},{"value":{"n":2}}]`},
		"none":                  {`[]`, `[]`},
		"one that writes":       {`[{"name":"notes_write"}]`, `[{"error":"bulkhead: notes_write writes: call it by write_tool"}]`},
		"a script":              {`[{"name":"run_script"}]`, `[{"error":"bulkhead: run_script cannot be called by run_script"}]`},
		"a tool of the host":    {`[{"name":"write_tool","arguments":{"name":"notes_write"}}]`, `[{"error":"Unknown tool: write_tool"}]`},
		"unknown":               {`[{"name":"__proto__"},{"name":""}]`, `[{"error":"Unknown tool: __proto__"},{"error":"Unknown tool: \"\""}]`},
		"a name that looks so":  {`[{"name":"notes_reаd"}]`, `[{"error":"Unknown tool: notes_reаd"}]`}, // with a Cyrillic letter
		"wrong arguments":       {`[{"name":"notes_read","arguments":{"id":"x"}}]`, `[{"error":"bulkhead: notes_read was called with arguments that do not match its schema`},
		"one that asks":         {`[{"name":"notes_ask"}]`, `[{"error":"notes_ask needs an answer of the user, which a script cannot give: call it directly, not by a script"}]`},
		"no array":              {`{"name":"notes_read"}`, `{"error":{"code":"invalid"`},
		"no object":             {`[{"name":"notes_read","arguments":[]}]`, `{"error":{"code":"invalid"`},
		"too many at a time":    {many, `{"error":{"code":"invalid","message":"a script makes at most 64 calls at a time"}}`},
		"too deep":              {`[{"name":"notes_read","arguments":` + strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200) + `}]`, `{"error":{"code":"invalid"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, w := openScripts(t, test.calls, "")
			answer := hosttest.Call(t, h, "run_script", `{}`)
			if !strings.Contains(string(answer.Result), `"structuredContent":{"value":[1]}`) {
				t.Errorf("got %s", answer.Result)
			}
			if log := w.Log.String(); !strings.Contains(log, test.want) {
				t.Errorf("want %s in\n%s", test.want, log)
			}
		})
	}
}

// A client that is offered fewer tools has scripts with fewer tools: what is withheld does not exist.
func TestScriptsSeeOnlyWhatTheirClientIsOffered(t *testing.T) {
	t.Parallel()
	h, w := openScripts(t, `[{"name":"notes_read"},{"name":"notes_text"}]`, "deny_tools = ['*_text']\n")
	hosttest.Call(t, h, "run_script", `{}`)
	if want := `[{"value":{"n":2}},{"error":"Unknown tool: notes_text"}]`; !strings.Contains(w.Log.String(), want) {
		t.Errorf("want %s in\n%s", want, &w.Log)
	}
}

// For any other plugin the operation does not exist.
func TestOnlyScriptsCallTools(t *testing.T) {
	t.Parallel()
	var said []string
	for _, op := range []string{"tools/call", "tools/cal1"} {
		module := operator(`{"op":"`+op+`","params":[{"name":"other_read"}]}`, hosttest.Done)
		w := hosttest.New(t, hosttest.Plugin("other", module, hosttest.Reads("other_read")), scriptModule("[]"))
		o := w.Options()
		o.Tools = "code"
		h, err := host.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = h.Close(t.Context()) })
		hosttest.Call(t, h, "other_read", `{}`)
		_, log, found := strings.Cut(w.Log.String(), `{"error":{"code":"unavailable"`)
		if !found {
			t.Fatalf("%s is not refused:\n%s", op, &w.Log)
		}
		log, _, _ = strings.Cut(log, "\n")
		said = append(said, strings.ReplaceAll(log, op, "OP"))
	}
	if said[0] != said[1] {
		t.Errorf("the plugin is told that the operation exists: %q", said)
	}
}

// A script can make its module send the request of any operation. All but the calls of tools are denied, with a record, whatever needs no grant.
func TestScriptsPerformNoOtherOperation(t *testing.T) {
	t.Parallel()
	for op, params := range map[string]string{
		"notify":      `{"method":"notifications/message","params":{"level":"error","data":"x"}}`,
		"claims":      `{"prompts":["a"]}`,
		"lock":        `{"name":"a"}`,
		"fs/grants":   `null`,
		"fs/scan":     `{"path":"/"}`,
		"hash/sha256": `{}`,
		"http/fetch":  `{"url":"https://example.com"}`,
	} {
		module := operator(`{"op":"`+op+`","params":`+params+`}`, `{"result":{"content":[],"structuredContent":{"value":"1"}}}`)
		h, w := openRunner(t, scriptRunner(module), "[audit]\nfile = \"DIR/work/audit.log\"\n")
		hosttest.Call(t, h, "run_script", `{}`)
		if want := `{"error":{"code":"denied","message":"` + op + `: scripts can only call tools"}}`; !strings.Contains(w.Log.String(), want) {
			t.Errorf("want %s in\n%s", want, &w.Log)
		}
		if err := h.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		records, err := os.ReadFile(filepath.Join(w.Dir, "work", "audit.log"))
		if want := `"kind":"refused"`; err != nil || !strings.Contains(string(records), want) || !strings.Contains(string(records), `"operations":[{"op":"`+op+`"`) {
			t.Errorf("%s: no record: %v\n%s", op, err, records)
		}
	}
}

// A script can make its module answer whatever it likes.
func TestAnswersOfScriptModulesAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 15_000)
	for name, test := range map[string]struct{ answer, want string }{
		"a long error":          {`{"error":{"code":-32000,"message":"` + long + `"}}`, `"isError":true`},
		"an error with data":    {`{"error":{"code":-32042,"message":"x","data":{"elicitations":[{"mode":"url","url":"https://example.com"}],"long":"` + long + `"}}}`, `"text":"x"`},
		"half of a surrogate":   {`{"result":{"content":[],"structuredContent":{"value":"[\"a\\ud83d\"]"}}}`, `"structuredContent":{"value":["a\ufffd"]}`},
		"a number without end":  {`{"result":{"content":[],"structuredContent":{"value":"[1e999]"}}}`, "exceeds the range of 64-bit floats"},
		"content and a link":    {`{"result":{"content":[{"type":"resource_link","uri":"file:///x","name":"link"}],"_meta":{"a":"meta"}}}`, "the script returned nothing"},
		"an error of big parts": {`{"result":{"content":[],"isError":true,"structuredContent":{"error":{"name":"` + long + `","message":"` + long + `","text":"` + long + `"}}}}`, `"isError":true`},
	} {
		h, _ := openRunner(t, scriptRunner(wasmtest.Answering(test.answer)), "")
		got := hosttest.Request(t, h, "tools/call", `{"name":"run_script"}`)
		if !strings.Contains(got, test.want) || len(got) > 36_000 {
			t.Errorf("%s: got %d bytes, %.500s, want %s", name, len(got), got, test.want)
		}
		for _, passed := range []string{"elicitations", "meta", "link"} {
			if strings.Contains(got, passed) {
				t.Errorf("%s: got %.500s, want no %s", name, got, passed)
			}
		}
	}
}

func TestRecordsOfCallsOfScriptsNameTheScript(t *testing.T) {
	t.Parallel()
	h, w := openScripts(t, `[{"name":"notes_read"},{"name":"notes_write"}]`, "[audit]\nfile = \"DIR/work/audit.log\"\narguments = \"hash\"\n")
	hosttest.Call(t, h, "run_script", `{}`)
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	records, err := os.ReadFile(filepath.Join(w.Dir, "work", "audit.log"))
	if err != nil {
		t.Fatal(err)
	}
	script := ""
	for line := range bytes.Lines(records) {
		if _, after, ok := strings.Cut(string(line), `"id":"`); ok && bytes.Contains(line, []byte(`"tool":"run_script"`)) {
			script, _, _ = strings.Cut(after, `"`)
		}
	}
	for _, want := range []string{
		`"tool":"notes_read","via":"run_script","outcome":"ok"`,
		`"tool":"notes_write","via":"run_script","outcome":"denied","code":"writes"`,
	} {
		found := false
		for line := range bytes.Lines(records) {
			found = found || bytes.Contains(line, []byte(want)) && bytes.Contains(line, []byte(`"parent":"`+script+`"`))
		}
		if !found || script == "" {
			t.Errorf("no record of %s has the parent %q:\n%s", want, script, records)
		}
	}
}

// Scripts keep their memory and their slots while they wait for their calls. All of them end, also if there is room for only one of them, or
// not even for that.
func TestManyScriptsAtOnceEnd(t *testing.T) {
	t.Parallel()
	for _, memory := range []string{"64MiB", "256MiB", "2GiB"} {
		t.Run(memory, func(t *testing.T) {
			t.Parallel()
			h, w := openScripts(t, `[{"name":"notes_read"},{"name":"notes_text"},{"name":"notes_read"},{"name":"notes_huge"}]`, "[server]\nname = 'x'\nmemory = '"+memory+"'\n")
			var all sync.WaitGroup
			for range 64 {
				all.Go(func() {
					answer, err := h.Call(t.Context(), "run_script", nil, host.Client{})
					if err != nil || !strings.Contains(string(answer.Result), `"value":[1]`) {
						t.Errorf("%v %s", err, answer.Result)
					}
				})
			}
			all.Wait()
			if log := w.Log.String(); strings.Contains(log, `{"error":"`) || strings.Count(log, `[{"value":{"n":2}},`) != 64 {
				t.Errorf("a call of a script failed:\n%.5000s", log)
			}
		})
	}
}

func TestScriptsNeedTheirRunner(t *testing.T) {
	t.Parallel()
	other := func(kind string) hosttest.Files {
		return hosttest.Plugin("script", wasmtest.Answering(hosttest.Done), kind+hosttest.Reads("run_script"))
	}
	unbuilt := scriptModule("[]")
	delete(unbuilt, "plugins/script/it.wasm")
	for name, test := range map[string]struct {
		files  hosttest.Files
		config string
		texts  []string
	}{
		"absent":    {nil, "", []string{`tools = "code" needs the plugin that runs scripts`, "plugins contains no plugin script", "unpack a release archive", "bulkhead plugin build -o ", `choose tools = "search"`}},
		"not built": {unbuilt, "", []string{"plugins/script is not built"}},
		"another":   {other(""), "", []string{`its kind is not "script"`, "another name"}},
		"listed":    {scriptModule("[]"), "[[plugins]]\nname = 'notes-read'\n[[plugins]]\nname = 'script'\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := hosttest.New(t, scripted(), test.files)
			if test.config != "" {
				w.Write(t, hosttest.Files{"work/bulkhead.toml": test.config})
			}
			o := w.Options()
			o.Tools = "code"
			h, err := host.Open(o)
			if test.texts != nil {
				hosttest.WantUsage(t, err, test.texts...)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close(t.Context())
			want := fmt.Sprintf("%s/work/bulkhead.toml:3: plugins[1]: the plugin runs the scripts of clients, and the host starts it itself", w.Dir)
			if !strings.Contains(w.Log.String(), want) || !strings.Contains(w.Log.String(), `write tools = "code" in [server]`) {
				t.Errorf("want %s in\n%s", want, &w.Log)
			}
		})
	}
}

// A table of [[clients]] does not have to name the runner of scripts. What the table withholds is withheld from scripts, and it can require
// approval of them.
func TestTablesOfClientsKeepScripts(t *testing.T) {
	t.Parallel()
	w := hosttest.New(t, scripted(), scriptModule("[]"), hosttest.Files{"work/bulkhead.toml": "[[plugins]]\nname = 'notes-read'\n[[plugins]]\nname = 'notes-text'\n" +
		"[[clients]]\nname = 'team'\nmatch = { tokens = ['t-*'] }\nplugins = ['notes-read']\nallow_tools = ['notes_*']\napprove_tools = ['run_script']\n" +
		"[[clients]]\nname = 'denied'\nmatch = { tokens = ['d-*'] }\ndeny_tools = ['run_*']\n"})
	o := w.Options()
	o.Tools = "code"
	c, err := catalog.Look(o)
	if err != nil {
		t.Fatal(err)
	}
	view := c.WithKey(catalog.Key{Client: "team"})
	for name, want := range map[string]bool{"run_script": true, "notes_read": true, "notes_text": false} {
		if got := view.Tool(name) != nil; got != want {
			t.Errorf("%s is offered: %v", name, got)
		}
	}
	script := view.Tool("run_script")
	if by := script.Plugin.Grant.ApprovalBy(&script.Tool); !strings.Contains(by, "approve_tools") {
		t.Errorf("scripts need approval by %q", by)
	}
	if all := c.Tool("run_script"); len(all.Plugin.Grant.Approve) != 0 {
		t.Error("the table of one client requires approval of others")
	}
	if c.WithKey(catalog.Key{Client: "denied"}).Tool("run_script") != nil {
		t.Error("a client is offered scripts, which its table denies")
	}
}
