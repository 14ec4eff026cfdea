package importer

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/extism"
)

var digest = strings.Repeat("0123456789abcdef", 4)

func imports(names ...string) func(string) bool {
	return func(name string) bool { return slices.Contains(names, name) }
}

func tools(t *testing.T, list string) []extism.Tool {
	t.Helper()
	got, err := extism.ReadTools(json.RawMessage(list))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// parse writes the manifest of p and parses it. The manifest must have no problem.
func parse(t *testing.T, p Plugin) (*manifest.Manifest, string) {
	t.Helper()
	p.Name, p.Module, p.SHA256 = "tea", "tea.wasm", digest
	if p.Imports == nil {
		p.Imports = imports()
	}
	text, err := Manifest(p)
	if err != nil {
		t.Fatal(err)
	}
	m, ps := manifest.Parse("plugin.toml", text)
	if m != nil {
		ps = append(ps, m.Check()...)
	}
	if len(ps) > 0 {
		t.Fatalf("%v\n%s", ps, text)
	}
	return m, string(text)
}

func TestManifestOfTools(t *testing.T) {
	m, text := parse(t, Plugin{Version: extism.V1, Imports: imports("http_request", "create_message"), Tools: tools(t, `[
		{"name":"brew","description":"Brew \"tea\"\u007f\n'''now'''","inputSchema":{"properties":{"n":{"default":null,"description":"it's '' here"}},"required":["n"]}},
		{"name":"look","title":"Look","annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false},
		 "inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{}}},
		{"name":"bare"}]`)})
	if m.Module.Kind != manifest.KindExtism || m.Module.File != "tea.wasm" || m.Module.SHA256 != digest || m.Name != "tea" {
		t.Errorf("%+v", m.Module)
	}
	brew, look, bare := m.Tools[0], m.Tools[1], m.Tools[2]
	if !brew.Write || brew.Description != "Brew \"tea\"·\n'''now'''" ||
		string(brew.Input) != `{"type":"object","properties":{"n":{"default":null,"description":"it's '' here"}},"required":["n"]}` {
		t.Errorf("%+v %s", brew, brew.Input)
	}
	if look.Write || look.Title != "Look" || look.Description != "Look" || *look.Destructive || !*look.Idempotent || *look.OpenWorld ||
		string(look.Output) != `{"type":"object","properties":{}}` {
		t.Errorf("%+v", look)
	}
	if !bare.Write || string(bare.Input) != `{"type":"object"}` {
		t.Errorf("%+v", bare)
	}
	if len(m.Capabilities.HTTP)+len(m.Capabilities.Ask)+len(m.Capabilities.Env)+len(m.Capabilities.FS) > 0 {
		t.Errorf("the manifest requests %+v", m.Capabilities)
	}
	for want, is := range map[string]bool{"# http = ": true, `# ask = ["sampling"]`: true, `# ask = ["roots"]`: false, "# env = ": false} {
		if strings.Contains(text, want) != is {
			t.Errorf("whether the manifest contains %q should be %t:\n%s", want, is, text)
		}
	}
}

// TestManifestHasNoInvisibleText has descriptions that an editor would show in another order, or not at all.
func TestManifestHasNoInvisibleText(t *testing.T) {
	hidden := "a\u202eb\u200bc\u0085d\U000e0041\u2028é漢"
	m, text := parse(t, Plugin{Tools: []extism.Tool{{Name: "a", Title: hidden, Description: hidden, InputSchema: []byte(`{"type":"object","properties":{"description":{"anyOf":[{"description":"` + hidden + `"}]}}}`)}}, Imports: imports()})
	if visible.Text(text) != text {
		t.Errorf("the manifest has invisible code points: %q", text)
	}
	const shown = "a·b·c·d··é漢" // a manifest with hidden text in these is refused
	if tool := m.Tools[0]; tool.Description != shown || tool.Title != shown || !strings.Contains(string(tool.Input), `"description":"`+shown+`"`) || !strings.Contains(text, "é漢") {
		t.Errorf("the tool is %q, %q, %q", tool.Title, tool.Description, tool.Input)
	}
}

func TestManifestOfOffers(t *testing.T) {
	p := Plugin{
		Version: extism.V2, Prompts: []string{"a", "b \"quoted\""}, Resources: []string{"tea://x/1", "tea://x", "https://e.example/a"},
		Templates: []string{"tea://y/{id}", "tea://x/{z}"}, Completions: true,
		Imports: imports("notify_resource_updated", "notify_prompt_list_changed", "notify_logging_message"),
	}
	m, _ := parse(t, p)
	want := manifest.Offers{Prompts: manifest.Claim{Names: p.Prompts}, Resources: manifest.Claim{Names: []string{"https://e.example/a", "tea://x", "tea://y/"}},
		ListChanged: true, Subscribe: true, Completions: true, Logging: true}
	m.Offers.Prompts.Line, m.Offers.Resources.Line = 0, 0
	if diff := cmp.Diff(want, m.Offers); diff != "" {
		t.Errorf("offers (-want +got):\n%s", diff)
	}
	m, _ = parse(t, Plugin{Templates: []string{"{+any}"}, Imports: imports("notify_resource_updated")})
	if !m.Offers.Resources.Any || !m.Offers.Subscribe || m.Offers.Completions {
		t.Errorf("offers %+v", m.Offers)
	}
	m, _ = parse(t, Plugin{Tools: []extism.Tool{{Name: "a"}}, Completions: true, Imports: imports("notify_resource_updated", "notify_prompt_list_changed")})
	if diff := cmp.Diff(manifest.Offers{}, m.Offers); diff != "" {
		t.Errorf("a plugin with tools only offers:\n%s", diff)
	}
}

func TestManifestThatCannotBeWritten(t *testing.T) {
	for want, p := range map[string]Plugin{
		`the name "a b", which some clients refuse`:        {Tools: []extism.Tool{{Name: "a b"}}},
		`the name "a.b", which some clients refuse`:        {Tools: []extism.Tool{{Name: "a.b"}}},
		`two tools with the name "a"`:                      {Tools: []extism.Tool{{Name: "a"}, {Name: "a"}}},
		"the module describes no tool, prompt or resource": {},
		strings.Repeat("x", 80) + `…", which some clients`: {Tools: []extism.Tool{{Name: strings.Repeat("x", 100)}}},
	} {
		p.Imports = imports()
		_, err := Manifest(p)
		if failure := (*Error)(nil); !errors.As(err, &failure) || !strings.Contains(failure.What, want) || failure.Remedy == "" {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// FuzzManifest checks that a manifest has the names, descriptions and schemas of the module, whatever they are.
func FuzzManifest(f *testing.F) {
	f.Add("a", "Brew", `{"type":"object"}`, "prompt", "tea://x")
	f.Add("a", "'''\n\\", `{"title":"'''\u007f\u2028"}`, "\"]\nx = 1", "a:'")
	f.Fuzz(func(t *testing.T, name, description, schema, prompt, uri string) {
		var raw json.RawMessage
		if json.Unmarshal([]byte(schema), &raw) != nil || !utf8.ValidString(strings.Join([]string{name, description, prompt, uri}, "|")) {
			t.Skip() // decoding JSON results in valid UTF-8
		}
		p := Plugin{Name: "tea", Module: "tea.wasm", SHA256: digest, Imports: imports("http_request"), Prompts: []string{prompt}, Resources: []string{uri},
			Tools: []extism.Tool{{Name: name, Description: description, InputSchema: raw}}}
		text, err := Manifest(p)
		if err != nil {
			return
		}
		m, ps := manifest.Parse("plugin.toml", text)
		if m == nil {
			t.Fatalf("%v\n%s", ps, text)
		}
		if len(ps) > 0 {
			return // the manifest's rules refuse a value
		}
		if len(m.Tools) != 1 || m.Tools[0].Name != name || !m.Tools[0].Write || len(m.Capabilities.HTTP) > 0 || !slices.Equal(m.Offers.Prompts.Names, p.Prompts) {
			t.Errorf("%+v\n%s", m, text)
		}
	})
}
