package wasmtest

import (
	"slices"

	"github.com/bulkhead-mcp/bulkhead/host/engine/meter/wasm"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// The imports of a Plugin by their index: those of ABI 1, and the first of what is imported besides.
const (
	Input = iota
	Output
	HostCall
	HostResult
	Log
	Extra
)

// The types of a Plugin by their index.
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

// Plugin is a module of ABI 1 with one page of memory. code is what it does in a call, without its end; data
// stands at address 0. more are functions that it imports besides, whose indices begin at Extra.
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

// Next is the index of the next function that is appended to m.Funcs.
func (m Module) Next() byte { return byte(len(m.Imports) + len(m.Funcs)) }

// Invoke is the code that calls a function with numbers.
func Invoke(function byte, args ...int32) []byte {
	var out []byte
	for _, arg := range args {
		out = append(out, I32(arg)...)
	}
	return append(out, 0x10, function)
}

// Answering is a module that answers every request with body.
func Answering(body string) []byte {
	return Plugin(Invoke(Output, 0, int32(len(body))), body).Bytes()
}

// Operating is a module that asks for a host operation and then answers with body.
func Operating(request, body string) []byte {
	const drop = 0x1a
	return Plugin(Code(Invoke(HostCall, 0, int32(len(request))), drop, Invoke(Output, int32(len(request)), int32(len(body)))), request+body).Bytes()
}

// Crashing is a module that traps when it is called.
func Crashing() []byte { return Plugin([]byte{0x00}, "").Bytes() }
