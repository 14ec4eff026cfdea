package build_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/build"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

func importModule(t *testing.T, file string, module []byte, name string) (build.Imported, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), file)
	if err := os.WriteFile(path, module, 0o600); err != nil {
		t.Fatal(err)
	}
	return build.Import(t.Context(), path, name, build.Options{})
}

// written writes the files of an import, and returns their directory.
func written(t *testing.T, p build.Imported) string {
	t.Helper()
	f := files{}
	for name, content := range p.Files {
		f[name] = string(content)
	}
	return f.write(t, filepath.Join(t.TempDir(), p.Name))
}

func TestImport(t *testing.T) {
	module := wasmtest.HyperMCP().Bytes()
	p, err := importModule(t, "Green_Tea.wasm", module, "")
	if err != nil {
		t.Fatal(err)
	}
	if p.Name != "green-tea" || p.Interface != 2 || p.SHA256 != sum(string(module)) || !slices.Equal(p.Tools, []string{"greet"}) ||
		!slices.Equal(p.Prompts, []string{"letter"}) || !slices.Equal(p.Resources, []string{"tea:green", "tea:{kind}"}) || len(p.Warnings) > 0 {
		t.Errorf("imported %+v", p)
	}
	dir := written(t, p)
	if ps := build.Check(t.Context(), dir, build.Options{}); len(ps) > 0 {
		t.Fatalf("%v\n%s", ps, p.Files["plugin.toml"])
	}
	m, _ := manifest.Load(dir)
	m.Offers.Prompts.Line, m.Offers.Resources.Line = 0, 0
	want := manifest.Offers{Prompts: manifest.Claim{Names: []string{"letter"}}, Resources: manifest.Claim{Names: []string{"tea:"}}, Completions: true, ListChanged: true, Subscribe: true, Logging: true}
	if diff := cmp.Diff(want, m.Offers); diff != "" || m.Tools[0].Write || m.Module.Kind != manifest.KindExtism {
		t.Errorf("the tool %+v, the module %+v, and offers (-want +got):\n%s", m.Tools[0], m.Module, diff)
	}
	if result, err := build.Build(t.Context(), dir, build.Options{Out: t.TempDir()}); err != nil || result.SHA256 != p.SHA256 {
		t.Errorf("building it: %+v, %v", result, err)
	}
}

func TestImportOfVersion1(t *testing.T) {
	p, err := importModule(t, "x.wasm", wasmtest.Extism(map[string][]byte{
		"describe": wasmtest.Code(wasmtest.Expect64(0, wasmtest.Host("input_length")), wasmtest.Give(0, `{"tools":[{"name":"a","description":"A","inputSchema":{"type":"object"}}]}`)), "call": nil,
	}).Bytes(), "named")
	if err != nil || p.Name != "named" || p.Interface != 1 || !slices.Equal(p.Tools, []string{"a"}) || len(p.Prompts)+len(p.Resources) > 0 {
		t.Errorf("imported %+v, %v", p, err)
	}
}

// TestImportedToolsCanBeLeftOut removes a tool of the module from its manifest.
func TestImportedToolsCanBeLeftOut(t *testing.T) {
	tools := `{"tools":[{"name":"a"},{"name":"b"}]}`
	p, err := importModule(t, "x.wasm", wasmtest.Extism(map[string][]byte{"describe": wasmtest.Give(0, tools), "call": nil}).Bytes(), "")
	if err != nil {
		t.Fatal(err)
	}
	text := string(p.Files["plugin.toml"])
	text = text[:strings.LastIndex(text, "[[tools]]")]
	for what, c := range map[string]struct{ text, want string }{
		"a tool less":     {text, ""},
		"an unknown tool": {text + "[[tools]]\nname = \"c\"\ndescription = \"C\"\naccess = \"read\"\n", `the module has no handler for "c"`},
		"prompts":         {strings.Replace(text, "logging = true", "prompts = true", 1), "is declared, but the module does not handle prompts"},
	} {
		p.Files["plugin.toml"] = []byte(c.text)
		if ps := build.Check(t.Context(), written(t, p), build.Options{}); (len(ps) > 0) != (c.want != "") || !strings.Contains(ps.Error(), c.want) {
			t.Errorf("%s: %v, want %q", what, ps, c.want)
		}
	}
}

