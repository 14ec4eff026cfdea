package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/reexec"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testcache"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/dirtypages"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/code"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// store compiles the modules of all tests.
var store *code.Store

func TestMain(m *testing.M) {
	reexec.Run(map[string]reexec.Main{reexec.Compiler: code.ChildMain})
	testenv.UseMemoryUnlessAll()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if store, err = code.Open(code.Config{Dir: testcache.Must(testcache.Compiled("code")), Compiler: reexec.Command(reexec.Compiler)}); err != nil {
		panic(err)
	}
	defer store.Close()
	return m.Run()
}

// guest returns the path of the module built from testdata/guest.
func guest() string { return testcache.Must(testcache.Module("testdata/guest")) }

// compiled returns the compiled code of a module file.
func compiled(t testing.TB, file string) *code.Code {
	t.Helper()
	found, err := store.Ensure(t.Context(), code.Module{File: file}, code.Foreground)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { found.Close() })
	return found
}

// tracker returns the shared Tracker; nil if the system does not support dirty page tracking.
var tracker = sync.OnceValue(func() *dirtypages.Tracker {
	t, err := dirtypages.Open()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return t
})

// newModule loads the guest.
func newModule(t testing.TB, spec Spec) *Module {
	t.Helper()
	spec.Code = compiled(t, guest()).Dir
	return loaded(t, spec)
}

// loadBytes loads a module from its bytes.
func loadBytes(t testing.TB, module []byte, spec Spec) *Module {
	t.Helper()
	spec.Code = compiled(t, writeModule(t, module)).Dir
	return loaded(t, spec)
}

func writeModule(t testing.TB, module []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "m.wasm")
	if err := os.WriteFile(file, module, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func loaded(t testing.TB, spec Spec) *Module {
	t.Helper()
	spec.Name, spec.Tracker = "guest", tracker()
	m, err := Load(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return m
}

// callTool calls one of the guest's tools.
func callTool(ctx context.Context, m *Module, tool, arguments string) (string, error) {
	response, err := m.Call(ctx, toolRequest(tool, arguments))
	response.Release()
	return string(response.Body), err
}

func toolRequest(tool, arguments string) Prepared {
	return Prepared{Request: &call.Request{Method: abi.MethodToolsCall, Params: fmt.Appendf(nil, `{"name":%q,"arguments":%s}`, tool, arguments)}}
}

func textResponse(s string) string {
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
