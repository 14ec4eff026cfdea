//go:build unix

package tests

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// attackedServer serves plugins in one mode, with an audit log.
type attackedServer struct {
	*server
	project string // the directory of the plugins, which has a.txt
	log     string // the file of the audit log
	seen    int    // bytes of the log in which wantRecord has found records
}

func serveAttacked(t *testing.T, mode string, plugins ...string) *attackedServer {
	t.Helper()
	dir, project := newDir(t, nil), newDir(t, map[string]string{"a.txt": "one"})
	// Less fuel than the script's own limit, since a busy process gets a small share of a busy machine.
	config := fmt.Sprintf("[server]\nname = 'x'\ntools = %q\n[defaults.limits]\nfuel = 20_000_000_000\n[audit]\nfile = %q\narguments = 'none'\n", mode, filepath.Join(dir, "audit.jsonl"))
	for _, plugin := range plugins {
		config += fmt.Sprintf("[[plugins]]\npath = %q\nfs = [{ path = %q, access = 'rw' }]\n", plugin, project)
	}
	putFile(t, filepath.Join(dir, "bulkhead.toml"), config)
	s := startServer(t, programCommand(t, "serve", "--config", filepath.Join(dir, "bulkhead.toml"), "--plugins", otherPlugin(t, "script")))
	return &attackedServer{server: s, project: project, log: filepath.Join(dir, "audit.jsonl")}
}

// wantRecord waits for a line in the audit log with all parts, after those that it has returned for earlier attacks.
func (a *attackedServer) wantRecord(attack string, parts ...string) {
	a.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		all := readFile(a.t, a.log)
		for line := range strings.Lines(all[a.seen:]) {
			if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
				a.seen = len(all)
				return
			}
		}
		if time.Now().After(end) {
			a.t.Fatalf("%s: no record with %q:\n%s", attack, parts, all[a.seen:])
		}
	}
}

// forged has the script send the request of an operation instead of its first call, by the builtins that the module uses, and returns the answer.
func forged(t *testing.T, request string) string {
	return fmt.Sprintf(`const wellFormed = String.prototype.toWellFormed, parse = JSON.parse;
let sent = false;
String.prototype.toWellFormed = function () { if (sent) return wellFormed.call(this); sent = true; return %s; };
JSON.parse = (text) => { JSON.parse = parse; return [{ value: text }]; };
return await call("read_text_file", {})`, jsonOf(t, request))
}

// answeredWith has the module of the script answer with a text of its choice.
func answeredWith(js string) string {
	return `const stringify = JSON.stringify; JSON.stringify = (v) => v?.result || v?.error ? ` + js + ` : stringify(v); return 1`
}

