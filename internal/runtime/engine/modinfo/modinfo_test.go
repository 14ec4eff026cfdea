package modinfo_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter/wasm"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/modinfo"
)

// module returns a module that imports a function, and exports a function.
func module(importModule, importName, export string, custom ...[]byte) []byte {
	m := wasmtest.Module{Types: []wasm.FuncType{{}}, Custom: custom}
	if importModule != "" {
		m.Imports = []wasmtest.Import{{Module: importModule, Name: importName}}
	}
	m.Funcs = []wasmtest.Func{{Name: export, Code: []byte{0x0b}}}
	return m.Bytes()
}

func custom(name string, content ...[]byte) []byte {
	return slices.Concat(append([][]byte{wasmtest.Text(name)}, content...)...)
}

func producers(field, name, version string) []byte {
	return custom("producers", []byte{1}, wasmtest.Text(field), []byte{1}, wasmtest.Text(name), wasmtest.Text(version))
}

func TestReadClassifiesFiles(t *testing.T) {
	const component = "\x00asm\x0d\x00\x01\x00"
	nested := module("", "", "run", producers("language", "Rust", ""))
	for name, c := range map[string]struct {
		file     []byte
		kind     modinfo.Kind
		language modinfo.Language
	}{
		"plugin":                     {wasmtest.Answering("{}"), modinfo.Plugin, ""},
		"plugin with foreign import": {wasmtest.Plugin(nil, "", wasmtest.Import{Module: "env", Name: "abort"}).Bytes(), modinfo.Plugin, modinfo.AssemblyScript},
		"command":                    {module("wasi_snapshot_preview1", "fd_write", "_start", producers("language", "C11", "")), modinfo.Command, modinfo.C},
		"library":                    {module("", "", "add"), modinfo.Library, ""},
		"AssemblyScript library":     {module("env", "abort", "add"), modinfo.Library, modinfo.AssemblyScript},
		"Go without producers":       {module("wasi_snapshot_preview1", "fd_write", "_start", custom("go:buildid", []byte("id"))), modinfo.Command, modinfo.Go},
		"TinyGo":                     {module("", "", "_start", producers("processed-by", "TinyGo", "0.35")), modinfo.Command, modinfo.TinyGo},
		"Extism":                     {module("extism:host/env", "input_length", "greet", producers("processed-by", "rustc", "1.90")), modinfo.Extism, modinfo.Rust},
		"Extism of old SDKs":         {module("env", "extism_input_length", "greet"), modinfo.Extism, ""},
		"wasm-bindgen":               {module("./x_bg.js", "__wbg_log_1b2", "greet"), modinfo.WasmBindgen, ""},
		"Emscripten":                 {module("env", "emscripten_resize_heap", "main"), modinfo.Emscripten, ""},
		"optimized Emscripten":       {module("a", "b", "c"), modinfo.Emscripten, ""},
		"Go for JavaScript":          {module("gojs", "runtime.wasmExit", "run", producers("language", "Go", "go1.26")), modinfo.GoJS, modinfo.Go},
		"waPC":                       {module("wapc", "__host_call", "__guest_call"), modinfo.WAPC, ""},
		"proxy-wasm":                 {module("env", "proxy_log", "x"), modinfo.ProxyWasm, ""},
		"http-wasm":                  {module("http_handler", "get_uri", "x"), modinfo.HTTPWasm, ""},
		"WASIX":                      {module("wasix_32v1", "thread_spawn", "_start"), modinfo.WASIX, ""},
		"old WASI":                   {module("wasi_unstable", "fd_write", "_start"), modinfo.OldWASI, ""},
		"object file":                {module("", "", "", custom("linking", []byte{2})), modinfo.Object, ""},
		"component":                  {wasm.AppendSection([]byte(component), 1, nested), modinfo.Component, modinfo.Rust},
		"text format":                {[]byte("\n  (module)"), modinfo.Text, ""},
		"other version":              {[]byte("\x00asm\x02\x00\x00\x00"), modinfo.Version, ""},
		"empty":                      {nil, modinfo.Empty, ""},
		"Git LFS":                    {[]byte("version https://git-lfs.github.com/spec/v1\n"), modinfo.Pointer, ""},
		"archive":                    {[]byte("\x1f\x8b\x08"), modinfo.Archive, ""},
		"native":                     {[]byte("\x7fELF\x02"), modinfo.Native, ""},
		"other":                      {[]byte("#!/bin/sh\n"), modinfo.Other, ""},
	} {
		if info := modinfo.Read(c.file); info.Kind != c.kind || info.Language != c.language || info.Fault != "" {
			t.Errorf("%s: got the kind %q, the language %q and the fault %q, want %q and %q", name, info.Kind, info.Language, info.Fault, c.kind, c.language)
		}
	}
}

