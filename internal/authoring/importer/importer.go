// Package importer writes the manifest of a plugin of the MCP host hyper-mcp from what its module describes. It performs no I/O.
// Start with Manifest.
package importer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/extism"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Plugin describes a plugin for its manifest.
type Plugin struct {
	Name        string // plugin.name in the manifest
	Module      string // file name of the module
	SHA256      string // digest of the module
	Version     extism.Version
	Tools       []extism.Tool
	Prompts     []string // names
	Resources   []string // URIs
	Templates   []string // URI templates
	Completions bool     // whether it has a function for completions
	// Imports reports whether the module imports a function of Extism or hyper-mcp.
	Imports func(name string) bool
}

// Error is a reason why no manifest can be written, with what the user can do.
type Error struct{ What, Remedy string }

func (e *Error) Error() string { return e.What + ": " + e.Remedy }

// Manifest returns the text of plugin.toml. A tool has access = "write" unless the plugin says that it only reads. The manifest requests
// no capabilities: comments name those that the module could use.
func Manifest(p Plugin) ([]byte, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	var w bytes.Buffer
	fmt.Fprintf(&w, `# Written by `+"`bulkhead plugin import`"+` from what the module describes. Review it: the module's author chose the
# descriptions, and access = "write" stands wherever the module does not say that a tool only reads.
manifest = 1

[plugin]
name = %s
version = "0.1.0" # modules have no version: write that of the plugin
description = %s
`, quote(p.Name), quote(p.summary()))
	fmt.Fprintf(&w, "\n[module]\nfile = %s\nkind = %q\nsha256 = %s\n", quote(p.Module), manifest.KindExtism, quote(p.SHA256))
	p.capabilities(&w)
	p.offers(&w)
	for _, t := range p.Tools {
		writeTool(&w, t)
	}
	return w.Bytes(), nil
}

func (p Plugin) check() error {
	seen := map[string]bool{}
	for _, t := range p.Tools {
		const remedy = "rename the tool in the source of the module, and build it again"
		switch {
		case !manifest.IsToolName(t.Name) || !manifest.IsPortableName(t.Name):
			return &Error{fmt.Sprintf("the module has a tool with the name %s, which some clients refuse", short(t.Name)), manifest.PortableNames + "; " + remedy}
		case seen[t.Name]:
			return &Error{fmt.Sprintf("the module has two tools with the name %s", short(t.Name)), remedy}
		}
		seen[t.Name] = true
	}
	if len(p.Tools)+len(p.Prompts)+len(p.Resources)+len(p.Templates) == 0 {
		return &Error{"the module describes no tool, prompt or resource", "it may need configuration to do so: write the manifest by hand (docs/extism.md)"}
	}
	return nil
}

func (p Plugin) summary() string {
	var parts []string
	for _, part := range []struct {
		n    int
		what string
	}{{len(p.Tools), "tool"}, {len(p.Prompts), "prompt"}, {len(p.Resources), "resource"}, {len(p.Templates), "resource template"}} {
		switch {
		case part.n == 1:
			parts = append(parts, "1 "+part.what)
		case part.n > 1:
			parts = append(parts, fmt.Sprintf("%d %ss", part.n, part.what))
		}
	}
	return "A plugin of hyper-mcp with " + strings.Join(parts, ", ")
}

// needs lists capabilities with the imports that use them.
var needs = []struct {
	imports []string
	line    string
}{
	{[]string{"http_request"}, `http = ["https://example.com"] # it can make web requests: name the origins`},
	{[]string{"config_get"}, `env = ["NAME"] # it reads configuration: name the keys, which are variables here`},
	{[]string{"create_elicitation"}, `ask = ["elicitation"] # it can ask the user`},
	{[]string{"create_message"}, `ask = ["sampling"] # it can ask the client's model`},
	{[]string{"list_roots"}, `ask = ["roots"] # it can ask for the client's directories`},
}

// Needs returns lines of [capabilities] for the functions that the module imports.
func (p Plugin) Needs() []string {
	var lines []string
	for _, n := range needs {
		if slices.ContainsFunc(n.imports, p.Imports) {
			lines = append(lines, n.line)
		}
	}
	return lines
}

func (p Plugin) capabilities(w *bytes.Buffer) {
	w.WriteString("\n# [capabilities]\n# Nothing is requested. Add what the plugin needs, as its documentation says; several values of ask are one array.\n")
	for _, line := range p.Needs() {
		fmt.Fprintf(w, "# %s\n", line)
	}
	w.WriteString("# fs = [{ path = \"${project}\", access = \"r\" }] # it may read files: its imports do not show that\n")
}

