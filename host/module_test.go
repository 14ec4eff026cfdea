package host

import "github.com/bulkhead-mcp/bulkhead/internal/wasmtest"

// Modules put together by hand spare the tests a compiler.
var answering, operating, crashing = wasmtest.Answering, wasmtest.Operating, wasmtest.Crashing

// module is one whose calls run code.
func module(code []byte, data string) []byte { return wasmtest.Plugin(code, data).Bytes() }
