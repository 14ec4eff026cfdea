// Package paramheader finds the parameters of a tool that HTTP clients repeat in headers: those whose schema has the keyword
// x-mcp-header, since protocol version 2026-07-28. It compares such headers with arguments. Start with Find and Check. The package
// reads no request.
package paramheader

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/textproto"
	"slices"
	"strconv"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

const (
	keyword = "x-mcp-header"
	prefix  = "Mcp-Param-"
	maxName = 128 // bytes of the value of the keyword
)

// Param is a parameter that is repeated in a header.
type Param struct {
	Header string   // in the canonical form of package textproto
	Path   []string // names of the properties that lead to it from the arguments
}

// Find returns the parameters of a tool with such a keyword, given its input schema, which must be valid JSON. The error
// describes the first keyword that is not allowed.
func Find(schema json.RawMessage) ([]Param, error) {
	if !bytes.Contains(schema, []byte(keyword)) {
		return nil, nil
	}
	var f finder
	f.schema(schema, nil, true)
	return f.found, f.err
}

type finder struct {
	found []Param
	err   error
}

func (f *finder) fail(path []string, why string) {
	if f.err == nil {
		f.err = fmt.Errorf("%s at %s %s", keyword, where(path), why)
	}
}

func where(path []string) string {
	if len(path) == 0 {
		return "the top level"
	}
	return strconv.QuoteToASCII(strings.Join(path, "."))
}

// schema searches a schema. reachable states that only the keyword properties leads to it.
func (f *finder) schema(value []byte, path []string, reachable bool) {
	if rawjson.Kind(value) == '[' {
		for _, element := range rawjson.Elements(value) {
			f.schema(element, path, false)
		}
	}
	if rawjson.Kind(value) != '{' {
		return
	}
	for key, member := range rawjson.Members(value) {
		switch key {
		case keyword:
			f.add(value, member, path, reachable)
		case "properties":
			f.schemas(member, path, reachable)
		case "patternProperties", "$defs", "definitions", "dependentSchemas":
			f.schemas(member, path, false)
		case "default", "examples", "const", "enum":
		default:
			f.schema(member, path, false)
		}
	}
}

// schemas searches an object whose members are schemas.
func (f *finder) schemas(value []byte, path []string, reachable bool) {
	for name, member := range rawjson.Members(value) {
		f.schema(member, append(slices.Clone(path), name), reachable)
	}
}

// add adds the parameter that a schema with the keyword describes.
func (f *finder) add(schema, value []byte, path []string, reachable bool) {
	name, ok := rawjson.Unquote(value)
	header := textproto.CanonicalMIMEHeaderKey(prefix + name)
	switch {
	case !ok || name == "" || len(name) > maxName || strings.ContainsFunc(name, isNotToken):
		f.fail(path, "must be the end of a header name: letters, digits and !#$%&'*+-.^_`|~")
	case !reachable || len(path) == 0:
		f.fail(path, "must be in a property that only the keyword properties leads to")
	case !isPrimitive(rawjson.Member(schema, "type")):
		f.fail(path, "must be in a property whose type is string, integer or boolean")
	case slices.ContainsFunc(f.found, func(p Param) bool { return p.Header == header }):
		f.fail(path, "is the same header as that of another property")
	default:
		f.found = append(f.found, Param{Header: header, Path: path})
	}
}

func isNotToken(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
}

// isPrimitive reports whether a schema's type is one of those that can be in a header, or several of them; null may be added.
func isPrimitive(value []byte) bool {
	if rawjson.Kind(value) != '[' {
		kind, _ := rawjson.Unquote(value)
		return kind == "string" || kind == "integer" || kind == "boolean"
	}
	primitive := false
	for _, element := range rawjson.Elements(value) {
		switch kind, _ := rawjson.Unquote(element); {
		case isPrimitive(element):
			primitive = true
		case kind != "null":
			return false
		}
	}
	return primitive
}

// Check compares the headers of a call with its arguments. It returns the reason why they differ; empty if they do not.
func Check(params []Param, h map[string][]string, arguments []byte) string {
	for _, p := range params {
		value, ambiguous := p.in(arguments)
		values := h[p.Header]
		switch {
		case ambiguous:
			return p.Header + ": its parameter is given twice, or in two spellings"
		case value == nil || rawjson.Kind(value) == 'n':
			if len(values) > 0 {
				return p.Header + " is set, but the parameter is not"
			}
		case len(values) == 0:
			return p.Header + " is missing"
		case len(values) > 1:
			return p.Header + " is given twice"
		case !equal(values[0], value):
			return p.Header + " differs from the parameter"
		}
	}
	return ""
}

// in returns the value of the parameter; nil if there is none. It is ambiguous if parsers may differ in which value they use.
func (p Param) in(arguments []byte) (value []byte, ambiguous bool) {
	value = arguments
	for _, name := range p.Path {
		if rawjson.Kind(value) != '{' {
			return nil, false
		}
		if _, found := rawjson.Ambiguous(value, name); found != "" {
			return nil, true
		}
		value = rawjson.Member(value, name)
	}
	return value, false
}

// equal reports whether a header has the value of a parameter.
func equal(header string, value []byte) bool {
	header, ok := Decode(header)
	if !ok {
		return false
	}
	switch rawjson.Kind(value) {
	case '"':
		text, _ := rawjson.Unquote(value)
		return header == text
	case '0':
		got, ok := integer([]byte(header))
		want, isInteger := integer(value)
		return ok && isInteger && got == want
	}
	return rawjson.Kind(value) == 't' && header == string(bytes.TrimSpace(value)) // true or false
}

// integer parses an integer that a float64 represents exactly, such as 42 or 42.0.
func integer(number []byte) (float64, bool) {
	const safe = 1<<53 - 1
	if rawjson.Kind(number) != '0' || !rawjson.Valid(number) {
		return 0, false
	}
	n, err := strconv.ParseFloat(string(bytes.TrimSpace(number)), 64)
	return n, err == nil && n >= -safe && n <= safe && n == float64(int64(n))
}

// Decode returns the value of a header, which may be encoded as Base64. It returns false if it has characters other than
// printable ASCII, or the encoding is invalid.
func Decode(header string) (string, bool) {
	if strings.ContainsFunc(header, func(r rune) bool { return r > '~' || r < ' ' && r != '\t' }) {
		return "", false
	}
	inner, ok := strings.CutPrefix(header, "=?base64?")
	if !ok || !strings.HasSuffix(inner, "?=") {
		return header, true
	}
	decoded, err := base64.StdEncoding.Strict().DecodeString(strings.TrimSuffix(inner, "?="))
	return string(decoded), err == nil
}
