package child

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/reexec"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testcache"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/code"
)

func TestMain(m *testing.M) {
	reexec.Run(map[string]reexec.Main{reexec.Compiler: code.ChildMain, reexec.Worker: func([]string) int { return Main() }})
	testenv.UseMemoryUnlessAll()
	os.Exit(m.Run())
}

// store compiles the modules of all tests.
var store = sync.OnceValues(func() (*code.Store, error) {
	return code.Open(code.Config{Dir: testcache.Must(testcache.Compiled("../../engine/code")), Compiler: reexec.Command(reexec.Compiler)})
})

// compiled returns the directory of a module's compiled code.
func compiled(t *testing.T, module []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "m.wasm")
	if err := os.WriteFile(file, module, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := store()
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.Ensure(t.Context(), code.Module{File: file}, code.Foreground)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { found.Close() })
	return found.Dir
}

func loaded(t *testing.T, kind engine.Kind, module []byte) *engine.Module {
	t.Helper()
	m, err := engine.Load(t.Context(), engine.Spec{Name: "it", Kind: kind, Code: compiled(t, module)})
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
