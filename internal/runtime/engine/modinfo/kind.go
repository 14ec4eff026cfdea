package modinfo

import (
	"bytes"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter/wasm"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Kind is the kind of a file.
type Kind string

// Kinds of files that are core modules.
const (
	Plugin      Kind = "plugin"       // it exports the marker of ABI 1
	Command     Kind = "command"      // a WASI program, which exports _start
	Library     Kind = "library"      // none of the other kinds
	Malformed   Kind = "malformed"    // what precedes the fault does not tell the kind
	Module      Kind = "module"       // a core module that is not classified yet
	Extism      Kind = "extism"       // a plugin of Extism
	WasmBindgen Kind = "wasm-bindgen" // Rust for JavaScript
	Emscripten  Kind = "emscripten"   // C or C++ for JavaScript
	GoJS        Kind = "go-js"        // Go for JavaScript
	WAPC        Kind = "wapc"
	ProxyWasm   Kind = "proxy-wasm"
	HTTPWasm    Kind = "http-wasm"
	WASIX       Kind = "wasix"
	OldWASI     Kind = "wasi-unstable" // WASI before preview 1
	Object      Kind = "object"        // an object file, which was not linked
)

// Kinds of files that are not core modules.
const (
	Component Kind = "component"
	Text      Kind = "text"    // the text format of WebAssembly
	Version   Kind = "version" // a module of an unknown version
	Empty     Kind = "empty"
	Pointer   Kind = "lfs-pointer" // a pointer of Git LFS
	Archive   Kind = "archive"     // an archive or a compressed file
	Native    Kind = "native"      // a program or library for a processor
	Other     Kind = "other"
)

// Kinds are the kinds that Read returns.
var Kinds = []Kind{
	Plugin, Command, Library, Malformed, Extism, WasmBindgen, Emscripten, GoJS, WAPC, ProxyWasm, HTTPWasm, WASIX, OldWASI, Object,
	Component, Text, Version, Empty, Pointer, Archive, Native, Other,
}

// headerSize is the size of the magic number and the version.
const headerSize = 8

// formats are the beginnings of files. The first one applies.
var formats = []struct {
	prefix string
	kind   Kind
}{
	{string(wasm.Header()), Module},
	{"\x00asm\x0d\x00\x01\x00", Component},
	{"\x00asm", Version},
	{"(module", Text},
	{"(component", Text},
	{"version https://git-lfs", Pointer},
	{"\x7fELF", Native}, {"MZ", Native}, {"\xcf\xfa\xed\xfe", Native}, {"\xca\xfe\xba\xbe", Native}, {"BC\xc0\xde", Native}, {"!<arch>\n", Native},
	{"PK\x03\x04", Archive}, {"\x1f\x8b", Archive}, {"\x28\xb5\x2f\xfd", Archive}, {"BZh", Archive}, {"\xfd7zXZ", Archive},
}

// formatOf returns the kind of a file by its beginning; Module for every core module.
func formatOf(file []byte) Kind {
	if len(file) == 0 {
		return Empty
	}
	start := file
	if file[0] != 0 {
		start = bytes.TrimLeft(file[:min(len(file), 4<<10)], " \t\r\n")
	}
	for _, f := range formats {
		if bytes.HasPrefix(start, []byte(f.prefix)) {
			return f.kind
		}
	}
	return Other
}

// foreign are the imports by which a module for another host is known. A trailing * stands for any name. The first one applies.
var foreign = []struct {
	module, name string
	kind         Kind
}{
	{"extism:host/*", "*", Extism}, {"env", "extism_*", Extism},
	{"gojs", "*", GoJS}, {"go", "runtime.*", GoJS},
	{"wbg", "*", WasmBindgen}, {"__wbindgen_*", "*", WasmBindgen}, {"*", "__wbindgen_*", WasmBindgen}, {"*", "__wbg_*", WasmBindgen},
	{"env", "emscripten_*", Emscripten}, {"env", "_emscripten_*", Emscripten}, {"env", "__syscall_*", Emscripten}, {"env", "invoke_*", Emscripten},
	{"env", "_embind_*", Emscripten}, {"env", "__cxa_throw", Emscripten},
	{"wapc", "*", WAPC}, {"env", "proxy_*", ProxyWasm}, {"http_handler", "*", HTTPWasm},
	{"wasix_*", "*", WASIX}, {"wasi_unstable", "*", OldWASI},
}

// classify returns the kind of a core module.
func (m *reader) classify() Kind {
	if m.customs[customLinking] {
		return Object
	}
	if m.hasExport(abi.ExportMarker) {
		return Plugin
	}
	for _, f := range foreign {
		if slices.ContainsFunc(m.imports, func(e Entry) bool { return matches(f.module, e.Module) && matches(f.name, e.Name) }) {
			return f.kind
		}
	}
	if m.minified() {
		return Emscripten
	}
	switch {
	case m.hasExport("_start"):
		return Command
	case m.info.Fault != "":
		return Malformed
	}
	return Library
}

func (m *reader) hasExport(name string) bool {
	return slices.ContainsFunc(m.exports, func(e Entry) bool { return e.Name == name && e.Kind == "function" })
}

// minified reports whether all names of imports are as short as those that Emscripten writes for optimized modules.
func (m *reader) minified() bool {
	return len(m.imports) > 0 && !slices.ContainsFunc(m.imports, func(e Entry) bool { return e.Module != "a" || len(e.Name) > 3 })
}

func matches(pattern, name string) bool {
	if prefix, any := strings.CutSuffix(pattern, "*"); any {
		return strings.HasPrefix(name, prefix)
	}
	return pattern == name
}

// Language is the language in which a module is written.
type Language string

// Values of Language.
const (
	Go             Language = "Go"
	TinyGo         Language = "TinyGo"
	Rust           Language = "Rust"
	C              Language = "C"
	AssemblyScript Language = "AssemblyScript"
	JavaScript     Language = "JavaScript"
)

// producedBy are names in the section "producers". The first one applies, since the standard library of Rust has parts in C.
var producedBy = []struct {
	field, name string
	language    Language
}{
	// Engines for JavaScript are written in C and Rust.
	{"language", "JavaScript", JavaScript}, {"processed-by", "ComponentizeJS*", JavaScript}, {"processed-by", "Javy*", JavaScript},
	{"processed-by", "TinyGo*", TinyGo}, {"language", "Go", Go}, {"language", "Rust", Rust}, {"processed-by", "rustc*", Rust},
	{"language", "C*", C}, {"processed-by", "clang*", C}, {"processed-by", "Debian clang*", C},
}

// language returns the language of a module or component; "" if it is unknown.
func (m *reader) language() Language {
	for _, p := range producedBy {
		if slices.ContainsFunc(m.info.Producers, func(have Producer) bool { return matches(p.field, have.Field) && matches(p.name, have.Name) }) {
			return p.language
		}
	}
	switch {
	case m.customs[customBuildID]:
		return Go
	case slices.ContainsFunc(m.imports, func(e Entry) bool { return e.Module == "env" && e.Name == "abort" }), m.hasExport("__rtti_base"):
		return AssemblyScript
	}
	return ""
}
