package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/host/engine/code"
	"github.com/bulkhead-mcp/bulkhead/internal/testcache"
	"github.com/bulkhead-mcp/bulkhead/internal/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// guest is the module compiled from testdata/guest, and shared the cache with its code.
var guest, shared string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "engine-test-")
	if err != nil {
		panic(err)
	}
	guest, shared = filepath.Join(dir, "guest.wasm"), filepath.Join(dir, "cache")
	build := exec.Command("go", "build", "-buildmode=c-shared", "-o", guest, "./testdata/guest")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		panic(fmt.Sprintf("build testdata/guest: %v\n%s", err, out))
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

func newEngine(t testing.TB, cache string) *Engine {
	t.Helper()
	testcache.DependOn(t, "../..")
	return New(Config{Store: newStore(t, cache)})
}

func newStore(t testing.TB, cache string) *code.Store {
	t.Helper()
	store, err := code.Open(code.Config{Dir: cache})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

func newModule(t testing.TB, e *Engine, spec Spec) *Module {
	t.Helper()
	if spec.File == "" {
		spec.File = guest
	}
	spec.Name = "guest"
	m := e.Module(spec)
	t.Cleanup(func() {
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return m
}

// callTool calls one of the guest's tools.
func callTool(ctx context.Context, m *Module, tool, arguments string) (string, error) {
	response, err := m.Call(ctx, Request{Method: abi.MethodToolsCall, Params: fmt.Appendf(nil, `{"name":%q,"arguments":%s}`, tool, arguments)})
	return string(response.Body), err
}

func text(s string) string {
	quoted, _ := json.Marshal(s)
	return `{"result":{"content":[{"type":"text","text":` + string(quoted) + `}]}}`
}

func wantCode(t *testing.T, err error, code Code) *Error {
	t.Helper()
	failure := (*Error)(nil)
	if !errors.As(err, &failure) {
		t.Fatalf("got error %v, want one with code %q", err, code)
	}
	if failure.Code != code {
		t.Fatalf("got code %q (%s), want %q", failure.Code, failure.Message, code)
	}
	return failure
}

func TestCallAnswersWithTheModulesBytes(t *testing.T) {
	m := newModule(t, newEngine(t, shared), Spec{})
	for range 2 { // the second time on the instance of the first
		got, err := callTool(t.Context(), m, "echo", `{"a":"<ü>"}`)
		if err != nil {
			t.Fatal(err)
		}
		if want := text(`{"a":"<ü>"}`); got != strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestAFailedCallLosesItsInstanceOnly(t *testing.T) {
	m := newModule(t, newEngine(t, shared), Spec{Output: 1 << 19, Memory: 32 << 20})
	tests := []struct {
		name, tool string
		code       Code
		detail     string
	}{
		{"a panic", "panic", CodeTrap, "out of tea"},
		{"an exit", "exit", CodeExit, ""},
		{"an answer over the limit", "big", CodeOutputSize, ""},
		{"memory over the limit", "grow", CodeMemory, "out of memory"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := callTool(t.Context(), m, test.tool, `{}`)
			failure := wantCode(t, err, test.code)
			if !strings.Contains(failure.Detail, test.detail) {
				t.Errorf("detail %q lacks %q", failure.Detail, test.detail)
			}
			if _, err := callTool(t.Context(), m, "echo", `{}`); err != nil {
				t.Errorf("the next call: %v", err)
			}
		})
	}
}

func TestASleepingCallEndsWithItsContext(t *testing.T) {
	m := newModule(t, newEngine(t, shared), Spec{Time: 50 * time.Millisecond})
	_, err := callTool(t.Context(), m, "sleep", `{}`)
	if failure := wantCode(t, err, CodeTimeout); failure.Message != "ran past its time limit of 50ms" {
		t.Errorf("got %q", failure.Message)
	}

	m = newModule(t, newEngine(t, shared), Spec{})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	_, err = callTool(ctx, m, "sleep", `{}`)
	wantCode(t, err, CodeCanceled)
}

func TestAModuleGetsRealClocksRandomnessAndOnlyItsEnvironment(t *testing.T) {
	t.Setenv("SECRET", "of the host")
	m := newModule(t, newEngine(t, shared), Spec{Time: time.Minute + time.Second, Env: map[string]string{"GIVEN": "yes"}})
	seen := map[string]bool{}
	for range 2 {
		before := time.Now().UnixMilli()
		raw, err := callTool(t.Context(), m, "facts", `{}`)
		if err != nil {
			t.Fatal(err)
		}
		var response struct {
			Result struct {
				StructuredContent struct {
					Now      int64
					Random   string
					Env      []string
					Deadline int64
					Limited  bool
				}
			}
		}
		if err := json.Unmarshal([]byte(raw), &response); err != nil {
			t.Fatal(err)
		}
		got := response.Result.StructuredContent
		if got.Now < before || got.Now > time.Now().UnixMilli() {
			t.Errorf("the clock says %d, and it is %d", got.Now, before)
		}
		if seen[got.Random] || len(got.Random) != 16 {
			t.Errorf("random numbers repeat: %s", got.Random)
		}
		seen[got.Random] = true
		if len(got.Env) != 1 || got.Env[0] != "GIVEN=yes" {
			t.Errorf("environment: got %q", got.Env)
		}
		if in := got.Deadline - before; !got.Limited || in < time.Minute.Milliseconds() || in > 2*time.Minute.Milliseconds() {
			t.Errorf("the deadline is in %d ms, %t", in, got.Limited)
		}
	}
}

func TestOperations(t *testing.T) {
	m := newModule(t, newEngine(t, shared), Spec{
		Operate: func(_ context.Context, raw []byte) []byte {
			var r abi.HostRequest
			if err := json.Unmarshal(raw, &r); err != nil {
				t.Error(err)
			}
			return append(append([]byte(`{"result":`), r.Params...), '}')
		},
	})
	got, err := callTool(t.Context(), m, "parallel", `{}`)
	if err != nil || got != text("ok") {
		t.Errorf("operations of many goroutines get their own results: got %s, %v", got, err)
	}
	got, err = callTool(t.Context(), m, "initialize", `{}`)
	if err != nil || !strings.Contains(got, abi.HostDenied) {
		t.Errorf("an operation in _initialize is denied: got %s, %v", got, err)
	}

	m = newModule(t, newEngine(t, shared), Spec{Operate: func(context.Context, []byte) []byte { panic("a bug") }})
	_, err = callTool(t.Context(), m, "parallel", `{}`)
	wantCode(t, err, CodeInternal)
	if _, err = callTool(t.Context(), m, "echo", `{}`); err != nil {
		t.Errorf("after an operation panicked: %v", err)
	}
}

func TestWhatAModulePrintsBecomesLogLines(t *testing.T) {
	var out bytes.Buffer
	log := hclog.New(&hclog.LoggerOptions{Output: &out, Level: hclog.Trace, DisableTime: true})
	m := newModule(t, newEngine(t, shared), Spec{Log: log})
	if _, err := callTool(t.Context(), m, "say", `{}`); err != nil {
		t.Fatal(err)
	}
	want := "[DEBUG] logged·[31m\n[INFO]  printed\n[WARN]  said without end\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestCallsRunAtTheSameTime(t *testing.T) {
	arrived := make(chan struct{})
	m := newModule(t, newEngine(t, shared), Spec{Concurrency: 4, Operate: func(_ context.Context, raw []byte) []byte {
		arrived <- struct{}{} // none returns before all have come
		var r abi.HostRequest
		_ = json.Unmarshal(raw, &r)
		return append(append([]byte(`{"result":`), r.Params...), '}')
	}})
	var calls sync.WaitGroup
	for range 4 {
		calls.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if _, err := callTool(ctx, m, "parallel", `{}`); err != nil {
				t.Error(err)
			}
		})
	}
	for range 4 {
		select {
		case <-arrived:
		case <-time.After(time.Minute):
			t.Fatal("calls wait for one another")
		}
	}
	go func() {
		for range arrived {
		}
	}()
	calls.Wait()
	close(arrived)
}

func TestAModuleIsCheckedBeforeItRuns(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, content []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	sum := func(content []byte) string { return fmt.Sprintf("%x", sha256.Sum256(content)) }
	tests := []struct {
		name   string
		file   string
		sha256 string
		code   Code
		says   string
	}{
		{"a missing file names the command to run", filepath.Join(dir, "none.wasm"), "", CodeModuleMissing, "bulkhead plugin build"},
		{"another digest", write("a.wasm", []byte("a")), sum([]byte("b")), CodeDigest, sum([]byte("a"))},
		{"no WASM", write("b.wasm", []byte("hello")), sum([]byte("hello")), CodeInvalidModule, "not a WebAssembly module"},
		{"a module of no ABI names all that it lacks", write("c.wasm", wasmtest.Module{Memory: []byte{0, 1}}.Bytes()), "", CodeInvalidModule, "bulkhead_abi_1; it does not export the function bulkhead_call"},
		{"an import that there is not", write("d.wasm", wasmtest.Plugin(nil, "", wasmtest.Import{Module: "env", Name: "abort", Type: wasmtest.FourToI}).Bytes()), "", CodeInvalidModule, `"env"."abort"`},
		{"an import of another form", write("e.wasm", wasmtest.Plugin(nil, "", wasmtest.Import{Module: "bulkhead", Name: "input", Type: wasmtest.OfI32}).Bytes()), "", CodeInvalidModule, "(i32, i32)"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := newModule(t, newEngine(t, ""), Spec{File: test.file, SHA256: test.sha256})
			_, err := m.Call(t.Context(), Request{Method: "m"})
			if failure := wantCode(t, err, test.code); !strings.Contains(failure.Message, test.says) {
				t.Errorf("%q does not say %q", failure.Message, test.says)
			}
		})
	}
}

func TestAStartFunctionThatFailsHarmsItsCallsOnly(t *testing.T) {
	for name, code := range map[string][]byte{
		"a trap":               {0x00},
		"an answer":            wasmtest.Invoke(wasmtest.Output, 0, 2),
		"an endless recursion": {0x10, 7},
	} {
		t.Run(name, func(t *testing.T) {
			module := wasmtest.Plugin(nil, "{}")
			module.Start = []byte{module.Next()}
			module.Funcs = append(module.Funcs, wasmtest.Func{Type: wasmtest.Void, Code: wasmtest.Code(code, 0x0b)})
			file := filepath.Join(t.TempDir(), "m.wasm")
			if err := os.WriteFile(file, module.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			m := newModule(t, newEngine(t, ""), Spec{File: file})
			want := map[string]Code{"a trap": CodeTrap, "an answer": CodeMisuse, "an endless recursion": CodeStack}[name]
			for range 2 {
				_, err := m.Call(t.Context(), Request{Method: "m"})
				wantCode(t, err, want)
			}
		})
	}
}

func TestMisuseOfTheBorderEndsTheCall(t *testing.T) {
	const drop = 0x1a
	const requestLen = int32(len(`{"method":"m","deadline":1234567890123}`))
	tests := []struct {
		name  string
		code  []byte // of the call
		fails Code   // "": the call answers
	}{
		{"input and output within memory", wasmtest.Code(wasmtest.Invoke(wasmtest.Input, 200, requestLen), wasmtest.Invoke(wasmtest.Input, 100, requestLen), wasmtest.Invoke(wasmtest.Output, 0, 1), wasmtest.Invoke(wasmtest.Output, 0, 2)), ""},
		{"no output", nil, CodeNoResponse},
		{"unreachable", []byte{0x00}, CodeTrap},
		{"input of another length", wasmtest.Invoke(wasmtest.Input, 0, requestLen+1), CodeMisuse},
		{"input past memory's end", wasmtest.Invoke(wasmtest.Input, 65530, requestLen), CodeMisuse},
		{"output past memory's end", wasmtest.Invoke(wasmtest.Output, 65535, 2), CodeMisuse},
		{"output whose end overflows", wasmtest.Invoke(wasmtest.Output, -1, -1), CodeMisuse},
		{"a result before any operation", wasmtest.Invoke(wasmtest.HostResult, 0, 0), CodeMisuse},
		{"a result of another length", wasmtest.Code(wasmtest.Invoke(wasmtest.HostCall, 0, 0), drop, wasmtest.Invoke(wasmtest.HostResult, 0, 1)), CodeMisuse},
		{"an operation past memory's end", wasmtest.Code(wasmtest.Invoke(wasmtest.HostCall, 65536, 1), drop), CodeMisuse},
		{"a log line past memory's end", wasmtest.Invoke(wasmtest.Log, 3, 0, 65537), CodeMisuse},
		{"a log line of no level is logged", wasmtest.Code(wasmtest.Invoke(wasmtest.Log, 99, 0, 3), wasmtest.Invoke(wasmtest.Output, 0, 2)), ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "m.wasm")
			if err := os.WriteFile(file, wasmtest.Plugin(test.code, "{}").Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			m := newModule(t, newEngine(t, ""), Spec{File: file})
			got, err := m.Call(t.Context(), Request{Method: "m"})
			if test.fails == "" {
				if err != nil {
					t.Fatal(err)
				}
				if string(got.Body) != "{}" {
					t.Errorf("the last output counts: got %q", got.Body)
				}
				return
			}
			wantCode(t, err, test.fails)
		})
	}
}

func TestWarmFillsTheCacheAndLeavesNothingInMemory(t *testing.T) {
	cache := t.TempDir()
	m := newModule(t, newEngine(t, cache), Spec{})
	for range 2 {
		if err := m.Warm(t.Context()); err != nil {
			t.Fatal(err)
		}
		if m.Loaded() {
			t.Error("the module is in memory")
		}
	}
	if found, err := filepath.Glob(filepath.Join(cache, "module-*")); err != nil || len(found) != 1 {
		t.Errorf("the cache holds %v, %v", found, err)
	}
	if _, err := callTool(t.Context(), m, "echo", `{}`); err != nil {
		t.Error(err)
	}
}

func BenchmarkReset(b *testing.B) {
	m := newModule(b, newEngine(b, shared), Spec{})
	l, err := m.load(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	inst, failure := m.fresh(b.Context(), l)
	if failure != nil {
		b.Fatal(failure)
	}
	for b.Loop() {
		b.StopTimer()
		if _, failure := inst.call(b.Context(), Request{Method: "tools/call", Params: []byte(`{"name":"echo","arguments":{}}`)}); failure != nil {
			b.Fatal(failure)
		}
		b.StartTimer()
		if !inst.restore(l.image) {
			b.Fatal("cannot be put back")
		}
	}
}
