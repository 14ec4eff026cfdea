package dispatch_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testcache"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter/wasm"
)

// program returns the module of the engine's test program.
func program(t *testing.T) []byte {
	t.Helper()
	module, err := os.ReadFile(testcache.Must(testcache.Command("../engine/testdata/program")))
	if err != nil {
		t.Fatal(err)
	}
	return module
}

// commandPlugin returns the files of a plugin of the kind command.
func commandPlugin(name string, module []byte, more string) hosttest.Files {
	return hosttest.Plugin(name, module, "kind = 'command'\n"+more)
}

// textsOf returns the texts of a tool result.
func textsOf(t *testing.T, a host.Answer) string {
	t.Helper()
	var result struct {
		Content []struct{ Text string }
	}
	if err := json.Unmarshal(a.Result, &result); err != nil {
		t.Fatalf("%s: %v", a.Result, err)
	}
	var texts []string
	for _, c := range result.Content {
		texts = append(texts, c.Text)
	}
	return strings.Join(texts, "|")
}

const strings1 = `
[tools.input]
type = 'object'
additionalProperties = false
[tools.input.properties]
words = { type = 'array', items = { type = 'string' } }
path = { type = 'string' }
`

func TestCommand(t *testing.T) {
	testenv.NotShort(t, "compiles a module of a Go program")
	module := program(t)
	w := hosttest.New(t, commandPlugin("run", module, `
[[capabilities.fs]]
path = '${project}'
access = 'r'
[limits]
output = '64KiB'
input = '8MiB'
`+hosttest.Reads("words")+`args = ['args', { arg = 'path', flag = '-p' }, '--', { arg = 'words' }]`+strings1+
		hosttest.Reads("json")+`stdout = 'json'
args = ['args']
output = { type = 'object', required = ['result'], properties = { result = { type = 'array' } } }
`+
		hosttest.Reads("count")+`args = ['count']
stdin = { arg = 'text' }
[tools.input]
type = 'object'
properties.text.type = 'string'
`+
		hosttest.Reads("read")+`args = ['read', { arg = 'path' }]
[tools.input]
type = 'object'
properties.path.type = 'string'
`+
		hosttest.Reads("exit")+`args = ['exit', { arg = 'code' }]
success = [0, 1]
[tools.input]
type = 'object'
properties.code.type = 'integer'
`+
		hosttest.Reads("print")+`args = ['print', { arg = 'size' }]
[tools.input]
type = 'object'
properties.size.type = 'integer'
`), commandPlugin("bounded", module, "[limits]\nfuel = 50000000\n"+hosttest.Reads("spin")+"args = ['spin']\n"),
		hosttest.Files{"work/a.txt": "inside", "home/b.txt": "outside"})
	o := w.Options()
	o.Project = "."
	h := w.Open(t, o)
	call := func(tool, arguments string) host.Answer { return hosttest.Call(t, h, tool, arguments) }

	words := `["a b","\"c\" 'd'","é😀","","-rf","--","$(x)"]`
	if got := textsOf(t, call("words", `{"words":`+words+`}`)); got != `["run","args","--",`+words[1:]+"\n" {
		t.Errorf("got the arguments %s", got)
	}
	for arguments, want := range map[string]string{`{"path":"-rf"}`: `begins with "-"`, `{"words":["a\u0000b"]}`: "has a NUL character"} {
		if a := call("words", arguments); !a.IsError || a.Failure != "" || !strings.Contains(textsOf(t, a), want) {
			t.Errorf("%s: got %s, want %q", arguments, a.Result, want)
		}
	}
	if a := call("words", `{"unknown":1}`); a.Failure != "invalid_arguments" {
		t.Errorf("got %s", a.Result)
	}
	if a := call("json", `{}`); string(a.Result) != `{"content":[{"type":"text","text":"{\"result\":[\"run\",\"args\"]}"}],"structuredContent":{"result":["run","args"]}}` {
		t.Errorf("got %s", a.Result)
	}
	large, _ := json.Marshal(strings.Repeat("aé\n", 1<<20))
	if got := textsOf(t, call("count", `{"text":`+string(large)+`}`)); got != fmt.Sprint(4<<20, " ", ('a'+0xc3+0xa9+'\n')<<20) {
		t.Errorf("4 MB of standard input: got %s", got)
	}
	if got := textsOf(t, call("read", `{"path":"a.txt"}`)); got != "inside" {
		t.Errorf("got %s", got)
	}
	if a := call("read", `{"path":"`+w.Dir+`/home/b.txt"}`); !a.IsError || strings.Contains(string(a.Result), "outside") {
		t.Errorf("a file that is not granted: got %s", a.Result)
	}
	if a := call("exit", `{"code":1}`); a.IsError || textsOf(t, a) != "out" {
		t.Errorf("got %s", a.Result)
	}
	if a := call("exit", `{"code":7}`); !a.IsError || a.Failure != "" || textsOf(t, a) != "the program exited with code 7:\nerr|out" {
		t.Errorf("got %s", a.Result)
	}
	// The text of 64 KiB and what surrounds it exceed the limit.
	for _, size := range []int{64<<10 + 1, 64 << 10} {
		if a := call("print", fmt.Sprintf(`{"size":%d}`, size)); a.Failure != string(engine.CodeOutputSize) {
			t.Errorf("%d bytes: got the failure %q", size, a.Failure)
		}
	}
	if a := call("spin", `{}`); a.Failure != string(engine.CodeFuel) {
		t.Errorf("got the failure %q", a.Failure)
	}

	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			want := fmt.Sprintf(`["run","args","--","%d"]`+"\n", i)
			if a, err := h.Call(t.Context(), "words", json.RawMessage(fmt.Sprintf(`{"words":["%d"]}`, i)), host.Client{}); err != nil || !strings.Contains(string(a.Result), strings.Trim(fmt.Sprintf("%q", want), `"`)) {
				t.Errorf("got %s, %v", a.Result, err)
			}
		})
	}
	group.Wait()
}