func (p Plugin) offers(w *bytes.Buffer) {
	lists := len(p.Prompts)+len(p.Resources)+len(p.Templates) > 0
	resources := len(p.Resources)+len(p.Templates) > 0
	var lines []string
	if len(p.Prompts) > 0 {
		lines = append(lines, "prompts = "+array(p.Prompts))
	}
	if resources {
		lines = append(lines, "resources = "+claim(p.Resources, p.Templates))
	}
	for _, offer := range []struct {
		key string
		is  bool
	}{
		{"completions", lists && p.Completions},
		{"list_changed", lists && (p.Imports("notify_prompt_list_changed") || p.Imports("notify_resource_list_changed"))},
		{"subscribe", resources && p.Imports("notify_resource_updated")},
		{"logging", p.Imports("notify_logging_message")},
	} {
		if offer.is {
			lines = append(lines, offer.key+" = true")
		}
	}
	if len(lines) > 0 {
		fmt.Fprintf(w, "\n[offers]\n%s\n", strings.Join(lines, "\n"))
	}
}

// maxClaims bounds the URI prefixes of a claim.
const maxClaims = 100

// claim returns the value of offers.resources: the URIs, and the templates up to their first variable. It returns true, the claim of all
// resources, if a prefix has no scheme, or if there are too many prefixes.
func claim(uris, templates []string) string {
	prefixes := slices.Clone(uris)
	for _, t := range templates {
		prefix, _, _ := strings.Cut(t, "{")
		prefixes = append(prefixes, prefix)
	}
	slices.Sort(prefixes)
	var kept []string
	for _, prefix := range prefixes {
		if !strings.Contains(prefix, ":") {
			return "true"
		}
		if len(kept) == 0 || !strings.HasPrefix(prefix, kept[len(kept)-1]) {
			kept = append(kept, prefix)
		}
	}
	if len(kept) > maxClaims {
		return "true"
	}
	return array(kept)
}

func writeTool(w *bytes.Buffer, t extism.Tool) {
	fmt.Fprintf(w, "\n[[tools]]\nname = %s\n", quote(t.Name))
	if t.Title != "" {
		fmt.Fprintf(w, "title = %s\n", quote(visible.Prose(t.Title)))
	}
	fmt.Fprintf(w, "description = %s\n", quote(visible.Prose(cmp.Or(t.Description, t.Title, "The module does not describe this tool."))))
	access := "write"
	if hint := t.Annotations.ReadOnly; hint != nil && *hint {
		access = "read"
	}
	fmt.Fprintf(w, "access = %q\n", access)
	for _, hint := range []struct {
		key   string
		value *bool
	}{{"destructive", t.Annotations.Destructive}, {"idempotent", t.Annotations.Idempotent}, {"open_world", t.Annotations.OpenWorld}} {
		if hint.value != nil {
			fmt.Fprintf(w, "%s = %t\n", hint.key, *hint.value)
		}
	}
	for _, s := range []struct {
		key    string
		schema json.RawMessage
	}{{"input_json", t.InputSchema}, {"output_json", t.OutputSchema}} {
		if schema := objectSchema(s.schema); schema != nil {
			fmt.Fprintf(w, "%s = %s\n", s.key, literal(schema))
		}
	}
}

// objectSchema returns a schema in indented form; nil if there is none. MCP requires a type and hyper-mcp does not, so a schema without
// one gets the type object.
func objectSchema(schema json.RawMessage) []byte {
	if rawjson.Kind(schema) != '{' {
		return nil
	}
	if rawjson.Member(schema, "type") == nil {
		schema = rawjson.Replace(schema, "type", []byte(`"object"`))
	}
	var out bytes.Buffer
	schema = sanitize(bytes.ToValidUTF8(schema, []byte("\uFFFD")))
	if err := json.Indent(&out, schema, "", "  "); err != nil {
		return nil // not possible: the schema was decoded from valid JSON
	}
	return out.Bytes()
}

// sanitize returns a JSON value with the characters replaced that hide or reorder text in titles and descriptions, since a manifest with
// them is refused. Names and permitted values stay as they are: the module would not know others, so the manifest is refused for them.
func sanitize(value json.RawMessage) json.RawMessage {
	var parts [][]byte
	switch rawjson.Kind(value) {
	case '{':
		for key, member := range rawjson.Members(value) {
			if text, ok := rawjson.Unquote(member); ok && (key == "title" || key == "description") {
				member = rawjson.Quote(visible.Prose(text))
			}
			parts = append(parts, slices.Concat(rawjson.Quote(key), []byte{':'}, sanitize(member)))
		}
		return slices.Concat([]byte{'{'}, bytes.Join(parts, []byte{','}), []byte{'}'})
	case '[':
		for _, element := range rawjson.Elements(value) {
			parts = append(parts, sanitize(element))
		}
		return slices.Concat([]byte{'['}, bytes.Join(parts, []byte{','}), []byte{']'})
	}
	return value
}

// literal encodes JSON as a TOML string, without escapes if that is possible.
func literal(text []byte) string {
	if bytes.Contains(text, []byte("''")) || visible.Text(string(text)) != string(text) {
		return quote(string(text))
	}
	return "'''\n" + string(text) + "'''"
}

func array(texts []string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = quote(text)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// quote encodes a TOML string.
func quote(s string) string { return tomlfile.Text(strings.ToValidUTF8(s, "\ufffd")) }

// short quotes a string for a message, and truncates it.
func short(s string) string {
	return fmt.Sprintf("%q", visible.Truncate(s, 80))
}
