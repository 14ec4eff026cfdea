package build_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/build"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
)

func TestCheck(t *testing.T) {
	wasm := good()["hand.wasm"]
	pinned := head + "sha256 = '" + sum(wasm) + "'\n"
	const command = "[build]\ncommand = ['true']\n"
	describes := func(result string) files { return files{"hand.wasm": string(answering(`{"result":` + result + `}`))} }
	for name, c := range map[string]struct {
		source files
		want   []string
	}{
		"a source that has yet to be built":  {good().with(files{"plugin.toml": head + command + tools("one"), "hand.wasm": ""}), nil},
		"a source with its module":           {good(), nil},
		"a built plugin":                     {good().with(files{"plugin.toml": pinned + tools("one")}), nil},
		"a missing module without [build]":   {good().with(files{"hand.wasm": ""}), []string{"plugin.toml:7 module.file: there is no module at "}},
		"a missing module of a built plugin": {good().with(files{"plugin.toml": pinned + command + tools("one"), "hand.wasm": ""}), []string{"plugin.toml:7 module.file: there is no module at "}},
		"a module with a different digest": {good().with(files{"plugin.toml": pinned + tools("one"), "hand.wasm": string(answering("{}"))}),
			[]string{"plugin.toml:8 module.sha256: asked for its handlers, the plugin cannot run: hand.wasm has the SHA-256 "}},
		"a module without ABI 1": {good().with(files{"hand.wasm": "\x00asm\x01\x00\x00\x00"}),
			[]string{"plugin.toml:7 module.file: asked for its handlers, the plugin cannot run hand.wasm: it does not implement ABI 1: "}},
		"problems of the manifest and of the module": {good().with(files{"plugin.toml": pinned + "[offer]\n" + tools("two", "t w o")}), []string{
			"plugin.toml:9 offer: ", "plugin.toml:15 tools[1].name: ", `plugin.toml:0 tools: the module has a handler for "one"`,
			`plugin.toml:11 tools[0].name: the module has no handler for "two"`, `plugin.toml:15 tools[1].name: the module has no handler for "t w o"`}},
		"a module outside the directory": {good().with(files{"plugin.toml": strings.Replace(head, "hand.wasm", "../hand.wasm", 1) + tools("one")}),
			[]string{`plugin.toml:7 module.file: "../hand.wasm" is not a clean relative path`}},
		"handlers that the manifest does not offer": {good().with(describes(`{"tools":["one"],"prompts":true,"resources":true,"completions":true}`)), []string{
			"plugin.toml:0 offers.prompts: is not declared, but the module handles prompts", "plugin.toml:0 offers.resources: is not declared, ",
			"plugin.toml:0 offers.completions: is not declared, "}},
		"a handler for an empty claim": {good().with(describes(`{"tools":["one"],"prompts":true}`)).with(files{"plugin.toml": head + "[offers]\nprompts = []\n" + tools("one")}),
			[]string{"plugin.toml:9 offers.prompts: is not declared, "}},
		"many handlers without a table": {good().with(describes(`{"tools":["one"` + manyNames(1000) + `]}`)),
			append(slices.Repeat([]string{`plugin.toml:0 tools: the module has a handler for "t`}, 20), "plugin.toml:0 tools: the module has handlers for 980 more")},
		"an invalid response":                {good().with(describes(`{"tools":"one"}`)), []string{`plugin.toml:7 module.file: the module answers bulkhead/describe with an invalid description: "{`}},
		"a response without a list of tools": {good().with(describes(`{"prompts":true}`)), []string{`plugin.toml:7 module.file: the module answers bulkhead/describe with an invalid description: "{`}},
		"a response that is not JSON":        {good().with(describes(`{`)), []string{`plugin.toml:7 module.file: asked for its handlers, the plugin returned a response that is not JSON`}},
		"a response that is too large":       {good().with(files{"hand.wasm": string(outputting(1<<20 + 1))}), []string{"plugin.toml:7 module.file: asked for its handlers, the plugin returned a response of 1048577 bytes"}},
		"an error response":                  {good().with(files{"hand.wasm": string(answering(`{"error":{"code":-32601,"message":"no\nsuch method"}}`))}), []string{`plugin.toml:7 module.file: the module answers bulkhead/describe with the error "no\nsuch method"`}},
		"an icon without pixels": {good().with(files{"plugin.toml": strings.Replace(head, "[module]", "icon = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAAAAAA6mKC9'\n[module]", 1) + tools("one")}),
			[]string{"plugin.toml:6 plugin.icon: is not a complete PNG: "}},
		"a directory without a manifest": {files{"x": "x"}, []string{"plugin.toml:0 : there is no such file"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := c.source.write(t, t.TempDir())
			ps := build.Check(t.Context(), dir, build.Options{})
			wantProblems(t, ps, c.want...)
			for i, p := range ps {
				if p.File != filepath.Join(dir, "plugin.toml") || i > 0 && p.Line < ps[i-1].Line {
					t.Errorf("%s: out of order", p)
				}
			}
		})
	}
}

