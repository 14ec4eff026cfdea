package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/bulkhead-mcp/bulkhead/host/rawjson"
)

// resultComplete is what every result of the modern era says of itself: no further round trip.
const resultComplete = `"resultType":"complete"`

// serverInfo is the member that tells who made a result.
func serverInfo(name, version string) []byte {
	return fmt.Appendf(nil, `"%s":{"name":%s,"version":%s}`, mcp.MetaKeyServerInfo, rawjson.Quote(name), rawjson.Quote(version))
}

// checkResult says what keeps a client from reading a tool's result; "" if nothing does. Members that
// MCP does not know are let through.
func checkResult(result []byte) string {
	switch {
	case !json.Valid(result):
		return "it is not JSON"
	case !utf8.Valid(result):
		return "it is not UTF-8"
	case rawjson.Kind(result) != '{':
		return "it is not an object"
	}
	content := false
	for key, value := range rawjson.Members(result) {
		var want byte
		switch key {
		case "content":
			content, want = true, '['
			for i, item := range rawjson.Elements(value) {
				if why := checkContent(item); why != "" {
					return fmt.Sprintf("content[%d]%s", i, why)
				}
			}
		case "isError":
			want = 't'
		case "structuredContent", "_meta":
			want = '{'
		case "resultType":
			if text, _ := rawjson.Unquote(value); text != string(mcp.ResultTypeComplete) {
				return `resultType is not "complete"`
			}
		}
		if want != 0 && rawjson.Kind(value) != want {
			return key + " is not " + kindName(want)
		}
	}
	if !content {
		return "content is missing"
	}
	return ""
}

// checkContent checks one item of content; what it says follows the item's name.
func checkContent(item []byte) string {
	if rawjson.Kind(item) != '{' {
		return " is not an object"
	}
	need := map[string]byte{}
	switch t, _ := rawjson.Unquote(rawjson.Member(item, "type")); t {
	case "text":
		need["text"] = '"'
	case "image", "audio":
		need["data"], need["mimeType"] = '"', '"'
	case "resource":
		need["resource"] = '{'
	case "resource_link":
		need["uri"], need["name"] = '"', '"'
	default:
		return ".type is not text, image, audio, resource or resource_link"
	}
	for key, value := range rawjson.Members(item) {
		want, needed := need[key]
		delete(need, key)
		switch {
		case key == "annotations" || key == "_meta":
			want, needed = '{', true
		case key == "resource" && needed:
			if why := checkResource(value); why != "" {
				return ".resource" + why
			}
		}
		if needed && rawjson.Kind(value) != want {
			return "." + key + " is not " + kindName(want)
		}
	}
	for _, key := range []string{"text", "data", "mimeType", "resource", "uri", "name"} {
		if need[key] != 0 {
			return "." + key + " is missing"
		}
	}
	return ""
}

// checkResource checks the contents of a resource that a result embeds.
func checkResource(resource []byte) string {
	switch {
	case rawjson.Kind(resource) != '{':
		return " is not an object"
	case rawjson.Kind(rawjson.Member(resource, "uri")) != '"':
		return ".uri is not a string"
	case rawjson.Kind(rawjson.Member(resource, "text")) != '"' && rawjson.Kind(rawjson.Member(resource, "blob")) != '"':
		return " has neither text nor blob"
	}
	return ""
}

func kindName(kind byte) string {
	switch kind {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case 't':
		return "true or false"
	}
	return "a string"
}

// modern adds to a checked result what the modern era asks of each: its type, and in _meta the server.
// What the result has itself keeps its bytes.
func modern(result, info []byte) []byte {
	out := bytes.NewBuffer(make([]byte, 0, len(result)+len(info)+64))
	out.WriteString(`{` + resultComplete)
	meta := false
	for key, value := range rawjson.Members(result) {
		if key == "resultType" {
			continue
		}
		out.WriteByte(',')
		out.Write(rawjson.Quote(key))
		out.WriteByte(':')
		if key == "_meta" {
			meta, value = true, withInfo(value, info)
		}
		out.Write(value)
	}
	if !meta {
		out.WriteString(`,"_meta":{`)
		out.Write(info)
		out.WriteByte('}')
	}
	out.WriteByte('}')
	return out.Bytes()
}

// withInfo adds the server to a result's own _meta, unless it names one.
func withInfo(meta, info []byte) []byte {
	if rawjson.Member(meta, mcp.MetaKeyServerInfo) != nil {
		return meta
	}
	out := append([]byte(`{`), info...)
	rest := meta[1:] // past the brace
	if bytes.TrimLeft(rest, " \t\r\n")[0] != '}' {
		out = append(out, ',')
	}
	return append(out, rest...)
}
