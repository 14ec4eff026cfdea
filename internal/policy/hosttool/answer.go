package hosttool

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/toolindex"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/typescript"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// maxArguments bounds the values in the arguments of Find and Describe.
const maxArguments = 64

// defaultLimit is the number of tools that Find returns by default, as its schema says.
const defaultLimit = 5

// maxText bounds the text of an answer, in bytes.
const maxText = 64 << 10

// Answer returns the result of a call of Find or Describe. The error says what is wrong with the arguments; it continues a sentence that begins
// with the name of the tool.
func (s *Set) Answer(name string, arguments json.RawMessage) ([]byte, error) {
	given := struct {
		Query  string
		Limit  float64 // a number such as 5.0 is an integer of JSON Schema
		Names  []string
		Format string
	}{Limit: defaultLimit}
	if err := s.decode(name, arguments, &given); err != nil {
		return nil, err
	}
	text, isError := "", ""
	if name == Find {
		text = s.find(given.Query, int(given.Limit))
	} else if text = s.describe(given.Names, given.Format == "schema"); !slices.ContainsFunc(given.Names, s.knows) {
		isError = `,"isError":true`
	}
	return fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}]%s}`, rawjson.Quote(text), isError), nil
}

// decode decodes the arguments of a call that match the tool's schema.
func (s *Set) decode(name string, arguments json.RawMessage, into any) error {
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	compiled, err := s.schemas[name]()
	if err != nil {
		return err
	}
	if err := compiled.ValidateWithin(arguments, maxArguments); err != nil {
		return fmt.Errorf("was called with arguments that do not match its schema: %w", err)
	}
	return json.Unmarshal(arguments, into)
}

func (s *Set) newIndex() *toolindex.Index {
	var all []toolindex.Tool
	for _, p := range s.plugins {
		for _, t := range p.Tools { // in the order of s.tools
			all = append(all, toolindex.Tool{Plugin: p.Name + " " + p.Description, Name: t.Name, Title: t.Title, Description: t.Description, Parameters: parameters(t.Input)})
		}
	}
	return toolindex.New(all)
}

// parameters returns the parameters that a schema declares.
func parameters(input json.RawMessage) []toolindex.Parameter {
	var all []toolindex.Parameter
	for name, value := range rawjson.Members(rawjson.Member(input, "properties")) {
		description, _ := rawjson.Unquote(rawjson.Member(value, "description"))
		all = append(all, toolindex.Parameter{Name: name, Description: description})
	}
	return all
}

// find returns the answer to a search.
func (s *Set) find(query string, limit int) string {
	found := s.index().Search(query, limit)
	if len(found) == 0 {
		return fmt.Sprintf("No tool has any of these words. Try others: the %d tools are of %s.", len(s.tools), s.counts())
	}
	var out strings.Builder
	for _, i := range found {
		t := &s.tools[i]
		access := "reads"
		if !t.ReadOnly {
			access = "writes"
		}
		fmt.Fprintf(&out, "%s(%s) %s: %s\n", t.Name, typescript.Parameters(t.Input, maxParameters), access, summary(t.Description))
	}
	return strings.TrimSpace(out.String())
}

// Bounds of the line of a tool, in bytes.
const (
	maxParameters = 300
	maxSummary    = 200
)

// summary returns the first sentence of a description.
func summary(description string) string {
	text := strings.Join(strings.Fields(description), " ")
	if i := strings.Index(text, ". "); i > 0 {
		text = text[:i+1]
	}
	return visible.Truncate(text, maxSummary)
}

// counts names the plugins with the numbers of their tools.
func (s *Set) counts() string {
	var all []string
	for _, p := range s.plugins {
		all = append(all, fmt.Sprintf("%s (%d)", p.Name, len(p.Tools)))
	}
	return visible.Truncate(strings.Join(all, ", "), maxText/2)
}

// describe returns the descriptions of tools, as declarations of TypeScript or with their schemas. It ends with the names of those that are
// unknown, or do not fit.
func (s *Set) describe(names []string, schemas bool) string {
	var texts, unknown, left []string
	size := 0
	seen := map[string]bool{}
	for _, name := range names {
		t := s.byName[name]
		switch {
		case seen[name]:
			continue
		case t == nil:
			unknown = append(unknown, "Unknown tool: "+visible.Name(name)+s.nearest(name))
		default:
			text := s.declaration(t)
			if schemas {
				text = withSchemas(t)
			}
			if size+len(text) > maxText && size > 0 {
				left = append(left, name)
				continue
			}
			size += len(text)
			texts = append(texts, text)
		}
		seen[name] = true
	}
	if len(left) > 0 {
		unknown = append(unknown, fmt.Sprintf("Not described, because the answer would exceed %d bytes: %s. Call %s again for these.", maxText, strings.Join(left, ", "), Describe))
	}
	return strings.Join(append(texts, unknown...), "\n\n")
}

func (s *Set) knows(name string) bool { return s.byName[name] != nil }

// nearest returns which tool was likely meant by an unknown name.
func (s *Set) nearest(name string) string {
	var names []string
	for _, t := range s.tools {
		names = append(names, t.Name)
	}
	if near := usage.Nearest(name, names); near != "" {
		return ": did you mean " + near + "?"
	}
	return ""
}

// declaration returns a tool as a member of a TypeScript interface.
func (s *Set) declaration(t *gateway.Tool) string {
	access := "It only reads: call it by " + s.Reader() + "."
	if !t.ReadOnly {
		access = "It writes: call it by " + Write + "."
	}
	result := t.Output
	if result == nil {
		result = t.Returns
	}
	return typescript.Method(t.Name, strings.TrimSpace(t.Description)+"\n"+access, t.Input, result)
}

// withSchemas returns a tool as the JSON object that tools/list has for it.
func withSchemas(t *gateway.Tool) string {
	text, err := t.JSON()
	if err != nil { // NewSet got tools that can be listed
		return visible.Name(t.Name)
	}
	return string(text)
}
