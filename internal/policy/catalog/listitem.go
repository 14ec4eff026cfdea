package catalog

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// itemMembers are the kinds, in terms of rawjson.Kind, of the members that MCP defines for a prompt, its arguments, a
// resource or a template. A list contains items of several plugins, and a client that rejects one item rejects the whole
// list.
var itemMembers = map[string]byte{
	"name": '"', "title": '"', "description": '"', "uri": '"', "uriTemplate": '"', "mimeType": '"',
	"size": '0', "required": 't', "arguments": '[', "icons": '[', "annotations": '{', "_meta": '{',
}

var itemNames = slices.Sorted(maps.Keys(itemMembers))

// checkItem returns the reason why a client could reject an item of a list, "" if the item is valid. Members that MCP does not
// define are accepted. Duplicates of a defined member are refused, and so is a member whose name differs from a defined one only in
// case: some clients would use it instead of the defined one, and show a name that does not belong to this plugin.
func checkItem(item []byte) string {
	if err := rawjson.Bound(item, math.MaxInt, maxItemDepth); err != nil {
		return "it " + err.Error()
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

// maxItemDepth is far below the limits of clients' parsers.
const maxItemDepth = 64

func checkMembers(item []byte) string {
	if rawjson.Kind(item) != '{' {
		return "it is not an object"
	}
	switch key, name := rawjson.Ambiguous(item, itemNames...); {
	case name == "":
	case key == name:
		return name + " occurs twice"
	default:
		return fmt.Sprintf("%.40q differs only in case from a member that MCP defines", key)
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

// shownMembers are the members of an item that clients show to a user.
var shownMembers = []string{"name", "title", "description"}

// sanitize returns an item with the characters replaced that hide or reorder text in what clients show. key is the member that identifies
// the item. hidden reports that the item has such a character in an identifier, which cannot be replaced: the key, or an argument's name.
// The item must be valid by checkItem.
func sanitize(item []byte, key string) (out []byte, hidden bool) {
	if !slices.ContainsFunc(item, func(c byte) bool { return c >= 0x7f || c == '\\' }) {
		return item, false // each character is printable ASCII
	}
	id, _ := rawjson.Unquote(rawjson.Member(item, key))
	if visible.Prose(id) != id {
		return nil, true
	}
	item = sanitizeMembers(item, key)
	list := rawjson.Member(item, "arguments")
	if list == nil {
		return item, false
	}
	var arguments [][]byte
	changed := false
	for _, argument := range rawjson.Elements(list) {
		shown, hidden := sanitize(argument, "name")
		if hidden {
			return nil, true
		}
		changed = changed || !bytes.Equal(shown, argument)
		arguments = append(arguments, shown)
	}
	if !changed {
		return item, false
	}
	return rawjson.Replace(item, "arguments", slices.Concat([]byte{'['}, bytes.Join(arguments, []byte{','}), []byte{']'})), false
}

func sanitizeMembers(item []byte, key string) []byte {
	for _, name := range shownMembers {
		text, ok := rawjson.Unquote(rawjson.Member(item, name))
		if shown := visible.Prose(text); ok && name != key && shown != text {
			item = rawjson.Replace(item, name, rawjson.Quote(shown))
		}
	}
	return item
}
