// Package wasmtest assembles WebAssembly modules for tests: modules that no compiler would produce or that are too small to
// need one. Module.Bytes encodes the binary format (https://www.w3.org/TR/wasm-core-1/#binary-format); Plugin returns a
// module that implements ABI 1 with given code for a call.
//
// The package validates nothing, so that tests can build invalid modules.
package wasmtest

import (
	"fmt"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter/wasm"
)

// Module is a module by sections. Empty sections are omitted.
type Module struct {
	Types    []wasm.FuncType
	Imports  []Import
	Funcs    []Func
	Tables   [][]byte // entries: a type and limits
	Memory   []byte   // limits; exported as "memory"
	Globals  [][]byte
	Exports  [][]byte // in addition to Func.Name and the memory
	Start    []byte
	Elements [][]byte
	Data     [][]byte
	Counted  bool // write a data count section
	Custom   [][]byte
}

// Import is an imported function.
type Import struct {
	Module, Name string
	Type         byte // index in Module.Types
}

// Func is a defined function.
type Func struct {
	Name   string // export name; empty: not exported
	Type   byte   // index in Module.Types
	Locals []byte // vector of declarations; nil: none
	Code   []byte // instructions, including the final end
}

// Bytes encodes the module in the binary format.
func (m Module) Bytes() []byte {
	out := wasm.Header()
	section := func(id wasm.SectionID, entries [][]byte) {
		if len(entries) > 0 {
			out = wasm.AppendSection(out, id, Vector(entries))
		}
	}
	var types, imports, funcs, exports, bodies [][]byte
	for _, t := range m.Types {
		types = append(types, slices.Concat([]byte{0x60}, Text(string(t.Params)), Text(string(t.Results))))
	}
	for _, i := range m.Imports {
		imports = append(imports, slices.Concat(Text(i.Module), Text(i.Name), []byte{0, i.Type}))
	}
	for i, f := range m.Funcs {
		funcs = append(funcs, []byte{f.Type})
		if f.Name != "" {
			exports = append(exports, slices.Concat(Text(f.Name), []byte{0}, wasm.AppendU32(nil, uint32(len(m.Imports)+i))))
		}
		locals := f.Locals
		if locals == nil {
			locals = []byte{0}
		}
		bodies = append(bodies, Text(string(slices.Concat(locals, f.Code))))
	}
	section(wasm.SectionType, types)
	section(wasm.SectionImport, imports)
	section(wasm.SectionFunction, funcs)
	section(wasm.SectionTable, m.Tables)
	if m.Memory != nil {
		section(wasm.SectionMemory, [][]byte{m.Memory})
		exports = append(exports, append(Text("memory"), 2, 0))
	}
	section(wasm.SectionGlobal, m.Globals)
	section(wasm.SectionExport, append(exports, m.Exports...))
	if m.Start != nil {
		out = wasm.AppendSection(out, wasm.SectionStart, m.Start)
	}
	section(wasm.SectionElement, m.Elements)
	if m.Counted {
		out = wasm.AppendSection(out, wasm.SectionDataCount, []byte{byte(len(m.Data))})
	}
	section(wasm.SectionCode, bodies)
	section(wasm.SectionData, m.Data)
	for _, c := range m.Custom {
		out = wasm.AppendSection(out, wasm.SectionCustom, c)
	}
	return out
}

// Vector encodes a vector of encoded entries.
func Vector(entries [][]byte) []byte {
	return append(wasm.AppendU32(nil, uint32(len(entries))), slices.Concat(entries...)...)
}

// Text encodes s as a name or a vector of bytes.
func Text(s string) []byte { return wasm.AppendVector(nil, []byte(s)) }

// Code concatenates instructions, given as opcodes (int or byte) and byte slices.
func Code(parts ...any) []byte {
	var out []byte
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			out = append(out, byte(p))
		case byte:
			out = append(out, p)
		case []byte:
			out = append(out, p...)
		default:
			panic(fmt.Sprintf("unexpected type %T", p))
		}
	}
	return out
}

// I32 encodes i32.const.
func I32(n int32) []byte { return wasm.AppendS64([]byte{0x41}, int64(n)) }

// I64 encodes i64.const.
func I64(n int64) []byte { return wasm.AppendS64([]byte{0x42}, n) }

// Repeat concatenates n copies of code.
func Repeat(n int, parts ...any) []byte { return slices.Repeat(Code(parts...), n) }
