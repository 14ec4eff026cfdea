package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testcache"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
)

// program returns the path of the command built from testdata/program.
func program() string { return testcache.Must(testcache.Command("testdata/program")) }

func newCommand(t testing.TB, spec Spec) *Module {
	t.Helper()
	spec.Kind, spec.Code = Command, compiled(t, program()).Dir
	return loaded(t, spec)
}

// execute runs the command once.
func execute(t testing.TB, m *Module, stdin string, args ...string) (Held, error) {
	t.Helper()
	response, err := m.Call(t.Context(), Prepared{Request: new(call.Request), Args: args, Stdin: []byte(stdin)})
	response.Release()
	return response, err
}

func TestCommandGetsArguments(t *testing.T) {
	m := newCommand(t, Spec{})
	for _, args := range [][]string{
		{"args"},
		{"args", ""},
		{"args", "a b", `"c" 'd'`, "\\", "$(x) `y` *", "é😀\n", "", "-x", "--", "=", "\xff"},
		append([]string{"args", strings.Repeat("a", 1<<20)}, slices.Repeat([]string{"x"}, 1000)...),
	} {
		r, err := execute(t, m, "", args...)
		var got []string
		if jerr := json.Unmarshal(r.Body, &got); err != nil || jerr != nil {
			t.Fatal(err, jerr, string(r.Stderr))
		}
		want := append([]string{"guest"}, args...)
		for i := range want {
			want[i] = strings.ToValidUTF8(want[i], "\uFFFD") // as JSON has it
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %.200q, want %.200q", got, want)
		}
	}
}

func TestCommandReadsStandardInput(t *testing.T) {
	m := newCommand(t, Spec{})
	large := strings.Repeat("ab\x00\xff", 1<<20)
	for _, input := range []string{"", "a\nb", large} {
		if r, err := execute(t, m, input, "cat"); err != nil || string(r.Body) != input {
			t.Errorf("got %d bytes and the error %v, want the %d bytes of the input", len(r.Body), err, len(input))
		}
	}
	if r, err := execute(t, m, large, "count"); err != nil || string(r.Body) != fmt.Sprint(4<<20, " ", ('a'+'b'+0xff)<<20) {
		t.Errorf("got %s, %v", r.Body, err)
	}
}

func TestCommandExitCodes(t *testing.T) {
	m := newCommand(t, Spec{})
	for _, code := range []string{"0", "1", "2", "255"} {
		r, err := execute(t, m, "", "exit", code)
		if err != nil || fmt.Sprint(r.Exit) != code || string(r.Body) != "out" || string(r.Stderr) != "err" {
			t.Errorf("got the code %d, %q, %q and the error %v, want the code %s, out and err", r.Exit, r.Body, r.Stderr, err, code)
		}
	}
}

// Exiting, filling memory and leaving a file open change nothing for the next run, which has the same instance or another one.
func TestCommandRunsAreIndependent(t *testing.T) {
	dir := t.TempDir()
	m := newCommand(t, Spec{FS: mountDir(t, dir), Env: map[string]string{"PWD": dir}})
	first := 0
	for i := range 4 {
		if _, err := execute(t, m, "", "exit", "1"); err != nil {
			t.Fatal(err)
		}
		if r, err := execute(t, m, "", "leave", "."); err != nil || r.Exit != 0 {
			t.Fatal(err, string(r.Stderr))
		}
		r, err := execute(t, m, "input", "args", "x")
		if err != nil || string(r.Body) != `["guest","args","x"]`+"\n" {
			t.Fatalf("got %q, %v", r.Body, err)
		}
		if i == 0 {
			first = int(r.Memory)
		}
		if int(r.Memory) != first {
			t.Errorf("the memory has %d bytes, want %d as in the first run", r.Memory, first)
		}
	}
	if m.snapshot == nil {
		t.Error("there is no snapshot: each run has a new instance")
	}
}

func TestCommandInstancesAreReused(t *testing.T) {
	m := newCommand(t, Spec{Reused: true}) // which does not apply: an instance that is not restored cannot run _start again
	var module any
	for range 3 {
		if r, err := execute(t, m, "", "exit", "1"); err != nil || string(r.Body) != "out" {
			t.Fatalf("got %q, %v", r.Body, err)
		}
		if len(m.pool.ready) != 1 || module != nil && module != any(m.pool.ready[0].module) {
			t.Fatalf("%d instances are idle, want the first one", len(m.pool.ready))
		}
		module = m.pool.ready[0].module
	}
}

