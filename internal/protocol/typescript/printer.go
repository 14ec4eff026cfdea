package typescript

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Bounds of a type. What exceeds them is unknown.
const (
	maxDepth = 16
	maxBytes = 32 << 10
	maxWork  = 16 << 20 // bytes of all schemas that are read, whatever refers to them
)

// maxLine bounds the members of an object that are on one line, in bytes. Line breaks and indentation cost a model tokens.
const maxLine = 160

// unknown is the type of what any value matches, or what is not expressed.
const unknown = "unknown"

// printer returns the types of schemas.
type printer struct {
	root     json.RawMessage // the schema to which references refer
	comments bool            // whether to write comments, and properties on lines of their own
	bounds   bool            // whether comments have what a type does not express, such as a maximum
	refs     []string        // references that are being followed
	depth    int
	size     int // bytes of the parts so far
	work     int // bytes of the schemas so far
}

// combined are the keywords whose type is a union or an intersection.
var combined = []struct{ keyword, by string }{{"anyOf", " | "}, {"oneOf", " | "}, {"allOf", " & "}}

// schema returns the type of a schema. indent is the indentation of its line.
func (p *printer) schema(schema []byte, indent string) string {
	p.work += len(schema)
	if p.depth == maxDepth || p.size > maxBytes || p.work > maxWork {
		return unknown
	}
	p.depth++
	text := p.typeOf(schema, indent)
	p.depth--
	p.size += len(text)
	return text
}

func (p *printer) typeOf(schema []byte, indent string) string {
	if ref, ok := rawjson.Unquote(rawjson.Member(schema, "$ref")); ok {
		return p.reference(ref, indent)
	}
	if value := rawjson.Member(schema, "const"); value != nil {
		return literal(value)
	}
	if values := rawjson.Member(schema, "enum"); rawjson.Kind(values) == '[' {
		return p.join(values, " | ", literal)
	}
	for _, c := range combined {
		list := rawjson.Member(schema, c.keyword)
		if rawjson.Kind(list) != '[' {
			continue
		}
		text := p.join(list, c.by, func(part []byte) string { return p.schema(part, indent) })
		if rawjson.Member(schema, "properties") == nil {
			return text
		}
		if text == unknown { // the parts only say which properties are required
			return p.object(schema, indent)
		}
		return p.object(schema, indent) + " & " + text
	}
	kinds := rawjson.Member(schema, "type")
	if rawjson.Kind(kinds) == '[' {
		return p.join(kinds, " | ", func(kind []byte) string { return p.kind(kind, schema, indent) })
	}
	return p.kind(kinds, schema, indent)
}

// kind returns the type of a schema for values of one of the types of JSON.
func (p *printer) kind(kind, schema []byte, indent string) string {
	name, named := rawjson.Unquote(kind)
	switch {
	case name == "object", !named && rawjson.Member(schema, "properties") != nil:
		return p.object(schema, indent)
	case name == "array", !named && rawjson.Member(schema, "items") != nil:
		return p.array(schema, indent)
	case name == "integer":
		return "number"
	case slices.Contains([]string{"string", "number", "boolean", "null"}, name):
		return name
	case string(schema) == "false":
		return "never"
	}
	return unknown
}