func TestReadListsImportsExportsAndMemory(t *testing.T) {
	m := wasmtest.Plugin(nil, "")
	m.Memory = []byte{1, 3, 17}
	info := modinfo.Read(m.Bytes())
	if len(info.Imports) != 5 || info.Imports[0] != (modinfo.Entry{Module: "bulkhead", Name: "input", Kind: "function"}) {
		t.Errorf("imports: %v", info.Imports)
	}
	if want := (modinfo.Entry{Name: "memory", Kind: "memory"}); !slices.Contains(info.Exports, want) {
		t.Errorf("exports: %v, want %v", info.Exports, want)
	}
	if info.Memory != 3<<16 || info.Functions != 2 {
		t.Errorf("memory of %d bytes and %d functions, want 3 pages and 2 functions", info.Memory, info.Functions)
	}
}

// named returns a module with a function for each name, each of which has a body of 5 bytes.
func named(language string, names ...string) []byte {
	m := wasmtest.Module{Types: []wasm.FuncType{{}}, Imports: []wasmtest.Import{{Module: "wasi_snapshot_preview1", Name: "fd_write"}}}
	entries := [][]byte{append([]byte{0}, wasmtest.Text("imported.function")...)}
	for i, name := range names {
		m.Funcs = append(m.Funcs, wasmtest.Func{Code: []byte{1, 1, 1, 0x0b}})
		entries = append(entries, append(wasm.AppendU32(nil, uint32(i+1)), wasmtest.Text(name)...))
	}
	m.Custom = [][]byte{producers("language", language, ""), custom("name", wasm.AppendSection(nil, 1, wasmtest.Vector(entries)))}
	return m.Bytes()
}

func TestReadSumsPackages(t *testing.T) {
	golang := modinfo.Read(named("Go", "runtime.a", "runtime.b", "encoding_json.__T_.M", "github.com_x_y_z.__T_.M", "github.com_x_y_z.F.func1",
		"golang.org_x_text.F", "vendor_golang.org_x_net.F", "main.main", "slices.Sort_go.shape.int_", "type_.eq.main.T", "wasm_pc_f_loop", "os.ok_file", "gopkg.in_yaml_2ev3.F"))
	want := "runtime 10, github.com_x_y_z 10, " +
		"(no package) 5, encoding_json 5, golang.org_x_text 5, gopkg.in_yaml_2ev3 5, main 5, os 5, slices 5, type: 5, vendor_golang.org_x_net 5"
	if got := text(golang.Packages); sorted(got) != sorted(want) {
		t.Errorf("Go packages: got  %s\nwant %s", got, want)
	}
	rust := modinfo.Read(named("Rust", "core::fmt::write::h0123", "<alloc::vec::Vec<T> as core::fmt::Debug>::fmt::h1", "dlmalloc", "core::str::f"))
	if got, want := text(rust.Packages), "core 10, (no package) 5, alloc 5"; got != want {
		t.Errorf("crates: got %s, want %s", got, want)
	}
	if other := modinfo.Read(named("C11", "main.f")); other.Packages != nil {
		t.Errorf("C: got packages %v", other.Packages)
	}
}