// What a hostile model writes is refused, and has a record: of the script, of its call, or of what the module tried.
func TestAttacksOfScriptsAreRefusedAndRecorded(t *testing.T) {
	t.Parallel()
	a := serveAttacked(t, "code", filepath.Join(builtPlugins(t, "../plugins/filesystem"), "filesystem"))
	const script, denied, failed, ended = `"tool":"run_script"`, `"outcome":"denied"`, `"outcome":"tool_error"`, `"outcome":"failed"`
	operation := func(op string) []string {
		return []string{`"kind":"refused"`, script, `"operations":[{"op":"` + op + `"`}
	}
	for name, test := range map[string]struct {
		code, want string
		record     []string
	}{
		// Operations of the host, by overwritten builtins of the module.
		"a notification":     {forged(t, `{"op":"notify","params":{"method":"notifications/message","params":{"level":"error","data":"x"}}}`), "scripts can only call tools", operation("notify")},
		"claims of plugins":  {forged(t, `{"op":"claims","params":{"prompts":["a"]}}`), "scripts can only call tools", operation("claims")},
		"a lock":             {forged(t, `{"op":"lock","params":{"name":"a"}}`), "scripts can only call tools", operation("lock")},
		"a listing":          {forged(t, `{"op":"fs/scan","params":{"path":"/"}}`), "scripts can only call tools", operation("fs/scan")},
		"the grants":         {forged(t, `{"op":"fs/grants"}`), "scripts can only call tools", operation("fs/grants")},
		"a web request":      {forged(t, `{"op":"http/fetch","params":{"url":"https://example.com/"}}`), "scripts can only call tools", operation("http/fetch")},
		"a forged write":     {forged(t, `{"op":"tools/call","params":[{"name":"write_file","arguments":{}}]}`), "write_file writes: call it by write_tool", []string{`"tool":"write_file","via":"run_script"`, denied, `"code":"writes"`}},
		"forged large calls": {forged(t, `{"op":"tools/call","params":[`+strings.Repeat(`{"name":"a"},`, 64)+`{"name":"a"}]}`), "at most 64 calls at a time", []string{script, `{"op":"tools/call","outcome":"failed"`}},

		// Answers of the module, by overwritten builtins.
		"a question":       {answeredWith(`stringify({ask:{requests:{a:{method:"elicitation/create",params:{message:"m",requestedSchema:{type:"object",properties:{}}}}}}})`), "asked the client for elicitation, which is not granted", operation("ask/elicitation")},
		"an error":         {answeredWith(`stringify({error:{code:-32042,message:"m".repeat(2e6),data:{elicitations:[]}}})`), "mmm", []string{script, failed}},
		"an infinity":      {answeredWith(`stringify({result:{content:[],structuredContent:{value:"1e999"}}})`), "exceeds the range of 64-bit floats", []string{script, failed}},
		"another member":   {answeredWith(`stringify({result:{content:[],structuredContent:{value:"1,2"}}})`), "is not JSON", []string{script, failed}},
		"no answer":        {"JSON.stringify = () => ''; return 1", "returned a response", []string{script, ended}},
		"memory of others": {"Object.defineProperty(Object.getPrototypeOf(Uint8Array.prototype), 'length', { get: () => 1e9 }); await tools.a()", "run_script ", []string{script, ended}},
		"other arrays":     {"globalThis.Uint8Array = class extends Uint8Array { constructor() { super(8); } get length() { return 1e6; } }; await tools.a()", "run_script ", []string{script, ended}},

		// Tools that the script must not call.
		"a tool that writes":   {"await tools.write_file({path: args.dir + '/c.txt', content: 'x'})", "call it by write_tool", []string{`"tool":"write_file","via":"run_script"`, denied, `"parent":"`}},
		"a tool of the host":   {"await call('write_tool', {name: 'write_file', arguments: {}})", "Unknown tool: write_tool", []string{`"tool":"write_tool","via":"run_script"`, denied, `"code":"unknown"`}},
		"a script":             {"await call('run_script', {code: ''})", "cannot be called by run_script", []string{`"tool":"run_script","via":"run_script"`, denied, `"code":"indirect"`}},
		"another letter":       {"await call('re\\u0430d_text_file', {path: args.dir + '/a.txt'})", "Unknown tool", []string{`"via":"run_script"`, denied, `"code":"unknown"`}},
		"a name with syntax":   {`await call('read_text_file","arguments":{"path":"/etc/passwd"},"x":"', {})`, "Unknown tool", []string{`"via":"run_script"`, denied, `"code":"unknown"`}},
		"a name of prototypes": {"await call('__proto__')", "Unknown tool: __proto__", []string{`"tool":"__proto__","via":"run_script"`, denied}},
		"a file outside":       {"await tools.read_text_file({path: '/etc/passwd'})", "ToolError", []string{`"tool":"read_text_file","via":"run_script"`, failed}},
		"arguments by code":    {"await tools.read_text_file({ toJSON: () => ({ path: '/etc/passwd' }) })", "ToolError", []string{`"tool":"read_text_file","via":"run_script"`, failed}},
		"hidden arguments":     {"await tools.read_text_file({ toJSON: () => 'x' })", "the parameters of the operation are invalid", []string{script, `{"op":"tools/call","outcome":"failed"`}},

		// What does not end, or takes too much.
		"a regular expression": {"/^(a+)+$/.test('a'.repeat(40) + 'b')", "used up its fuel limit", []string{script, ended, `"code":"fuel"`}},
		"a thenable":           {"const o = { then(f) { f(o); } }; return o", "used up its fuel limit", []string{script, ended, `"code":"fuel"`}},
		"a stack of its own":   {"throw Object.defineProperty(new Error('x'), 'stack', { get() { for (;;); } })", "used up its fuel limit", []string{script, ended, `"code":"fuel"`}},
		"a lost promise":       {"return { then() {} }", "nothing can settle", []string{script, failed}},
		"microtasks":           {"for (let i = 0; i < 1e6; i++) Promise.resolve().then(() => 1)", "more memory than its limit", []string{script, ended, `"code":"memory"`}},
		"buffers":              {"const all = []; for (;;) all.push(new Uint8Array(1 << 20))", "out of memory", []string{script, failed}},
		"a large integer":      {"return 2n ** (1n << 40n)", "BigInt is too large", []string{script, failed}},
		"deep JSON":            {"JSON.parse('['.repeat(1e6))", "Maximum call stack size exceeded", []string{script, failed}},
	} {
		got := runScript(a.server, test.code, map[string]any{"dir": a.project})
		refused := got.Text
		if !got.IsError { // the script has returned the refusal
			var out struct{ Value string }
			_ = json.Unmarshal([]byte(got.Text), &out)
			refused = out.Value
		}
		if !strings.Contains(refused, test.want) || len(got.Text) > 40_000 {
			t.Errorf("%s: got %d bytes, %.500s, want %q", name, len(got.Text), got.Text, test.want)
		}
		a.wantRecord(name, test.record...)
		if got := runScript(a.server, "return [{}.polluted, [].length, typeof leaked, JSON.stringify('a'), 'b'.toWellFormed()]", nil); got.Text != `{"value":[null,0,"undefined","\"a\"","b"]}` {
			t.Fatalf("after %s: %+v", name, got)
		}
	}
	if files, err := os.ReadDir(a.project); err != nil || len(files) != 1 {
		t.Errorf("a script has made a file: %v, %v", files, err)
	}
}

