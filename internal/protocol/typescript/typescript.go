// Package typescript writes JSON Schemas as types of TypeScript, which models read with less effort and fewer tokens than schemas. A type
// describes a schema and replaces none: what it cannot express is in comments or left out, and values are validated by the schema.
//
// Schemas are untrusted: the text is bounded, and a schema can add comments, properties and literals to it, but no other syntax.
package typescript

import (
	"encoding/json"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Method returns a tool as a method of an interface: its documentation, parameters and result. Without an output schema the result is unknown.
func Method(name, doc string, input, output json.RawMessage) string {
	var out strings.Builder
	out.WriteString(comment(doc, "") + key(name) + "(args: ")
	out.WriteString(Type(input))
	out.WriteString("): ")
	if output == nil {
		out.WriteString(unknown)
	} else {
		p := printer{root: output, comments: true}
		out.WriteString(p.schema(output, ""))
	}
	out.WriteByte(';')
	return out.String()
}

// Type returns the type of a schema of arguments, with the descriptions and bounds of its properties.
func Type(schema json.RawMessage) string {
	p := printer{root: schema, comments: true, bounds: true}
	return p.schema(schema, "")
}

// Parameters returns the properties of an object schema as parameters on one line, in at most limit bytes: with their types if these fit, else
// by name, else the first names.
func Parameters(schema json.RawMessage, limit int) string {
	required := requiredOf(schema)
	p := printer{root: schema}
	var typed, names []string
	for name, value := range rawjson.Members(rawjson.Member(schema, "properties")) {
		name = key(name) + optional(required, name)
		typed, names = append(typed, name+": "+p.schema(value, "")), append(names, name)
	}
	if text := strings.Join(typed, ", "); len(text) <= limit {
		return text
	}
	text := strings.Join(names, ", ")
	for n := len(names); len(text) > limit && n > 0; n-- {
		text = strings.Join(append(names[:n-1:n-1], "…"), ", ")
	}
	return text
}

func optional(required map[string]bool, name string) string {
	if required[name] {
		return ""
	}
	return "?"
}

func requiredOf(schema []byte) map[string]bool {
	required := map[string]bool{}
	for _, name := range rawjson.Elements(rawjson.Member(schema, "required")) {
		if text, ok := rawjson.Unquote(name); ok {
			required[text] = true
		}
	}
	return required
}

// key returns the name of a property or method, in quotes unless it is an identifier.
func key(name string) string {
	for i := range len(name) {
		c := name[i]
		if c != '_' && c != '$' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return quote(name)
		}
	}
	if name == "" {
		return `""`
	}
	return name
}

// quote returns a string literal. JSON leaves two characters as they are that once ended a line of JavaScript.
func quote(text string) string {
	return strings.NewReplacer("\u2028", `\u2028`, "\u2029", `\u2029`).Replace(string(rawjson.Quote(text)))
}

// comment returns a comment on lines of its own; empty if there is no text.
func comment(text, indent string) string {
	if text = strings.TrimSpace(text); text == "" {
		return ""
	}
	text = strings.ReplaceAll(text, "*/", "* /")
	return "/** " + strings.ReplaceAll(text, "\n", "\n"+indent) + " */\n" + indent
}
