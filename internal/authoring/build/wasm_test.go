package build_test

import "github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"

// Hand-assembled modules, so that the tests need no compiler.
var answering, crashing = wasmtest.Answering, wasmtest.Crashing

// outputting returns a module that answers with a response of size bytes, all of which are 0.
func outputting(size int32) []byte {
	m := wasmtest.Plugin(wasmtest.Invoke(wasmtest.Output, 0, size), "")
	m.Memory = []byte{0, byte(size>>16) + 1}
	return m.Bytes()
}