// A plugin that declares its tools that write as tools that read changes nothing by them where clients call what reads: a user has not
// agreed to changes there. The client that calls such a tool directly has consented to the tool.
func TestWritesHiddenBehindReadsAreRefused(t *testing.T) {
	t.Parallel()
	from, dir := filepath.Join(builtPlugins(t, "../plugins/filesystem"), "filesystem"), newDir(t, nil)
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	manifest := filepath.Join(dir, "plugin.toml")
	putFile(t, manifest, strings.NewReplacer(`access      = "write"`, `access      = "read"`, `access = "write"`, `access = "read"`).Replace(readFile(t, manifest)))
	for _, mode := range []string{"code", "search"} {
		a := serveAttacked(t, mode, dir)
		for tool, arguments := range map[string]map[string]any{
			"write_file":       {"path": a.project + "/b.txt", "content": "x"},
			"edit_file":        {"path": a.project + "/a.txt", "edits": []any{map[string]string{"oldText": "one", "newText": "two"}}},
			"move_file":        {"source": a.project + "/a.txt", "destination": a.project + "/b.txt"},
			"create_directory": {"path": a.project + "/b"},
		} {
			var got result
			via := "read_tool"
			if mode == "code" {
				via = "run_script"
				got = runScript(a.server, "return await call(args.tool, args.arguments)", map[string]any{"tool": tool, "arguments": arguments})
			} else {
				got = a.call("read_tool", jsonOf(t, map[string]any{"name": tool, "arguments": arguments}))
			}
			if !got.IsError || !strings.Contains(got.Text, "EACCES") {
				t.Errorf("%s by %s: got %+v, want EACCES", tool, via, got)
			}
			a.wantRecord(tool, `"kind":"refused"`, `"tool":"`+tool+`","via":"`+via+`"`, `"outcome":"denied"`, `"op":"file/`)
		}
		if text := readFile(t, filepath.Join(a.project, "a.txt")); text != "one" {
			t.Errorf("%s: a.txt is %q", mode, text)
		}
		if files, err := os.ReadDir(a.project); err != nil || len(files) != 1 {
			t.Errorf("%s: files were made: %v, %v", mode, files, err)
		}
		if mode == "search" {
			a.mustCall("write_file", jsonOf(t, map[string]any{"path": a.project + "/b.txt", "content": "x"}))
		}
	}
}
