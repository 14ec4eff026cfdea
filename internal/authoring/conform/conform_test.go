package conform_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/conform"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testcache"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

func TestMain(m *testing.M) {
	host.RunChild()
	testenv.UseMemoryUnlessAll()
	os.Exit(m.Run())
}

func TestGoSDKConforms(t *testing.T) {
	testenv.NotShort(t, "compiles a module of a Go program")
	compiled := testcache.Must(testcache.Compiled("../../runtime/engine/code"))
	results, err := conform.Run(t.Context(), testcache.Must(testcache.Module("testdata/module")), filepath.Join(compiled, "bulkhead"))
	if err != nil {
		t.Fatal(err)
	}
	if len(results) < 50 {
		t.Errorf("there are only %d results", len(results))
	}
	for _, r := range results {
		if !r.Passed {
			t.Errorf("%s: %s: %s", r.File, r.Name, r.Detail)
		}
	}
}

// TestWrongModuleFails runs the scenarios with a module that answers every request with the same result.
func TestWrongModuleFails(t *testing.T) {
	const tools = `"echo","fail","error","progress","log","print","read_file","operate","count","ask","spin","crash"`
	module := write(t, wasmtest.Answering(`{"result":{"tools":[`+tools+`],"prompts":true,"resources":true,"completions":true,`+
		`"content":[{"type":"text","text":"done"}],"messages":[],"contents":[]}}`))
	results, err := conform.Run(t.Context(), module, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		// Two scenarios ask for this very text, without a condition that the module cannot meet.
		if r.Passed && r.Name != "progress without a token" {
			t.Errorf("%s: %s passed", r.File, r.Name)
		}
		if !r.Passed && r.Detail == "" {
			t.Errorf("%s: %s failed without a reason", r.File, r.Name)
		}
	}
}

func TestModuleWithoutToolsOfKitIsNamed(t *testing.T) {
	module := write(t, wasmtest.Answering(`{"result":{"tools":["echo"],"prompts":true,"resources":true,"completions":true}}`))
	_, err := conform.Run(t.Context(), module, "")
	if err == nil || !strings.Contains(err.Error(), module) || !strings.Contains(err.Error(), `no handler for "spin"`) {
		t.Errorf("got %v", err)
	}
}

func TestFileThatIsNoModuleIsNamed(t *testing.T) {
	module := write(t, []byte("#!/bin/sh\n"))
	if _, err := conform.Run(t.Context(), module, ""); err == nil || !strings.Contains(err.Error(), module) {
		t.Errorf("got %v", err)
	}
	if _, err := conform.Run(t.Context(), module+".missing", ""); err == nil {
		t.Error("a missing file was accepted")
	}
}

func write(t *testing.T, wasm []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "it.wasm")
	if err := os.WriteFile(file, wasm, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}