// join joins the types of the elements of a list, in brackets if there are several. Equal ones occur once.
func (p *printer) join(list []byte, by string, typeOf func([]byte) string) string {
	var all []string
	size := 0
	for _, element := range rawjson.Elements(list) {
		text := typeOf(element)
		if size += len(text); p.size+size > maxBytes {
			return unknown
		}
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	switch len(all) {
	case 0:
		return unknown
	case 1:
		return all[0]
	}
	return "(" + strings.Join(all, by) + ")"
}

// literal returns the type of a single value.
func literal(value []byte) string {
	switch rawjson.Kind(value) {
	case '"':
		text, _ := rawjson.Unquote(value)
		return quote(text)
	case '0', 't', 'n':
		return string(value)
	}
	return unknown
}

// object returns the type of an object.
func (p *printer) object(schema []byte, indent string) string {
	required, inner := requiredOf(schema), indent+"  "
	var members, texts []string // without and with comments
	length, commented := 0, false
	for name, value := range rawjson.Members(rawjson.Member(schema, "properties")) {
		if p.size > maxBytes {
			break
		}
		text, about := key(name)+optional(required, name)+": "+p.schema(value, inner), ""
		if p.comments {
			about = comment(p.documentation(value), inner)
		}
		members, texts = append(members, text), append(texts, about+text+";")
		length, commented = length+len(text), commented || about != "" || strings.Contains(text, "\n")
		p.size += len(about) + len(text)
	}
	lines, separator := commented || p.comments && length > maxLine, "; "
	if lines {
		members, separator = texts, "\n"+inner
	}
	further := rawjson.Member(schema, "additionalProperties")
	switch {
	case rawjson.Kind(further) == '{':
		further := "Record<string, " + p.schema(further, indent) + ">"
		if len(members) == 0 {
			return further
		}
		return braces(members, separator, indent, lines) + " & " + further
	case len(members) == 0 && string(further) != "false":
		return "Record<string, unknown>"
	}
	return braces(members, separator, indent, lines)
}

func braces(members []string, separator, indent string, lines bool) string {
	switch text := strings.Join(members, separator); {
	case len(members) == 0:
		return "{}"
	case lines:
		return "{" + separator + text + "\n" + indent + "}"
	default:
		return "{ " + text + " }"
	}
}

// array returns the type of an array.
func (p *printer) array(schema []byte, indent string) string {
	if rawjson.Kind(rawjson.Member(schema, "prefixItems")) == '[' {
		return unknown + "[]"
	}
	items := rawjson.Member(schema, "items")
	if k := rawjson.Kind(items); k != '{' && k != 't' {
		return unknown + "[]"
	}
	text := p.schema(items, indent)
	if strings.Contains(text, " & ") && !strings.HasPrefix(text, "(") {
		text = "(" + text + ")"
	}
	return text + "[]"
}

// reference returns the type of what a reference refers to, inside of the root schema. A type that contains itself is unknown there.
func (p *printer) reference(ref, indent string) string {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok || slices.Contains(p.refs, ref) {
		return unknown
	}
	target := []byte(p.root)
	p.work += len(target)
	for i, step := range strings.Split(path, "/") {
		if i > 0 {
			target = rawjson.Member(target, strings.NewReplacer("~1", "/", "~0", "~").Replace(step))
		} else if step != "" {
			return unknown // an anchor
		}
	}
	if target == nil {
		return unknown
	}
	p.refs = append(p.refs, ref)
	defer func() { p.refs = p.refs[:len(p.refs)-1] }()
	return p.schema(target, indent)
}

// noted are the keywords that a comment has.
var noted = []struct{ keyword, as string }{
	{"default", "default"}, {"minimum", "at least"}, {"maximum", "at most"}, {"exclusiveMinimum", "more than"}, {"exclusiveMaximum", "less than"},
	{"minLength", "min length"}, {"maxLength", "max length"}, {"minItems", "min items"}, {"maxItems", "max items"}, {"pattern", "pattern"}, {"format", "format"},
}

// maxNote bounds the value of a keyword in a comment.
const maxNote = 200

// documentation returns the description of a property, and what its type does not express.
func (p *printer) documentation(schema []byte) string {
	description, _ := rawjson.Unquote(rawjson.Member(schema, "description"))
	if !p.bounds {
		return description
	}
	var notes []string
	for _, n := range noted {
		if value := rawjson.Member(schema, n.keyword); value != nil && len(value) <= maxNote {
			notes = append(notes, fmt.Sprintf("%s %s", n.as, value))
		}
	}
	if rawjson.Member(schema, "type") != nil && string(rawjson.Member(schema, "type")) == `"integer"` {
		notes = append([]string{"integer"}, notes...)
	}
	if len(notes) == 0 {
		return description
	}
	return strings.TrimSpace(description + " (" + strings.Join(notes, ", ") + ")")
}
