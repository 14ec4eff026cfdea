package engine

import (
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
)

// Whatever a module that runs scripts contains, it has no files, variables, clocks or random numbers.
func TestScriptModulesImportOnlyTheABI(t *testing.T) {
	const body = `{"result":{"content":[]}}`
	answer := wasmtest.Invoke(wasmtest.Output, 0, int32(len(body)))
	loadBytes(t, wasmtest.Plugin(answer, body).Bytes(), Spec{Kind: Script})
	clock := wasmtest.Import{Module: "wasi_snapshot_preview1", Name: "random_get", Type: wasmtest.TwoToI}
	module := wasmtest.Plugin(answer, body, clock).Bytes()
	loadBytes(t, module, Spec{Kind: ABI1})
	_, err := Load(t.Context(), Spec{Name: "guest", Kind: Script, Code: compiled(t, writeModule(t, module)).Dir})
	if err == nil || !strings.Contains(err.Error(), `"random_get"`) {
		t.Errorf("got %v, want it to name the import", err)
	}
}
