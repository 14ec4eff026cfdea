package host

import (
	"fmt"
	"maps"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/rawjson"
)

// itemMembers are the kinds, as rawjson.Kind has them, of what MCP knows of a prompt, an argument of one, a
// resource or a template. Several plugins' items are in one list: a client that cannot read one reads none.
var itemMembers = map[string]byte{
	"name": '"', "title": '"', "description": '"', "uri": '"', "uriTemplate": '"', "mimeType": '"',
	"size": '0', "required": 't', "arguments": '[', "icons": '[', "annotations": '{', "_meta": '{',
}

var itemNames = slices.Sorted(maps.Keys(itemMembers))

// checkItem says what keeps a client from reading an item of a list, "" if nothing does. Members that MCP does
// not know are let through, but not a known one given twice or in other case: some clients would read that in
// its place, and show a name that is not this plugin's.
func checkItem(item []byte) string {
	if tooDeep(item) {
		return fmt.Sprintf("it is nested more than %d deep", maxItemDepth)
	}
	if why := checkMembers(item); why != "" {
		return why
	}
	for key, value := range rawjson.Members(item) {
		if key != "arguments" {
			continue
		}
		for i, argument := range rawjson.Elements(value) {
			if why := checkMembers(argument); why != "" {
				return fmt.Sprintf("arguments[%d]: %s", i, why)
			}
		}
	}
	return ""
}

// maxItemDepth is far less than any client's parser bears.
const maxItemDepth = 64

func tooDeep(value []byte) bool {
	depth, inText, escaped := 0, false, false
	for _, c := range value {
		switch {
		case escaped:
			escaped = false
		case inText && c == '\\':
			escaped = true
		case c == '"':
			inText = !inText
		case inText:
		case c == '{' || c == '[':
			if depth++; depth > maxItemDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

func checkMembers(item []byte) string {
	if rawjson.Kind(item) != '{' {
		return "it is not an object"
	}
	switch key, name := rawjson.Ambiguous(item, itemNames...); {
	case name == "":
	case key == name:
		return name + " is there twice"
	default:
		return fmt.Sprintf("%.40q is a known member in other letters", key)
	}
	for key, value := range rawjson.Members(item) {
		if want, known := itemMembers[key]; known && rawjson.Kind(value) != want {
			return key + " is of the wrong type"
		}
	}
	if _, named := rawjson.Unquote(rawjson.Member(item, "name")); !named {
		return "name is missing"
	}
	return ""
}
