package engine

import (
	"errors"
	"slices"
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

// A script that is stopped has printed something: its first lines are kept for its client, and do not reach the log, so limits.log does not stop it.
func TestLinesOfStoppedScriptAreKept(t *testing.T) {
	const line = "printed\xff"
	log := wasmtest.Invoke(wasmtest.Log, int32(levelPrinted), 0, int32(len(line)))
	loop := wasmtest.Code(0x03, 0x40, 0x0c, 0, 0x0b)
	flood := wasmtest.Code(0x03, 0x40, log, 0x0c, 0, 0x0b)
	for name, test := range map[string]struct {
		code []byte
		kind Kind
		want func(lines []string) bool
	}{
		"two lines":      {wasmtest.Code(log, log, loop), Script, func(l []string) bool { return slices.Equal(l, []string{"printed", "printed"}) }},
		"a flood":        {flood, Script, func(l []string) bool { return len(strings.Join(l, "\n")) < MaxPrinted && len(l) > MaxPrinted/10 }},
		"another module": {wasmtest.Code(log, loop), ABI1, func(l []string) bool { return l == nil }},
		"nothing":        {loop, Script, func(l []string) bool { return l == nil }},
	} {
		t.Run(name, func(t *testing.T) {
			m := loadBytes(t, wasmtest.Plugin(test.code, line).Bytes(), Spec{Kind: test.kind, Fuel: 20_000_000, LogSize: 1 << 10})
			for range 2 { // the second call has only its own lines
				_, err := callTool(t.Context(), m, "t", "{}")
				var failure *Error
				if !errors.As(err, &failure) || failure.Code != CodeFuel || !test.want(failure.Printed) {
					t.Fatalf("got %v with %d lines", err, len(failure.Printed))
				}
			}
		})
	}
}
