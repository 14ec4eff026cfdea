// Package python describes JSON values as Python prints them, and invalid arguments in the words of pydantic, the library with which many
// MCP servers in Python validate. It is for plugins that replace such a server with the same texts of errors. Start with Strings or Problems.
//
// Stability: additions only within a major version.
package python

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Type returns the name of the Python type of a value, which must be valid JSON.
func Type(value []byte) string {
	switch rawjson.Kind(value) {
	case '{':
		return "dict"
	case '[':
		return "list"
	case '"':
		return "str"
	case 't':
		return "bool"
	case 'n':
		return "NoneType"
	}
	if isFloat(value) {
		return "float"
	}
	return "int"
}

func isFloat(number []byte) bool { return strings.ContainsAny(string(number), ".eE") }

// Repr returns what repr returns of a value, which must be valid JSON.
func Repr(value []byte) string {
	var parts []string
	switch rawjson.Kind(value) {
	case '{':
		for name, member := range rawjson.Members(value) {
			parts = append(parts, Quote(name)+": "+Repr(member))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case '[':
		for _, element := range rawjson.Elements(value) {
			parts = append(parts, Repr(element))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case '"':
		text, _ := rawjson.Unquote(value) // the value is valid JSON
		return Quote(text)
	case 'n':
		return "None"
	case 't':
		return map[string]string{"true": "True", "false": "False"}[string(value)]
	}
	if isFloat(value) {
		return float(string(value))
	}
	return string(value)
}

// float returns the shortest decimal form of a number, with an exponent if it is less than -4 or at least 16.
func float(number string) string {
	f, _ := strconv.ParseFloat(number, 64) // a number that is out of range is infinite
	short := strconv.FormatFloat(f, 'e', -1, 64)
	_, exponent, _ := strings.Cut(short, "e")
	if e, err := strconv.Atoi(exponent); err != nil || e < -4 || e >= 16 {
		return strings.ToLower(strings.TrimPrefix(short, "+"))
	}
	short = strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(short, ".") {
		short += ".0"
	}
	return short
}

// Quote returns what repr returns of a string.
func Quote(s string) string {
	quote := '\''
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		quote = '"'
	}
	var out strings.Builder
	out.WriteRune(quote)
	for _, r := range s {
		switch {
		case r == quote || r == '\\':
			out.WriteRune('\\')
			out.WriteRune(r)
		case r == '\n':
			out.WriteString(`\n`)
		case r == '\r':
			out.WriteString(`\r`)
		case r == '\t':
			out.WriteString(`\t`)
		case unicode.IsPrint(r):
			out.WriteRune(r)
		case r <= 0xff:
			fmt.Fprintf(&out, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			fmt.Fprintf(&out, `\U%08x`, r)
		}
	}
	out.WriteRune(quote)
	return out.String()
}
