package build_test

import "github.com/bulkhead-mcp/bulkhead/internal/wasmtest"

// Modules put together by hand spare the tests a compiler.
var answering, crashing = wasmtest.Answering, wasmtest.Crashing

// outputting is a module that answers with size bytes of nothing.
func outputting(size int32) []byte {
	m := wasmtest.Plugin(wasmtest.Invoke(wasmtest.Output, 0, size), "")
	m.Memory = []byte{0, byte(size>>16) + 1}
	return m.Bytes()
}