func TestCommandRunsConcurrently(t *testing.T) {
	m := newCommand(t, Spec{})
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for n := range 5 {
				input := strings.Repeat(fmt.Sprint(i, n), 10_000)
				if r, err := execute(t, m, input, "cat"); err != nil || string(r.Body) != input {
					t.Errorf("run %d of goroutine %d: got %d bytes, %v", n, i, len(r.Body), err)
				}
			}
		})
	}
	group.Wait()
}

func TestCommandLimits(t *testing.T) {
	m := newCommand(t, Spec{Time: 5 * time.Second, Fuel: 300_000_000, Memory: 32 << 20, Output: 64 << 10, LogSize: 200 << 10})
	for _, c := range []struct {
		code Code
		args []string
	}{
		{CodeOutputSize, []string{"print", fmt.Sprint(64<<10 + 1)}},
		{CodeLogSize, []string{"warn", fmt.Sprint(200 << 10)}},
		{CodeFuel, []string{"spin"}},
	} {
		_, err := execute(t, m, "", c.args...)
		if failure := wantCode(t, err, c.code); c.code == CodeOutputSize && failure.Message != "printed more than its limit of 65536 bytes" {
			t.Errorf("got %q", failure.Message)
		}
		if r, err := execute(t, m, "", "print", fmt.Sprint(64<<10)); err != nil || len(r.Body) != 64<<10 {
			t.Errorf("the run after %s: got %d bytes, %v", c.args[0], len(r.Body), err)
		}
	}
	r, err := execute(t, m, "", "grow") // the program decides how it ends
	if err != nil || r.Exit == 0 || !strings.HasSuffix(string(r.Stderr), "bulkhead: the program needed more memory than its limit of 32 MiB") {
		t.Errorf("got the code %d, %q, %v", r.Exit, r.Stderr, err)
	}
	short := newCommand(t, Spec{Time: 200 * time.Millisecond})
	_, err = execute(t, short, "", "spin")
	wantCode(t, err, CodeTimeout)
}

func TestCommandPanics(t *testing.T) {
	m := newCommand(t, Spec{})
	r, err := execute(t, m, "", "panic") // Go prints the reason and exits with 2
	if err != nil || r.Exit != 2 || !strings.HasPrefix(string(r.Stderr), "panic: boom") {
		t.Errorf("got the code %d, %q, %v", r.Exit, r.Stderr, err)
	}
	trap := wasmtest.Module{Types: pluginVoid, Memory: []byte{0, 1}, Funcs: []wasmtest.Func{{Name: "_start", Code: []byte{0x00, 0x0b}}}}
	_, err = execute(t, loadBytes(t, trap.Bytes(), Spec{Kind: Command}), "")
	wantCode(t, err, CodeTrap)
}

func TestCommandStandardErrorIsAnExcerpt(t *testing.T) {
	m := newCommand(t, Spec{})
	for _, size := range []int{0, maxExcerpt, 2*maxExcerpt - 9, 2 * maxExcerpt, 20 * maxExcerpt} {
		r, err := execute(t, m, "", "warn", fmt.Sprint(size))
		got, whole := string(r.Stderr), "first"+strings.Repeat("x", size)+"last"
		if err != nil || !strings.HasPrefix(got, "first") || !strings.HasSuffix(got, "last") {
			t.Fatalf("%d bytes: got %.20q, %v", size, got, err)
		}
		missing := len(whole) - 2*maxExcerpt
		if missing <= 0 && got != whole {
			t.Errorf("%d bytes: got %d", len(whole), len(got))
		}
		if missing > 0 && (!strings.Contains(got, fmt.Sprintf("… %d bytes are left out …", missing)) || len(got) > 2*maxExcerpt+100) {
			t.Errorf("%d bytes: got %d, want a line about %d missing ones", len(whole), len(got), missing)
		}
	}
}

func TestExcerptOfSmallWrites(t *testing.T) {
	var e excerpt
	var written strings.Builder
	for i := range 40_000 {
		line := fmt.Sprintln(i)
		e.add([]byte(line))
		written.WriteString(line)
	}
	whole := written.String()
	if got := string(e.text()); !strings.HasPrefix(got, whole[:maxExcerpt]+"\n…") || !strings.HasSuffix(got, "…\n"+whole[len(whole)-maxExcerpt:]) {
		t.Errorf("got %d bytes", len(got))
	}
}

