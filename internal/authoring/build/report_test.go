package build_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/build"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter/wasm"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/modinfo"
)

func inspect(t *testing.T, content []byte) build.Report {
	t.Helper()
	file := filepath.Join(t.TempDir(), "hand.wasm")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := build.Inspect(t.Context(), file, build.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestInspectPlugin(t *testing.T) {
	m := wasmtest.Plugin(wasmtest.Invoke(wasmtest.Output, 0, int32(len(describesOne))), describesOne)
	m.Funcs = append(m.Funcs, wasmtest.Func{Name: "_initialize", Code: wasmtest.Code(wasmtest.Repeat(100, 0x01), wasmtest.I32(2), 0x40, 0, 0x1a, 0x0b)}) // nops, and grow memory by 2 pages
	dir := good().with(files{"hand.wasm": string(m.Bytes()), "plugin.toml": head + "[limits]\nmemory = '1MiB'\n[capabilities]\nenv = ['TOKEN']\nfs = [{ path = '${project}/x', access = 'rw' }]\n" + tools("one", "two")}).write(t, t.TempDir())
	r, err := build.Inspect(t.Context(), filepath.Join(dir, "hand.wasm"), build.Options{})
	if err != nil || r.Problem != "" {
		t.Fatalf("got the problem %q and the error %v", r.Problem, err)
	}
	if r.ABI != 1 || r.Kind != modinfo.Plugin || r.SHA256 != sum(string(m.Bytes())) || r.Handlers == nil || !slices.Equal(r.Handlers.Tools, []string{"one"}) {
		t.Errorf("got %+v", r)
	}
	if s := r.Start; s == nil || s.Compile <= 0 || s.Load <= 0 || s.StartFuel < 100 || s.CallFuel <= 0 || s.CallFuel > 100 || s.Memory != 3<<16 {
		t.Errorf("got the start-up cost %+v, want more than 100 instructions, fewer in the call, and 3 pages", s)
	}
	if r.Memory != 1<<16 {
		t.Errorf("the initial memory is %d bytes, want a page", r.Memory)
	}
	want := []build.Request{{Kind: "fs", What: "${project}/x", Access: "rw"}, {Kind: "env", What: "TOKEN"}, {Kind: "limits.memory", What: "1MiB"}}
	if s := r.Manifest; s == nil || s.Name != "hand" || len(s.Tools) != 2 || s.Problems != 1 || !slices.Equal(s.AsksFor, want) {
		t.Errorf("got the manifest %+v, want one problem, which is that the module has no handler for two, and the requests %v", s, want)
	}
}

func TestInspectReportsPluginsThatFail(t *testing.T) {
	endless := wasmtest.Plugin(nil, "")
	endless.Funcs = append(endless.Funcs, wasmtest.Func{Name: "_initialize", Code: []byte{0x03, 0x40, 0x0c, 0x00, 0x0b, 0x0b}})
	truncated := wasmtest.Answering("{}")
	for name, c := range map[string]struct {
		module  []byte
		problem string
		remedy  string
	}{
		"unknown import":      {wasmtest.Plugin(nil, "", wasmtest.Import{Module: "env", Name: "abort"}).Bytes(), `it imports "env"."abort"`, "docs/assemblyscript.md"},
		"trap":                {wasmtest.Crashing(), "asked for its handlers, the plugin ", "initialization"},
		"no description":      {wasmtest.Answering(`{"result":{}}`), "invalid description", "docs/abi.md"},
		"truncated":           {truncated[:len(truncated)-1], "cannot run", "docs/"},
		"truncated early":     {truncated[:60], "it is a malformed module", "build the module again"},
		"endless _initialize": {endless.Bytes(), "ran past its time limit", "initialization"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "hand.wasm")
			if err := os.WriteFile(file, c.module, 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := build.Inspect(t.Context(), file, build.Options{Time: 300 * time.Millisecond})
			if err != nil || !strings.Contains(r.Problem, c.problem) || !strings.Contains(r.Remedy, c.remedy) || r.Handlers != nil {
				t.Errorf("got the problem %q, the remedy %q and the error %v", r.Problem, r.Remedy, err)
			}
		})
	}
}

func TestInspectNamesPageForOtherFiles(t *testing.T) {
	language := func(field, name string) []byte {
		return slices.Concat(wasmtest.Text("producers"), []byte{1}, wasmtest.Text(field), []byte{1}, wasmtest.Text(name), wasmtest.Text("1"))
	}
	command := func(custom []byte) []byte {
		return wasmtest.Module{Types: []wasm.FuncType{{}}, Funcs: []wasmtest.Func{{Name: "_start", Code: []byte{0x0b}}}, Custom: [][]byte{custom}}.Bytes()
	}
	component := func(custom []byte) []byte {
		return wasm.AppendSection([]byte("\x00asm\x0d\x00\x01\x00"), wasm.SectionCustom, custom)
	}
	for name, c := range map[string]struct {
		file         []byte
		what, remedy string
	}{
		"Go command":     {command(language("language", "Go")), "a WASI command", "-buildmode=c-shared"},
		"Rust command":   {command(language("language", "Rust")), "a WASI command", `crate-type = ["cdylib"]`},
		"C command":      {command(language("language", "C11")), "a WASI command", "-mexec-model=reactor"},
		"command":        {command(language("x", "y")), "a WASI command", "docs/abi.md for other languages"},
		"any command":    {command(language("x", "y")), "a WASI command", `write kind = "command" in [module]`},
		"Rust component": {component(language("language", "Rust")), "a component", "wasm32-wasip1, not wasm32-wasip2 (docs/rust.md)"},
		"component":      {component(language("x", "y")), "a component", "docs/abi.md"},
		"script":         {[]byte("#!/bin/sh"), "not a WebAssembly module", "docs/getting-started.md"},
	} {
		r := inspect(t, c.file)
		if r.ABI != 0 || r.Start != nil || !strings.Contains(r.Problem, c.what) || !strings.Contains(r.Remedy, c.remedy) {
			t.Errorf("%s: got the problem %q and the remedy %q", name, r.Problem, r.Remedy)
		}
	}
}

func TestInspectRefusesUnreadableFiles(t *testing.T) {
	dir := t.TempDir()
	for _, file := range []string{dir, filepath.Join(dir, "none")} {
		_, err := build.Inspect(t.Context(), file, build.Options{})
		if problems := (tomlfile.Problems)(nil); !errors.As(err, &problems) {
			t.Errorf("%s: got the error %v, want problems", file, err)
		}
	}
}
