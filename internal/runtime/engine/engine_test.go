package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

func TestCallReturnsResponseBytesUnchanged(t *testing.T) {
	m := newModule(t, Spec{})
	for range 2 { // both calls use the same instance
		got, err := callTool(t.Context(), m, "echo", `{"a":"<ü>"}`)
		if err != nil {
			t.Fatal(err)
		}
		if want := textResponse(`{"a":"<ü>"}`); got != strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestFailedCallClosesOnlyItsInstance(t *testing.T) {
	m := newModule(t, Spec{Output: 1 << 19, Memory: 32 << 20})
	tests := []struct {
		name, tool string
		code       Code
		detail     string
	}{
		{"a panic", "panic", CodeTrap, "out of tea"},
		{"an exit", "exit", CodeExit, ""},
		{"a response over the limit", "big", CodeOutputSize, ""},
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

func TestContextEndInterruptsSleep(t *testing.T) {
	compiled(t, guest())
	synctest.Test(t, func(t *testing.T) {
		m := newModule(t, Spec{Time: time.Minute})
		began := time.Now()
		_, err := callTool(t.Context(), m, "sleep", `{}`)
		if failure := wantCode(t, err, CodeTimeout); failure.Message != "ran past its time limit of 1m0s" {
			t.Errorf("got the message %q", failure.Message)
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err = callTool(ctx, m, "sleep", `{}`)
		wantCode(t, err, CodeCanceled)
		if took := time.Since(began); took != time.Minute+time.Second {
			t.Errorf("both calls took %s", took)
		}
	})
}

func TestWASIProvidesRealClocksRandomnessAndGrantedEnvironment(t *testing.T) {
	t.Setenv("SECRET", "of the host")
	m := newModule(t, Spec{Time: time.Minute + time.Second, Env: map[string]string{"GIVEN": "yes"}})
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
			t.Errorf("the guest's clock is at %d, want at least %d", got.Now, before)
		}
		if seen[got.Random] || len(got.Random) != 16 {
			t.Errorf("random numbers repeat: %s", got.Random)
		}
		seen[got.Random] = true
		if len(got.Env) != 1 || got.Env[0] != "GIVEN=yes" {
			t.Errorf("environment: got %q", got.Env)
		}
		if in := got.Deadline - before; !got.Limited || in < time.Minute.Milliseconds() || in > 2*time.Minute.Milliseconds() {
			t.Errorf("the deadline is in %d ms (set: %t), want one to two minutes", in, got.Limited)
		}
	}
}

func TestOperations(t *testing.T) {
	m := newModule(t, Spec{
		Operate: func(_ context.Context, raw []byte) []byte {
			var r abi.HostRequest
			if err := json.Unmarshal(raw, &r); err != nil {
				t.Error(err)
			}
			return append(append([]byte(`{"result":`), r.Params...), '}')
		},
	})
	got, err := callTool(t.Context(), m, "parallel", `{}`)
	if err != nil || got != textResponse("ok") {
		t.Errorf("operations of many goroutines get their own results: got %s, %v", got, err)
	}
	got, err = callTool(t.Context(), m, "initialize", `{}`)
	if err != nil || !strings.Contains(got, abi.HostDenied) {
		t.Errorf("an operation in _initialize is denied: got %s, %v", got, err)
	}

	m = newModule(t, Spec{Operate: func(context.Context, []byte) []byte { panic("a bug") }})
	_, err = callTool(t.Context(), m, "parallel", `{}`)
	wantCode(t, err, CodeInternal)
	if _, err = callTool(t.Context(), m, "echo", `{}`); err != nil {
		t.Errorf("after an operation panicked: %v", err)
	}
}

func TestModuleOutputIsLogged(t *testing.T) {
	var out bytes.Buffer
	log := hclog.New(&hclog.LoggerOptions{Output: &out, Level: hclog.Trace, DisableTime: true})
	m := newModule(t, Spec{Log: log})
	if _, err := callTool(t.Context(), m, "say", `{}`); err != nil {
		t.Fatal(err)
	}
	want := "[DEBUG] logged·[31m\n[INFO]  printed\n[WARN]  said without end\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestCallsRunConcurrently(t *testing.T) {
	compiled(t, guest())
	synctest.Test(t, func(t *testing.T) {
		var arrived, calls sync.WaitGroup
		m := newModule(t, Spec{Operate: func(ctx context.Context, raw []byte) []byte {
			ctx.Value(firstOperation{}).(*sync.Once).Do(func() {
				arrived.Done()
				arrived.Wait() // if calls excluded each other, synctest would detect a deadlock here
			})
			var r abi.HostRequest
			_ = json.Unmarshal(raw, &r)
			return append(append([]byte(`{"result":`), r.Params...), '}')
		}})
		const concurrent = 4
		arrived.Add(concurrent)
		for range concurrent {
			calls.Go(func() {
				ctx := context.WithValue(t.Context(), firstOperation{}, new(sync.Once))
				if _, err := callTool(ctx, m, "parallel", `{}`); err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()
	})
}

// firstOperation is the key of the sync.Once for the first host operation of a call.
type firstOperation struct{}

func TestLoadRefusesABIViolations(t *testing.T) {
	for name, test := range map[string]struct {
		module wasmtest.Module
		says   string
	}{
		"every missing export is named":    {wasmtest.Module{Memory: []byte{0, 1}}, "bulkhead_abi_1; it does not export the function bulkhead_call"},
		"an unknown import":                {wasmtest.Plugin(nil, "", wasmtest.Import{Module: "env", Name: "abort", Type: wasmtest.FourToI}), `"env"."abort"`},
		"an import with a wrong signature": {wasmtest.Plugin(nil, "", wasmtest.Import{Module: "bulkhead", Name: "input", Type: wasmtest.OfI32}), "(i32, i32)"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(t.Context(), Spec{Code: compiled(t, writeModule(t, test.module.Bytes())).Dir, File: "m.wasm"})
			if failure := wantCode(t, err, CodeInvalidModule); !strings.Contains(failure.Message, test.says) || !strings.HasPrefix(failure.Message, "cannot run m.wasm: ") {
				t.Errorf("message %q does not contain %q", failure.Message, test.says)
			}
		})
	}
	_, err := Load(t.Context(), Spec{Code: compiled(t, guest()).Dir, Memory: 1 << 20})
	wantCode(t, err, CodeMemory)
}

func TestLoadRefusesStaleCode(t *testing.T) {
	_, err := Load(t.Context(), Spec{Code: t.TempDir()}) // the code was removed, as by `bulkhead cache clear`
	wantCode(t, err, CodeStale)
	dir := compiled(t, writeModule(t, wasmtest.Answering("{}"))).Dir
	native, err := filepath.Glob(filepath.Join(dir, "wazero-*", "*"))
	if err != nil || len(native) != 1 {
		t.Fatalf("the files with native code are %q, want one: %v", native, err)
	}
	if err := os.Rename(native[0], filepath.Join(filepath.Dir(native[0]), strings.Repeat("0", 64))); err != nil {
		t.Fatal(err)
	}
	_, err = Load(t.Context(), Spec{Code: dir})
	wantCode(t, err, CodeStale)
}

func TestFailingStartFunctionFailsCalls(t *testing.T) {
	for name, start := range map[string][]byte{
		"a trap":               {0x00},
		"an output call":       wasmtest.Invoke(wasmtest.Output, 0, 2),
		"an endless recursion": {0x10, 7},
	} {
		t.Run(name, func(t *testing.T) {
			module := wasmtest.Plugin(nil, "{}")
			module.Start = []byte{module.Next()}
			module.Funcs = append(module.Funcs, wasmtest.Func{Type: wasmtest.Void, Code: wasmtest.Code(start, 0x0b)})
			m := loadBytes(t, module.Bytes(), Spec{})
			want := map[string]Code{"a trap": CodeTrap, "an output call": CodeMisuse, "an endless recursion": CodeStack}[name]
			for range 2 {
				_, err := m.Call(t.Context(), Prepared{Request: &call.Request{Method: "m"}})
				wantCode(t, err, want)
			}
		})
	}
}

func TestABIViolationEndsCall(t *testing.T) {
	const drop = 0x1a
	const requestLen = int32(len(`{"method":"m","deadline":1234567890123}`))
	tests := []struct {
		name  string
		code  []byte // body of bulkhead_call
		fails Code   // code of the failure; "" if the call succeeds
	}{
		{"input and output within memory", wasmtest.Code(wasmtest.Invoke(wasmtest.Input, 200, requestLen), wasmtest.Invoke(wasmtest.Input, 100, requestLen), wasmtest.Invoke(wasmtest.Output, 0, 1), wasmtest.Invoke(wasmtest.Output, 0, 2)), ""},
		{"no output", nil, CodeNoResponse},
		{"unreachable", []byte{0x00}, CodeTrap},
		{"input with a wrong length", wasmtest.Invoke(wasmtest.Input, 0, requestLen+1), CodeMisuse},
		{"input past memory's end", wasmtest.Invoke(wasmtest.Input, 65530, requestLen), CodeMisuse},
		{"output past memory's end", wasmtest.Invoke(wasmtest.Output, 65535, 2), CodeMisuse},
		{"output whose end overflows", wasmtest.Invoke(wasmtest.Output, -1, -1), CodeMisuse},
		{"a result before any operation", wasmtest.Invoke(wasmtest.HostResult, 0, 0), CodeMisuse},
		{"a result with a wrong length", wasmtest.Code(wasmtest.Invoke(wasmtest.HostCall, 0, 0), drop, wasmtest.Invoke(wasmtest.HostResult, 0, 1)), CodeMisuse},
		{"a host operation past memory's end", wasmtest.Code(wasmtest.Invoke(wasmtest.HostCall, 65536, 1), drop), CodeMisuse},
		{"a log line past memory's end", wasmtest.Invoke(wasmtest.Log, 3, 0, 65537), CodeMisuse},
		{"a log line with an unknown level is logged", wasmtest.Code(wasmtest.Invoke(wasmtest.Log, 99, 0, 3), wasmtest.Invoke(wasmtest.Output, 0, 2)), ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := loadBytes(t, wasmtest.Plugin(test.code, "{}").Bytes(), Spec{})
			got, err := m.Call(t.Context(), Prepared{Request: &call.Request{Method: "m"}})
			defer got.Release()
			if test.fails == "" {
				if err != nil {
					t.Fatal(err)
				}
				if string(got.Body) != "{}" {
					t.Errorf("got %q, want the last output", got.Body)
				}
				return
			}
			wantCode(t, err, test.fails)
		})
	}
}