// pluginVoid are the types of a module whose functions have no parameters.
var pluginVoid = wasmtest.Plugin(nil, "").Types[:1]

func TestCommandIsChecked(t *testing.T) {
	start := wasmtest.Func{Name: "_start", Code: []byte{0x0b}}
	for name, c := range map[string]struct {
		module wasmtest.Module
		want   string
	}{
		"no _start":           {wasmtest.Module{Types: pluginVoid, Memory: []byte{0, 1}}, "it does not export the function _start"},
		"no memory":           {wasmtest.Module{Types: pluginVoid, Funcs: []wasmtest.Func{start}}, "it does not export its memory"},
		"import of ABI 1":     {wasmtest.Plugin(nil, ""), `it imports "bulkhead"."input", which the host does not provide`},
		"_start has a result": {wasmtest.Module{Types: wasmtest.Plugin(nil, "").Types, Memory: []byte{0, 1}, Funcs: []wasmtest.Func{{Name: "_start", Type: wasmtest.ToI32, Code: wasmtest.Code(wasmtest.I32(0), 0x0b)}}}, "_start does not have the signature ()"},
	} {
		_, err := Load(t.Context(), Spec{Name: "guest", Kind: Command, Code: compiled(t, writeModule(t, c.module.Bytes())).Dir})
		if failure := wantCode(t, err, CodeInvalidModule); !strings.Contains(failure.Message, "it is not a WASI command: ") || !strings.Contains(failure.Message, c.want) {
			t.Errorf("%s: got %q, want %q", name, failure.Message, c.want)
		}
	}
	_, err := Load(t.Context(), Spec{Name: "guest", Code: compiled(t, program()).Dir})
	if failure := wantCode(t, err, CodeInvalidModule); !strings.Contains(failure.Message, "it exports _start, as a program for WASI does") {
		t.Errorf("got %q", failure.Message)
	}
}

// A start function runs before there is a request: it has no arguments, and its exit is a failure.
func TestCommandThatExitsInItsStartFunction(t *testing.T) {
	exits := wasmtest.Module{
		Types:   wasmtest.Plugin(nil, "").Types,
		Imports: []wasmtest.Import{{Module: "wasi_snapshot_preview1", Name: "proc_exit", Type: wasmtest.OfI32}},
		Memory:  []byte{0, 1},
		Funcs:   []wasmtest.Func{{Name: "_start", Code: wasmtest.Code(wasmtest.I32(7), 0x10, 0, 0x0b)}},
		Start:   []byte{1},
	}
	_, err := execute(t, loadBytes(t, exits.Bytes(), Spec{Kind: Command}), "")
	wantCode(t, err, CodeExit)
}

func TestCommandArgumentsBeyondMemory(t *testing.T) {
	types := wasmtest.Plugin(nil, "").Types
	for name, c := range map[string]struct {
		function string
		a, b     int32
	}{
		"argv":        {"args_get", -4, 0},
		"buffer":      {"args_get", 0, 1<<16 - 3},
		"argc":        {"args_sizes_get", 1<<16 - 1, 0},
		"buffer size": {"args_sizes_get", 0, -1},
	} {
		m := wasmtest.Module{ // exits with the errno
			Types: types,
			Imports: []wasmtest.Import{
				{Module: "wasi_snapshot_preview1", Name: c.function, Type: wasmtest.TwoToI}, {Module: "wasi_snapshot_preview1", Name: "proc_exit", Type: wasmtest.OfI32},
			},
			Memory: []byte{0, 1},
			Funcs:  []wasmtest.Func{{Name: "_start", Code: wasmtest.Code(wasmtest.I32(c.a), wasmtest.I32(c.b), 0x10, 0, 0x10, 1, 0x0b)}},
		}
		if r, err := execute(t, loadBytes(t, m.Bytes(), Spec{Kind: Command}), ""); err != nil || r.Exit != 21 {
			t.Errorf("%s: got the errno %d, %v, want EFAULT", name, r.Exit, err)
		}
	}
}

func TestCommandStandardErrorIsLoggedForDebugging(t *testing.T) {
	var log strings.Builder
	m := newCommand(t, Spec{Log: hclog.New(&hclog.LoggerOptions{Level: hclog.Info, Output: &log})})
	if _, err := execute(t, m, "", "exit", "1"); err != nil || log.Len() > 0 {
		t.Errorf("got the log %q, %v", log.String(), err)
	}
}
