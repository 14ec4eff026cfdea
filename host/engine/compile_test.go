package engine

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host/engine/code"
	"github.com/bulkhead-mcp/bulkhead/internal/wasmtest"
)

// TestCodeThatIsGivenNeedsNoModule: a process that may not read the module's file, nor compile, runs it.
func TestCodeThatIsGivenNeedsNoModule(t *testing.T) {
	found, err := newStore(t, shared).Ensure(t.Context(), code.Module{Name: "guest", File: guest}, code.Foreground)
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	m := newModule(t, New(Config{}), Spec{File: "/nowhere", Code: found.Dir})
	if got, err := callTool(t.Context(), m, "echo", `{"a":1}`); err != nil || got != text(`{"a":1}`) {
		t.Errorf("got %s, %v", got, err)
	}
	_, err = callTool(t.Context(), newModule(t, New(Config{}), Spec{Code: t.TempDir()}), "echo", `{}`)
	wantCode(t, err, CodeInternal)
	_, err = callTool(t.Context(), newModule(t, New(Config{}), Spec{}), "echo", `{}`)
	wantCode(t, err, CodeInternal)
}

// TestCodeOfAnotherMachineIsMadeAnew: what is sound but not found by wazero is not compiled by the engine.
func TestCodeOfAnotherMachineIsMadeAnew(t *testing.T) {
	cache, file := t.TempDir(), filepath.Join(t.TempDir(), "m.wasm")
	if err := os.WriteFile(file, wasmtest.Answering("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	store := newStore(t, cache)
	found, err := store.Ensure(t.Context(), code.Module{File: file}, code.Foreground)
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	native, err := filepath.Glob(filepath.Join(found.Dir, "wazero-*", "*"))
	if err != nil || len(native) != 1 {
		t.Fatalf("%q, %v", native, err)
	}
	other := filepath.Join(filepath.Dir(native[0]), strings.Repeat("0", 64))
	sums := filepath.Join(found.Dir, "sums.json")
	data, err := os.ReadFile(sums)
	data = bytes.Replace(data, []byte(filepath.Base(native[0])), []byte(filepath.Base(other)), 1)
	if err := errors.Join(err, os.WriteFile(sums, data, 0o600), os.Rename(native[0], other)); err != nil {
		t.Fatal(err)
	}
	m := newModule(t, New(Config{Store: store}), Spec{File: file})
	if _, err := m.Call(t.Context(), Request{Method: "m"}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(native[0]); err != nil {
		t.Errorf("it was not made anew: %v", err)
	}
}
