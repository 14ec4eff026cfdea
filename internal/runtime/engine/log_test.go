package engine

import (
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
)

// Writing a line takes time however short the line is, so an empty line is charged and counts towards the limit.
func TestEmptyLogLinesAreCharged(t *testing.T) {
	const lines = 1000
	write := wasmtest.Import{Module: "wasi_snapshot_preview1", Name: "fd_write", Type: wasmtest.FourToI}
	vector := "\x08\x00\x00\x00\xe8\x03\x00\x00" // 1,000 bytes at address 8
	printed := func(descriptor int32) wasmtest.Module {
		code := wasmtest.Code(wasmtest.Invoke(wasmtest.Extra, descriptor, 0, 1, 2000), 0x1a, wasmtest.Invoke(wasmtest.Output, 0, 1))
		return wasmtest.Plugin(code, vector+strings.Repeat("\n", lines), write)
	}
	logged := wasmtest.Plugin(wasmtest.Code(wasmtest.Repeat(lines, wasmtest.Invoke(wasmtest.Log, 3, 0, 0)), wasmtest.Invoke(wasmtest.Output, 0, 1)), "")
	for name, module := range map[string]wasmtest.Module{"log": logged, "stdout": printed(1), "stderr": printed(2)} {
		t.Run(name, func(t *testing.T) {
			call := func(size int) (Held, *Error) {
				m := loadBytes(t, module.Bytes(), Spec{LogSize: size})
				inst, failure := m.newInstance(t.Context())
				if failure != nil {
					t.Fatal(failure)
				}
				defer inst.close()
				return inst.call(t.Context(), Prepared{Request: new(call.Request)})
			}
			if _, failure := call(lines * minLogLine / 2); failure == nil || failure.Code != CodeLogSize {
				t.Errorf("with half the limit for %d lines: %v, want %s", lines, failure, CodeLogSize)
			}
			const least = lines * bytesPerLogLine / bytesPerFuel
			if response, failure := call(lines * minLogLine); failure != nil || response.Fuel < least {
				t.Errorf("%d lines used %d units of fuel, want at least %d: %v", lines, response.Fuel, least, failure)
			}
		})
	}
}