func sorted(list string) string {
	parts := strings.Split(list, ", ")
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

func text(parts []modinfo.Part) string {
	var out []string
	for _, p := range parts {
		out = append(out, fmt.Sprint(p.Name, " ", p.Size))
	}
	return strings.Join(out, ", ")
}

func TestReadReportsFaults(t *testing.T) {
	whole := wasmtest.Answering("{}")
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"truncated":            {whole[:len(whole)-1], "unexpected end"},
		"huge section":         {append(wasm.Header(), 2, 0xff, 0xff, 0xff, 0xff, 0x0f), "unexpected end"},
		"too many imports":     {wasm.AppendSection(wasm.Header(), 2, []byte{0xff, 0xff, 0x03}), "do not fit"},
		"unknown kind":         {wasm.AppendSection(wasm.Header(), 2, []byte{1, 0, 0, 9}), "unknown kind 9"},
		"too many sections":    {append(wasm.Header(), slices.Repeat([]byte{1, 0}, 10_001)...), "more than 10000 sections"},
		"custom without name":  {wasm.AppendSection(wasm.Header(), 0, nil), "malformed"},
		"name is not in UTF-8": {wasm.AppendSection(wasm.Header(), 0, []byte{1, 0xff}), "not UTF-8"},
	} {
		if info := modinfo.Read(c.file); !strings.Contains(info.Fault, c.want) {
			t.Errorf("%s: got the fault %q, want %q", name, info.Fault, c.want)
		}
	}
	if info := modinfo.Read(whole[:len(whole)-1]); info.Kind != modinfo.Plugin {
		t.Errorf("a plugin whose last section is truncated has the kind %q", info.Kind)
	}
}

func TestReadBoundsLists(t *testing.T) {
	m := wasmtest.Module{Types: []wasm.FuncType{{}}}
	names := make([]string, 20_000)
	for i := range names {
		names[i] = fmt.Sprintf("p%d.F", i)
		m.Imports = append(m.Imports, wasmtest.Import{Module: "m", Name: strings.Repeat("n", i%300)})
	}
	info := modinfo.Read(m.Bytes())
	if len(info.Imports) != 500 || info.LeftOut.Imports != 19_500 {
		t.Errorf("got %d imports and %d left out", len(info.Imports), info.LeftOut.Imports)
	}
	for _, e := range info.Imports {
		if len(e.Name) > 210 {
			t.Errorf("a name has %d bytes", len(e.Name))
		}
	}
	info = modinfo.Read(named("Go", names...))
	if len(info.Packages) != 500 || info.LeftOut.Packages != 10_000+1-500 || info.Packages[0].Name != "(other packages)" {
		t.Errorf("got %d packages and %d left out, the largest is %v", len(info.Packages), info.LeftOut.Packages, info.Packages[0])
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range [][]byte{
		nil, wasmtest.Answering("{}"), module("env", "abort", "_start", producers("language", "Go", "1"), custom("linking")),
		named("Go", "runtime.a", "github.com_x_y.F"), named("Rust", "core::fmt::f"),
		wasm.AppendSection([]byte("\x00asm\x0d\x00\x01\x00"), 1, named("Rust", "a::b")),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		info := modinfo.Read(file)
		if !slices.Contains(modinfo.Kinds, info.Kind) || info.Size != len(file) {
			t.Errorf("kind %q, size %d", info.Kind, info.Size)
		}
		sections := sum(info.Sections)
		if info.Fault == "" && len(info.Sections) > 0 && info.LeftOut.Sections == 0 && sections != len(file)-8 {
			t.Errorf("the sections have %d of %d bytes", sections, len(file))
		}
		if sections > len(file) || sum(info.Packages) > len(file) {
			t.Errorf("of %d bytes the sections have %d, and the packages %d", len(file), sections, sum(info.Packages))
		}
		for _, n := range []int{len(info.Sections), len(info.Imports), len(info.Exports), len(info.Packages), len(info.Producers)} {
			if n > 500 {
				t.Errorf("a list has %d entries", n)
			}
		}
	})
}

func sum(parts []modinfo.Part) (size int) {
	for _, p := range parts {
		size += p.Size
	}
	return size
}
