package wasmtest

import (
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter/wasm"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Indices of the imports of a Plugin: the functions of ABI 1, and Extra, the first additional import.
const (
	Input = iota
	Output
	HostCall
	HostResult
	Log
	Extra
)

// Indices of the types of a Plugin.
const (
	Void    = iota // () -> ()
	OfI32          // (i32) -> ()
	OfTwo          // (i32 i32) -> ()
	TwoToI         // (i32 i32) -> i32
	OfThree        // (i32 i32 i32) -> ()
	ToI32          // () -> i32
	IToI           // (i32) -> i32
	FourToI        // (i32 i32 i32 i32) -> i32
)

var pluginTypes = func() []wasm.FuncType {
	i32 := func(n int) []byte { return slices.Repeat([]byte{byte(wasm.I32)}, n) }
	return []wasm.FuncType{
		{}, {Params: i32(1)}, {Params: i32(2)}, {Params: i32(2), Results: i32(1)}, {Params: i32(3)},
		{Results: i32(1)}, {Params: i32(1), Results: i32(1)}, {Params: i32(4), Results: i32(1)},
	}
}()

// Plugin returns a module that implements ABI 1 and has one page of memory. code is the body of bulkhead_call without the
// final end. data is at address 0. more contains additional imports, whose indices begin at Extra.
func Plugin(code []byte, data string, more ...Import) Module {
	m := Module{
		Types: slices.Clone(pluginTypes),
		Imports: append([]Import{
			{abi.ImportModule, abi.ImportInput, OfTwo}, {abi.ImportModule, abi.ImportOutput, OfTwo},
			{abi.ImportModule, abi.ImportHostCall, TwoToI}, {abi.ImportModule, abi.ImportHostResult, OfTwo},
			{abi.ImportModule, abi.ImportLog, OfThree},
		}, more...),
		Funcs: []Func{
			{Name: abi.ExportMarker, Type: Void, Code: []byte{0x0b}},
			{Name: abi.ExportCall, Type: OfI32, Code: Code(code, 0x0b)},
		},
		Memory: []byte{0, 1},
	}
	if data != "" {
		m.Data = [][]byte{Code(0, I32(0), 0x0b, Text(data))}
	}
	return m
}

// Next returns the index of the next function that is appended to m.Funcs.
func (m Module) Next() byte { return byte(len(m.Imports) + len(m.Funcs)) }

// Invoke returns code that calls a function with i32 arguments.
func Invoke(function byte, args ...int32) []byte {
	var out []byte
	for _, arg := range args {
		out = append(out, I32(arg)...)
	}
	return append(out, 0x10, function)
}

// Answering returns a module that responds to every request with body.
func Answering(body string) []byte {
	return Plugin(Invoke(Output, 0, int32(len(body))), body).Bytes()
}

// Operating returns a module that performs a host operation and then responds with body.
func Operating(request, body string) []byte {
	const drop = 0x1a
	return Plugin(Code(Invoke(HostCall, 0, int32(len(request))), drop, Invoke(Output, int32(len(request)), int32(len(body)))), request+body).Bytes()
}

// Asking returns a module that responds to a request of more than size bytes with body, and to a shorter one with ask.
func Asking(size int32, ask, body string) []byte {
	const localGet, gtU, ifVoid, otherwise, end = 0x20, 0x4b, 0x04, 0x05, 0x0b
	code := Code([]byte{localGet, 0}, I32(size), []byte{gtU, ifVoid, 0x40}, Invoke(Output, int32(len(ask)), int32(len(body))),
		[]byte{otherwise}, Invoke(Output, 0, int32(len(ask))), []byte{end})
	return Plugin(code, ask+body).Bytes()
}

// Crashing returns a module that traps when it is called.
func Crashing() []byte { return Plugin([]byte{0x00}, "").Bytes() }