func TestImportWithRefusedList(t *testing.T) {
	m := wasmtest.Extism(map[string][]byte{
		"list_tools":   wasmtest.Give(0, `{"tools":[{"name":"a"}]}`),
		"list_prompts": wasmtest.Code(wasmtest.Block(0, "not yet"), wasmtest.Host("error_set", wasmtest.Get(0)), wasmtest.I32(-1), 0x0f),
	})
	p, err := importModule(t, "x.wasm", m.Bytes(), "")
	if err != nil || !slices.Equal(p.Warnings, []string{"prompts/list: not yet"}) || strings.Contains(string(p.Files["plugin.toml"]), "[offers]\nprompts") {
		t.Errorf("imported %+v, %v", p, err)
	}
}

func TestModulesThatCannotBeImported(t *testing.T) {
	describing := func(code []byte) []byte {
		return wasmtest.Extism(map[string][]byte{"describe": code, "call": nil}).Bytes()
	}
	fetching := wasmtest.Code(wasmtest.Block(0, `{"url":"https://a.example"}`), wasmtest.Host("http_request", wasmtest.Get(0), wasmtest.I64(0)), 0x1a)
	schema := wasmtest.Give(0, `{"tools":[{"name":"a","inputSchema":{"type":"object","pattern":"("}}]}`)
	for name, c := range map[string]struct {
		module       []byte
		as           string
		what, remedy string
	}{
		"a plugin for ABI 1": {answering(handlesOne), "", "which needs no import", "docs/manifest.md"},
		"a plugin of Extism": {wasmtest.Extism(map[string][]byte{"greet": nil}).Bytes(), "", "not a plugin of hyper-mcp", "docs/README.md"},
		"another file":       {[]byte("#!/bin/sh"), "", "it is not a WebAssembly module", "docs/"},
		"a name of a tool":   {describing(wasmtest.Give(0, `{"tools":[{"name":"a b"}]}`)), "", `the name "a b"`, "rename the tool"},
		"a schema":           {describing(schema), "", "tools[0].input", "write the manifest by hand"},
		"no tools":           {describing(wasmtest.Give(0, `{"tools":[]}`)), "", "describes no tool", "docs/extism.md"},
		"no name of a tool":  {describing(wasmtest.Give(0, `{"tools":[{}]}`)), "", "tool 1 has no name", "docs/extism.md"},
		"a name":             {describing(nil), "Not A Name", `"Not A Name" is not a valid name`, "--name"},
		"an access":          {describing(fetching), "", "http_request", "docs/extism.md"},
		"a crash":            {describing([]byte{0x00}), "", "crashed", "docs/extism.md"},
		"an error":           {describing(wasmtest.Code(wasmtest.Block(0, "a\n\nb\x1b[2J"), wasmtest.Host("error_set", wasmtest.Get(0)))), "", `the error "a\n\nb\x1b[2J"`, "docs/extism.md"},
		"no output":          {describing(nil), "", "not a JSON object", "docs/extism.md"},
		"an unknown import": {func() []byte {
			m := wasmtest.HyperMCP()
			m.Imports = append(slices.Clone(m.Imports), wasmtest.Import{Module: "extism:host/env", Name: "reset", Type: 0})
			return m.Bytes()
		}(), "", `"extism:host/env"."reset"`, "docs/extism.md"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := importModule(t, "m.wasm", c.module, c.as)
			ps := tomlfile.Problems(nil)
			if !errors.As(err, &ps) || !strings.Contains(ps[0].String(), c.what) || !strings.Contains(ps[0].Remedy, c.remedy) {
				t.Errorf("got %v, want %q with the remedy %q", err, c.what, c.remedy)
			}
		})
	}
}

func TestInspectPluginOfHyperMCP(t *testing.T) {
	r := inspect(t, wasmtest.HyperMCP().Bytes())
	if r.Problem != "" || r.ABI != 0 || !strings.Contains(r.What, "hyper-mcp") || !strings.Contains(r.Remedy, "plugin import") || r.Handlers == nil ||
		!slices.Equal(r.Handlers.Tools, []string{"greet"}) || !r.Handlers.Prompts || r.Start == nil || r.Start.CallFuel == 0 {
		t.Errorf("got %+v", r)
	}
	r = inspect(t, wasmtest.Extism(map[string][]byte{"greet": nil}).Bytes())
	if r.Problem != "it is a plugin for hosts of Extism" || r.Start != nil || !strings.Contains(r.Remedy, "plugins of hyper-mcp") {
		t.Errorf("got the problem %q and the remedy %q", r.Problem, r.Remedy)
	}
	r = inspect(t, wasmtest.Extism(map[string][]byte{"call": nil, "describe": {0x00}}).Bytes())
	if !strings.Contains(r.Problem, "crashed") || r.Handlers != nil {
		t.Errorf("a plugin that crashes has the problem %q", r.Problem)
	}
}
