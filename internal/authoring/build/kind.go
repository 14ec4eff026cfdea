package build

import (
	"cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/modinfo"
)

// kinds maps each kind of file to its description, and to what the author can do if the file is not a plugin. If the remedy is empty, it
// depends on the language.
var kinds = map[modinfo.Kind]struct{ what, remedy string }{
	modinfo.Plugin:      {"a plugin for ABI 1", ""},
	modinfo.Command:     {"a WASI command: a program, which has no handlers", ""},
	modinfo.Library:     {"a core module without the functions of ABI 1", ""},
	modinfo.Malformed:   {"a malformed module", "build the module again, or copy it again if the file is truncated (docs/getting-started.md)"},
	modinfo.Extism:      {"a plugin for hosts of Extism", notImportable},
	modinfo.WAPC:        {"a module for hosts of waPC", otherHost},
	modinfo.ProxyWasm:   {"a module for proxies that implement Proxy-Wasm", otherHost},
	modinfo.HTTPWasm:    {"a module for hosts of http-wasm", otherHost},
	modinfo.WasmBindgen: {"Rust for JavaScript, built with wasm-bindgen", "build for the target wasm32-wasip1, without wasm-pack and crates that need wasm-bindgen (docs/rust.md)"},
	modinfo.Emscripten:  {"C or C++ for JavaScript, built with Emscripten", "compile with clang --target=wasm32-wasip1 -mexec-model=reactor instead of emcc (docs/c.md)"},
	modinfo.GoJS:        {"Go for JavaScript, built with GOOS=js", "build with GOOS=wasip1 and GOARCH=wasm, and pass -buildmode=c-shared (docs/getting-started.md)"},
	modinfo.WASIX:       {"a module for WASIX, whose threads, sockets and processes do not exist here", ""},
	modinfo.OldWASI:     {"a module for a WASI that is older than preview 1", ""},
	modinfo.Object:      {"an object file, which is not linked", "link it to a module: with clang leave out -c (docs/c.md)"},
	modinfo.Component:   {"a component, which needs a host of the component model", ""},
	modinfo.Text:        {"the text format of WebAssembly", "assemble it: wat2wasm FILE (docs/abi.md)"},
	modinfo.Version:     {"a WebAssembly file of an unknown version", "build a core module of version 1 (docs/abi.md)"},
	modinfo.Empty:       {"an empty file", "build the module again (docs/getting-started.md)"},
	modinfo.Pointer:     {"a pointer of Git LFS instead of the module", "fetch the module: git lfs pull (docs/getting-started.md)"},
	modinfo.Archive:     {"an archive or a compressed file", "extract it, and name the module in it (docs/getting-started.md)"},
	modinfo.Native:      {"a program or library for a processor, not for WebAssembly", guides},
	modinfo.Other:       {"not a WebAssembly module", guides},
}

// importable and notImportable are the remedies for a plugin for hosts of Extism.
const (
	importable    = "write its manifest: `bulkhead plugin import` (docs/extism.md)"
	notImportable = "only those plugins for hosts of Extism can run that are plugins of hyper-mcp; build it with an SDK of ABI 1 (docs/README.md)"
)

const otherHost = "build it with an SDK of ABI 1 (docs/README.md)"

// otherLanguages is the part of a remedy for a module whose language is unknown.
const otherLanguages = "docs/README.md lists the languages with an SDK, docs/abi.md is for others"

// targets says for each language how to build a core module for WASI preview 1. Only such modules can be plugins.
var targets = map[modinfo.Language]string{
	modinfo.Go:             "build with GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared (docs/getting-started.md)",
	modinfo.TinyGo:         "build with the go command: GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared (docs/getting-started.md)",
	modinfo.Rust:           "the target is wasm32-wasip1, not wasm32-wasip2 (docs/rust.md)",
	modinfo.C:              "compile with clang --target=wasm32-wasip1 -mexec-model=reactor (docs/c.md)",
	modinfo.AssemblyScript: "compile with asc alone, without a tool for components (docs/assemblyscript.md)",
	modinfo.JavaScript:     "build with bulkhead-js instead of jco, ComponentizeJS or Javy (docs/javascript.md)",
}

// compilers maps a language to the command that selects its remedy in toolchains.
var compilers = map[modinfo.Language]string{
	modinfo.Go: "go", modinfo.TinyGo: "go", modinfo.Rust: "cargo", modinfo.C: "clang", modinfo.AssemblyScript: "asc", modinfo.JavaScript: "bulkhead-js",
}

// kindRemedy returns what the author of a file that is not a plugin can do.
func kindRemedy(info modinfo.Info) string {
	switch remedy, target := kinds[info.Kind].remedy, targets[info.Language]; {
	case info.Kind == modinfo.Component:
		return "build a core module: " + cmp.Or(target, "one for WASI preview 1 ("+otherLanguages+")")
	case info.Kind == modinfo.WASIX || info.Kind == modinfo.OldWASI:
		return "build for WASI preview 1: " + cmp.Or(target, otherLanguages)
	case remedy == otherHost && target != "":
		return "build it with the SDK of ABI 1: " + chainRemedy([]string{compilers[info.Language]})
	case info.Kind == modinfo.Command:
		return asCommand + "; to have handlers instead: " + cmp.Or(chainRemedy([]string{compilers[info.Language]}), guides)
	default:
		return cmp.Or(remedy, chainRemedy([]string{compilers[info.Language]}), guides)
	}
}

// asCommand is the remedy that makes a program a plugin.
const asCommand = `to run the program once for each call, write kind = "command" in [module] and args in each of [[tools]] (docs/commands.md)`
