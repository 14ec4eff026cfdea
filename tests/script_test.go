//go:build unix

package tests

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// serveScripts serves the plugin filesystem to clients that call its tools by scripts. project is the directory of its files.
func serveScripts(t testing.TB, server string) (s *server, project string) {
	t.Helper()
	runner := otherPlugin(t, "script")
	plugins := builtPlugins(t, "../plugins/filesystem", "../plugins/time")
	project = newDir(t, map[string]string{"a.txt": "one", "b.txt": "two", "data.json": `{"__proto__": {"polluted": true}, "constructor": 1}`})
	config := filepath.Join(newDir(t, nil), "bulkhead.toml")
	putFile(t, config, fmt.Sprintf("[server]\nname = 'x'\ntools = 'code'\n%s[[plugins]]\npath = %q\nfs = [{ path = %q, access = 'rw' }]\n[[plugins]]\npath = %q\n", server,
		filepath.Join(plugins, "filesystem"), project, filepath.Join(plugins, "time")))
	return startServer(t, programCommand(t, "serve", "--config", config, "--plugins", runner)), project
}

// lessFuel ends loops after some tenths of a second of processor time, and not after some seconds.
const lessFuel = "[defaults.limits]\nfuel = 5_000_000_000\n"

// runScript runs a script and returns its result.
func runScript(s *server, code string, arguments any) result {
	s.t.Helper()
	given := map[string]any{"code": code}
	if arguments != nil {
		given["arguments"] = arguments
	}
	return s.call("run_script", jsonOf(s.t, given))
}