// A program that knows no working directory opens a relative path in its preopened directory.
func TestCommandResolvesRelativePaths(t *testing.T) {
	const i32, i64 = byte(wasm.I32), byte(wasm.I64)
	types := append(wasmtest.Plugin(nil, "").Types, wasm.FuncType{Params: []byte{i32, i32, i32, i32, i32, i64, i64, i32, i32}, Results: []byte{i32}})
	const wasi = "wasi_snapshot_preview1"
	const pathOpen, fdRead, fdWrite, procExit = 0, 1, 2, 3
	const vector, count, fd, buffer = 32, 40, 44, 1024 // addresses
	m := wasmtest.Module{
		Types: types,
		Imports: []wasmtest.Import{
			{Module: wasi, Name: "path_open", Type: byte(len(types) - 1)}, {Module: wasi, Name: "fd_read", Type: wasmtest.FourToI},
			{Module: wasi, Name: "fd_write", Type: wasmtest.FourToI}, {Module: wasi, Name: "proc_exit", Type: wasmtest.OfI32},
		},
		Memory: []byte{0, 1},
		Funcs: []wasmtest.Func{{Name: "_start", Locals: []byte{1, 1, byte(wasm.I32)}, Code: wasmtest.Code(
			wasmtest.I32(3), wasmtest.I32(0), wasmtest.I32(0), wasmtest.I32(8), wasmtest.I32(0), wasmtest.I64(2), wasmtest.I64(0), wasmtest.I32(0), wasmtest.I32(fd),
			0x10, pathOpen, 0x22, 0, // local.tee
			0x04, 0x40, 0x20, 0, 0x10, procExit, 0x0b, // if the errno is not 0: exit with it
			wasmtest.I32(vector), wasmtest.I32(buffer), 0x36, 2, 0, wasmtest.I32(vector+4), wasmtest.I32(100), 0x36, 2, 0,
			wasmtest.I32(0), 0x28, 2, fd, wasmtest.I32(vector), wasmtest.I32(1), wasmtest.I32(count), 0x10, fdRead, 0x1a,
			wasmtest.I32(vector+4), wasmtest.I32(0), 0x28, 2, count, 0x36, 2, 0,
			wasmtest.I32(1), wasmtest.I32(vector), wasmtest.I32(1), wasmtest.I32(count), 0x10, fdWrite, 0x1a, 0x0b,
		)}},
		Data: [][]byte{wasmtest.Code(0, wasmtest.I32(0), 0x0b, wasmtest.Text("note.txt"))},
	}
	grant := "[[capabilities.fs]]\npath = '${project}'\naccess = 'r'\n"
	w := hosttest.New(t, commandPlugin("read", m.Bytes(), grant+hosttest.Reads("read")), commandPlugin("blind", m.Bytes(), hosttest.Reads("blind")),
		hosttest.Files{"work/note.txt": "in the project"})
	o := w.Options()
	o.Project = "."
	h := w.Open(t, o)
	for range 3 {
		if got := textsOf(t, hosttest.Call(t, h, "read", `{}`)); got != "in the project" {
			t.Errorf("got %q", got)
		}
	}
	if a := hosttest.Call(t, h, "blind", `{}`); textsOf(t, a) != "the program exited with code 44" { // ENOENT
		t.Errorf("without the grant: got %s", a.Result)
	}
}
