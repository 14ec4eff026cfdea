package call

import (
	"encoding/base64"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Members of an item of content, in the order in which a missing one is reported. The two last ones are optional objects of all types.
const (
	itemText = iota
	itemData
	itemMimeType
	itemResource
	itemURI
	itemName
	itemAnnotations
	itemMeta
	itemType
	itemMembers // their number
)

var contentMembers = Names("text", "data", "mimeType", "resource", "uri", "name", "annotations", "_meta", "type")

// contentTypes has the members that an item of each type must have.
var contentTypes = map[string][]int{
	"text": {itemText}, "image": {itemData, itemMimeType}, "audio": {itemData, itemMimeType},
	"resource": {itemResource}, "resource_link": {itemURI, itemName},
}

// content reads an item of content. The text that it returns is appended to the item's name. The type decides what is checked, and may
// follow the members that it is about, so these are checked after the item was read, in their order.
func (r *resultScan) content() string {
	var values [itemMembers][]byte
	var order [itemMembers]int
	n, resource := 0, ""
	item, ambiguous := r.unique(contentMembers, func(i int) {
		if i == itemResource {
			values[i], resource = r.resourceValue()
		} else {
			values[i] = r.Value()
		}
		order[n] = i
		n++
	})
	switch {
	case rawjson.Kind(item) != '{':
		return " is not an object"
	case ambiguous != "":
		return "." + ambiguous
	}
	kind, _ := rawjson.Unquote(values[itemType])
	required, known := contentTypes[kind]
	if !known {
		return ".type is not text, image, audio, resource or resource_link"
	}
	var checked [itemMembers]bool
	checked[itemAnnotations], checked[itemMeta] = true, true
	for _, i := range required {
		checked[i] = true
	}
	for _, i := range order[:n] {
		if !checked[i] {
			continue
		}
		want := byte('"')
		if i == itemAnnotations || i == itemMeta || i == itemResource {
			want = '{'
		}
		if i == itemResource && resource != "" {
			return ".resource" + resource
		}
		name := "." + string(contentMembers[i])
		if why := wrongKind(name, values[i], want); why != "" {
			return why
		}
		if i == itemData && !isBase64(values[i]) {
			return name + " is not base64"
		}
	}
	for _, i := range required {
		if values[i] == nil {
			return "." + string(contentMembers[i]) + " is missing"
		}
	}
	return ""
}

// Members of the contents of a resource.
const (
	resourceURI = iota
	resourceText
	resourceBlob
	resourceMimeType
	resourceMeta
)

var resourceMembers = Names("uri", "text", "blob", "mimeType", "_meta")

// resource reads the contents of a resource, and returns what is wrong with them.
func (r *resultScan) resource() string {
	_, why := r.resourceValue()
	return why
}

func (r *resultScan) resourceValue() (value []byte, why string) {
	u := Unique{Known: resourceMembers}
	value = r.Object(func(key []byte) {
		i := u.Add(key)
		if i < 0 || why != "" {
			return
		}
		member, want := r.Value(), byte('"')
		if i == resourceMeta {
			want = '{'
		}
		if why = wrongKind("."+string(key), member, want); why == "" && i == resourceBlob && !isBase64(member) {
			why = ".blob is not base64"
		}
	})
	switch {
	case rawjson.Kind(value) != '{':
		why = " is not an object"
	case u.Ambiguous != "":
		why = "." + u.Ambiguous
	case why != "":
	case !u.has(resourceURI):
		why = ".uri is missing"
	case !u.has(resourceText) && !u.has(resourceBlob):
		why = " has neither text nor blob"
	}
	return value, why
}

// isBase64 reports whether a JSON string is padded base64. Typed clients fail to decode the response otherwise.
func isBase64(value []byte) bool {
	text, ok := rawjson.Unquote(value)
	_, err := base64.StdEncoding.DecodeString(text)
	return ok && err == nil && !strings.ContainsAny(text, "\r\n")
}