func TestCheckReportsOffersWithoutHandlers(t *testing.T) {
	dir := good().with(files{"plugin.toml": head + "[offers]\nprompts = true\nresources = ['x://']\ncompletions = true\n" + tools("one")}).write(t, t.TempDir())
	wantProblems(t, build.Check(t.Context(), dir, build.Options{}).Errors(),
		"plugin.toml:9 offers.prompts: is declared, but the module does not handle prompts",
		"plugin.toml:10 offers.resources: is declared, ",
		"plugin.toml:11 offers.completions: is declared, ")
}

func TestBuildSucceedsWithWarnings(t *testing.T) {
	source := files{"plugin.toml": head, "hand.wasm": string(answering(`{"result":{"tools":[]}}`))}.write(t, t.TempDir())
	result, err := build.Build(t.Context(), source, build.Options{Out: t.TempDir()})
	if err != nil || len(result.Warnings) != 1 || result.Warnings[0].What != "offers nothing" {
		t.Errorf("got the warnings %v and the error %v, want one warning", result.Warnings, err)
	}
}

func TestCheckWritesNothing(t *testing.T) {
	dir := good().write(t, t.TempDir())
	build.Check(t.Context(), dir, build.Options{})
	if got := read(t, dir); len(got) != 2 {
		t.Errorf("the directory contains %v after Check", got)
	}
}

func TestCheckReportsUnusableCache(t *testing.T) {
	dir := good().with(files{"file": "x"}).write(t, t.TempDir())
	cache := filepath.Join(dir, "file", "cache")
	if ps := build.Check(t.Context(), dir, build.Options{CacheDir: cache}); len(ps) != 1 || ps[0].File != cache || ps[0].Remedy == "" {
		t.Errorf("got the problems %v, want one with a remedy about the cache", ps)
	}
}

func manyNames(n int) string {
	var names strings.Builder
	for i := range n {
		fmt.Fprintf(&names, `,"t%d"`, i)
	}
	return names.String()
}

func TestOptionsBoundInspection(t *testing.T) {
	endless := wasmtest.Plugin([]byte{0x03, 0x40, 0x0c, 0x00, 0x0b}, "").Bytes() // loop: br 0
	greedy := head + "[limits]\nmemory = \"4GiB\"\ntime = \"24h\"\n" + tools("one")
	dir := good().with(files{"plugin.toml": greedy, "hand.wasm": string(endless)}).write(t, t.TempDir())
	wantProblems(t, build.Check(t.Context(), dir, build.Options{Time: 50 * time.Millisecond}),
		"plugin.toml:7 module.file: asked for its handlers, the plugin ran past its time limit of 50ms")
	large := wasmtest.Plugin(wasmtest.Invoke(wasmtest.Output, 0, int32(len(describesOne))), describesOne)
	large.Memory = []byte{0, 17} // initial size in pages
	dir = good().with(files{"plugin.toml": greedy, "hand.wasm": string(large.Bytes())}).write(t, t.TempDir())
	wantProblems(t, build.Check(t.Context(), dir, build.Options{}))
	wantProblems(t, build.Check(t.Context(), dir, build.Options{Memory: 16 << 16}),
		"plugin.toml:7 module.file: asked for its handlers, the plugin ")
}

const describesOne = `{"result":{"tools":["one"],"prompts":false,"resources":false,"completions":false}}`