func TestScriptsOfClients(t *testing.T) {
	t.Parallel()
	s, project := serveScripts(t, "")
	for name, test := range map[string]struct{ code, want string }{
		"a value":            {"return args.n + 1", `{"value":3}`},
		"a call":             {"return (await tools.read_text_file({path: args.dir + '/a.txt'})).content", `{"value":"one"}`},
		"parallel calls":     {"const all = await Promise.all(['a', 'b'].map((n) => tools.read_text_file({path: `${args.dir}/${n}.txt`}))); return all.map((r) => r.content)", `{"value":["one","two"]}`},
		"call by name":       {"return (await call('read_text_file', {path: args.dir + '/b.txt'})).content", `{"value":"two"}`},
		"more than a batch":  {"const all = []; for (let i = 0; i < 150; i++) all.push(tools.list_allowed_directories()); return (await Promise.all(all)).length", `{"value":150}`},
		"console":            {"console.log('a', {b: 1}); console.error('c'); return null", `{"value":null,"console":["a {\"b\":1}","error: c"]}`},
		"nothing":            {"1 + 1", `{"note":"the script returned nothing: it is the body of a function, so end it with return"}`},
		"kinds of values":    {"return [1n, new Map([['a', 1]]), new Set([2]), undefined, () => 1, new Date(0), new Error('x'), Promise.resolve(1), new Uint8Array(2), NaN]", `{"value":["1",{"a":1},[2],null,null,"1970-01-01T00:00:00.000Z",{"name":"Error","message":"x"},"[a promise: await it]",[0,0],null]}`},
		"keys of prototypes": {"const o = JSON.parse((await tools.read_text_file({path: args.dir + '/data.json'})).content); return [o, {}.polluted === undefined, Object.keys(o)]", `{"value":[{"__proto__":{"polluted":true},"constructor":1},true,["__proto__","constructor"]]}`},
		"tools as a promise": {"const t = await tools; return [typeof t.then, typeof t.toJSON, typeof t.read_text_file, JSON.stringify(t)]", `{"value":["undefined","undefined","function","{}"]}`},
		"no timers":          {"await new Promise((done) => setTimeout(done, 1e9)); return 'now'", `{"value":"now"}`},
		"unhandled":          {"Promise.reject(new Error('lost')); tools.nope(); return 1", `{"value":1,"console":["a promise was rejected and not awaited: Error: lost\n    at line 1, column 20","1 calls of tools were not awaited, and not made"]}`},
	} {
		got := runScript(s, test.code, map[string]any{"n": 2, "dir": project})
		if got.IsError || !sameJSON(t, got.Text, test.want) {
			t.Errorf("%s: got %+v, want %s", name, got, test.want)
		}
	}
	if log := s.log.String(); strings.Contains(log, "the directory of plugins is not used") { // which has the plugin script
		t.Error(log)
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	return jsonOf(t, decodeJSON(t, a)) == jsonOf(t, decodeJSON(t, b))
}

// What ends a script: each error has the position in the script, and the next script runs as if nothing had happened.
func TestErrorsOfScripts(t *testing.T) {
	t.Parallel()
	s, project := serveScripts(t, lessFuel)
	for name, test := range map[string]struct{ code, want string }{
		"thrown":              {"const x = null;\nfunction f() {\n  return x.y;\n}\nf();", "TypeError: cannot read property 'y' of null\n    at f (line 3, column 10)\n    at line 5, column 1"},
		"after await":         {"await 1;\n  throw new RangeError('no')", "RangeError: no\n    at line 2, column 13"},
		"syntax":              {"let a = 1;\nlet b = ;", "SyntaxError: unexpected token in expression: ';'\n    at line 2, column 9"},
		"not an error":        {"throw 'text'", "the script threw text"},
		"of a tool":           {"\n await tools.read_text_file({path: args.dir + '/none'})", "ToolError: ENOENT"},
		"arguments":           {"await tools.read_text_file('x')", "ToolError: the arguments of a tool are an object"},
		"a clock":             {"return Date.now()", "TypeError: scripts have no clock: pass the time in the arguments of run_script\n    at line 1, column 13"},
		"a date":              {"return new Date()", "TypeError: scripts have no clock"},
		"random":              {"return Math.random()", "TypeError: scripts have no random numbers"},
		"a module":            {"return await import('fs')", "ReferenceError: could not load module 'fs'"},
		"fetch":               {"return fetch('https://example.com')", "ReferenceError: fetch is not defined"},
		"a process":           {"return process.env", "ReferenceError: process is not defined"},
		"the host":            {"return __bulkhead(14, 0, 0)", "ReferenceError: __bulkhead is not defined"},
		"a cycle":             {"const a = []; a.push(a); return a", "TypeError: circular reference"},
		"some nesting":        {"let o = 1; for (let i = 0; i < 110; i++) o = [o]; return o", "nests deeper than 100 levels"},
		"a getter":            {"return { get x() { throw new Error('mine') } }", "Error: mine\n    at get x (line 1, column 30)"},
		"nesting":             {"let o = 1; for (let i = 0; i < 500; i++) o = [o]; return o", "nested more than 120 deep"},
		"recursion":           {"function f() { return f() } f()", "RangeError: Maximum call stack size exceeded"},
		"a huge string":       {"let s = 'x'; for (;;) s += s", "InternalError: string too long"},
		"a loop":              {"for (;;) {}", "used up its fuel limit"},
		"a loop of promises":  {"for (;;) await 1", "used up its fuel limit"},
		"a lost promise":      {"await new Promise(() => {})", "awaits a promise that nothing can settle"},
		"too many calls":      {"for (let i = 0; i < 1001; i++) await tools.list_allowed_directories()", "a script makes at most 1000 calls"},
		"one that writes":     {"await tools.write_file({path: args.dir + '/c.txt', content: 'x'})", "ToolError: bulkhead: write_file writes: call it by write_tool\n    at line 1, column "},
		"write_tool":          {"await tools.write_tool({name: 'write_file', arguments: {path: args.dir + '/c.txt', content: 'x'}})", "ToolError: Unknown tool: write_tool"},
		"a script":            {"await tools.run_script({code: '1'})", "ToolError: bulkhead: run_script cannot be called by run_script"},
		"a prototype's name":  {"await tools.__proto__({})", "ToolError: Unknown tool: __proto__"},
		"a changed prototype": {"Object.prototype.toJSON = () => 'pwned'; Promise.prototype.then = null; JSON.stringify = null; return 1", "run_script crashed"},
		"the end of the body": {"}); throw new Error('outside'); (async () => {", "outside"},
	} {
		got := runScript(s, test.code, map[string]any{"dir": project})
		if !got.IsError || !strings.Contains(got.Text, test.want) {
			t.Errorf("%s: got %+v, want an error with %q", name, got, test.want)
		}
		if got := runScript(s, "return Object.getPrototypeOf({}).toJSON === undefined", nil); got.Text != `{"value":true}` {
			t.Fatalf("after %s: %+v", name, got)
		}
	}
}

// A script that is stopped does not lose what it had printed, up to a bound.
func TestConsoleOfStoppedScripts(t *testing.T) {
	t.Parallel()
	s, _ := serveScripts(t, lessFuel)
	for name, test := range map[string]struct{ code, want, console string }{
		"fuel":     {"console.log('first', 1); console.error('é'); for (;;) {}", "used up its fuel limit", `["first 1","error: é"]`},
		"a crash":  {"console.log('before'); Object.prototype.toJSON = () => 'pwned'; Promise.prototype.then = null; JSON.stringify = null; return 1", "crashed", `["before"]`},
		"a flood":  {"for (let i = 0; i < 5000; i++) console.log('x'.repeat(90)); for (;;) {}", "used up its fuel limit", "x"},
		"one line": {"console.log('é'.repeat(30000)); for (;;) {}", "used up its fuel limit", "é"},
	} {
		got := runScript(s, test.code, nil)
		var out struct {
			Error   struct{ Message string }
			Console json.RawMessage
		}
		if err := json.Unmarshal([]byte(got.Text), &out); err != nil || !got.IsError || !strings.Contains(out.Error.Message, test.want) || len(out.Console) > 16<<10 ||
			strings.HasPrefix(test.console, "[") && string(out.Console) != test.console || len(test.console) <= 2 && (len(out.Console) < 15<<10 || !strings.Contains(string(out.Console), test.console)) {
			t.Errorf("%s: %v, %.300s", name, err, got.Text)
		}
	}
	if got := runScript(s, "return 1", nil); got.Text != `{"value":1}` {
		t.Errorf("the next script: %+v", got)
	}
	if strings.Contains(s.log.String(), "before") {
		t.Error("what a script prints is in the log of the host")
	}
}

// What is too long is cut so that it stays JSON, and names what is missing.
func TestResultsOfScriptsAreBounded(t *testing.T) {
	t.Parallel()
	s, _ := serveScripts(t, "")
	const most = 64<<10 + 16<<10 + 8<<10
	for name, code := range map[string]string{
		"items":   "return {n: 1, items: Array.from({length: 20000}, (_, i) => ({id: i, name: 'item ' + i})), m: 2}",
		"a text":  "return 'x'.repeat(1e6)",
		"console": "for (let i = 0; i < 800; i++) console.log('line', i, 'x'.repeat(50)); return 1",
		"members": "return Object.fromEntries(Array.from({length: 50000}, (_, i) => ['k' + i, i]))",
	} {
		got := runScript(s, code, nil)
		var out struct {
			Cut  []struct{ Path string }
			Note string
		}
		if err := json.Unmarshal([]byte(got.Text), &out); got.IsError || err != nil || len(got.Text) > most || len(out.Cut) == 0 || !strings.Contains(out.Note, "return less") {
			t.Errorf("%s: %v, %d bytes, %+v", name, err, len(got.Text), out)
		}
	}
}

// 64 scripts of which each makes calls in parallel end, whatever memory the workers may use.
func TestManyScriptsEnd(t *testing.T) {
	t.Parallel()
	for _, memory := range []string{"", "memory = '64MiB'\n"} {
		s, project := serveScripts(t, memory)
		var ids []int
		for range 64 {
			ids = append(ids, s.sendCall("run_script", jsonOf(t, map[string]any{"arguments": map[string]any{"dir": project},
				"code": "const all = await Promise.all(['a', 'b', 'a'].map((n) => tools.read_text_file({path: `${args.dir}/${n}.txt`}))); return all.map((r) => r.content).join()"})))
		}
		var once sync.Once
		for range ids {
			if _, got := s.nextAnswer(); got.Text != `{"value":"one,two,one"}` {
				once.Do(func() { t.Errorf("with %q: %+v", memory, got) })
			}
		}
	}
}
