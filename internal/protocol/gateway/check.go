package gateway

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// checkObject returns the reason why a result, which must be valid JSON, does not conform to MCP; "" if it conforms.
// member checks the members that are specific to the method. Like all checks below, it accepts members unknown to MCP.
func checkObject(result []byte, member func(key string, value []byte) string) string {
	switch {
	case !utf8.Valid(result):
		return "it is not UTF-8"
	case rawjson.Kind(result) != '{':
		return "it is not an object"
	}
	if why := ambiguous(result, resultMembers); why != "" {
		return why
	}
	for key, value := range rawjson.Members(result) {
		why := ""
		switch key {
		case "_meta":
			if why = checkKind(key, value, '{'); why == "" {
				why = ambiguous(value, metaMembers)
			}
		case "resultType":
			if text, _ := rawjson.Unquote(value); text != string(mcp.ResultTypeComplete) {
				why = `resultType is not "complete"`
			}
		default:
			why = member(key, value)
		}
		if why != "" {
			return why
		}
	}
	return ""
}

func checkKind(name string, value []byte, want byte) string {
	if rawjson.Kind(value) != want {
		return name + " is not " + kindName(want)
	}
	return ""
}

// checkItems checks an array of objects. The text that check returns is appended to the item's name.
func checkItems(name string, array []byte, check func(item []byte) string) string {
	if why := checkKind(name, array, '['); why != "" {
		return why
	}
	for i, item := range rawjson.Elements(array) {
		if why := check(item); why != "" {
			return fmt.Sprintf("%s[%d]%s", name, i, why)
		}
	}
	return ""
}

// checkToolResult checks the result of tools/call.
func checkToolResult(result []byte) string {
	content := false
	why := checkObject(result, func(key string, value []byte) string {
		switch key {
		case "content":
			content = true
			return checkItems(key, value, checkContent)
		case "isError":
			return checkKind(key, value, 't')
		case "structuredContent":
			return checkKind(key, value, '{')
		}
		return ""
	})
	if why == "" && !content {
		return "content is missing"
	}
	return why
}

// checkPromptResult checks the result of prompts/get.
func checkPromptResult(result []byte) string {
	messages := false
	why := checkObject(result, func(key string, value []byte) string {
		switch key {
		case "description":
			return checkKind(key, value, '"')
		case "messages":
			messages = true
			return checkItems(key, value, checkMessage)
		}
		return ""
	})
	if why == "" && !messages {
		return "messages is missing"
	}
	return why
}

func checkMessage(message []byte) string {
	if rawjson.Kind(message) != '{' {
		return " is not an object"
	}
	if why := ambiguous(message, messageMembers); why != "" {
		return "." + why
	}
	if role, _ := rawjson.Unquote(rawjson.Member(message, "role")); role != string(mcp.RoleUser) && role != string(mcp.RoleAssistant) {
		return ".role is not user or assistant"
	}
	if why := checkContent(rawjson.Member(message, "content")); why != "" {
		return ".content" + why
	}
	return ""
}

// checkReadResult checks the result of resources/read.
func checkReadResult(result []byte) string {
	contents := false
	why := checkObject(result, func(key string, value []byte) string {
		if key != "contents" {
			return checkHint(key, value)
		}
		contents = true
		return checkItems(key, value, checkResource)
	})
	if why == "" && !contents {
		return "contents is missing"
	}
	return why
}

// checkHint checks a caching hint of a result.
func checkHint(key string, value []byte) string {
	switch key {
	case "ttlMs":
		// Typed clients decode it into a signed 64-bit integer.
		if _, err := strconv.ParseUint(string(value), 10, 63); err != nil {
			return "ttlMs is not a whole number of milliseconds"
		}
	case "cacheScope":
		if scope, _ := rawjson.Unquote(value); scope != string(mcp.CacheScopePublic) && scope != string(mcp.CacheScopePrivate) {
			return "cacheScope is not public or private"
		}
	}
	return ""
}

// maxCompletions is the limit that MCP sets.
const maxCompletions = 100

// checkCompletion checks the result of completion/complete.
func checkCompletion(result []byte) string {
	values := false
	why := checkObject(result, func(key string, value []byte) string {
		if key != "completion" {
			return ""
		}
		if why := checkKind(key, value, '{'); why != "" {
			return why
		}
		if why := ambiguous(value, completionMembers); why != "" {
			return "completion." + why
		}
		for name, part := range rawjson.Members(value) {
			why := ""
			switch name {
			case "values":
				values = true
				why = checkValues(part)
			case "total":
				why = checkKind("completion.total", part, '0')
			case "hasMore":
				why = checkKind("completion.hasMore", part, 't')
			}
			if why != "" {
				return why
			}
		}
		return ""
	})
	if why == "" && !values {
		return "completion.values is missing"
	}
	return why
}

func checkValues(values []byte) string {
	n := 0
	return checkItems("completion.values", values, func(value []byte) string {
		if n++; n > maxCompletions {
			return fmt.Sprintf(" exceeds the limit of %d values", maxCompletions)
		}
		if rawjson.Kind(value) != '"' {
			return " is not a string"
		}
		return ""
	})
}

// checkContent checks one item of content. The text that it returns is appended to the item's name.
func checkContent(item []byte) string {
	if rawjson.Kind(item) != '{' {
		return " is not an object"
	}
	if why := ambiguous(item, contentMembers); why != "" {
		return "." + why
	}
	required := map[string]byte{}
	switch t, _ := rawjson.Unquote(rawjson.Member(item, "type")); t {
	case "text":
		required["text"] = '"'
	case "image", "audio":
		required["data"], required["mimeType"] = '"', '"'
	case "resource":
		required["resource"] = '{'
	case "resource_link":
		required["uri"], required["name"] = '"', '"'
	default:
		return ".type is not text, image, audio, resource or resource_link"
	}
	present := map[string]bool{}
	for key, value := range rawjson.Members(item) {
		want, checked := required[key]
		present[key] = true
		switch {
		case key == "annotations" || key == "_meta":
			want, checked = '{', true
		case key == "resource" && checked:
			if why := checkResource(value); why != "" {
				return ".resource" + why
			}
		}
		if checked && rawjson.Kind(value) != want {
			return "." + key + " is not " + kindName(want)
		}
		if key == "data" && checked && !isBase64(value) {
			return ".data is not base64"
		}
	}
	for _, key := range []string{"text", "data", "mimeType", "resource", "uri", "name"} {
		if required[key] != 0 && !present[key] {
			return "." + key + " is missing"
		}
	}
	return ""
}

// checkResource checks the contents of a resource.
func checkResource(resource []byte) string {
	if rawjson.Kind(resource) != '{' {
		return " is not an object"
	}
	if why := ambiguous(resource, resourceMembers); why != "" {
		return "." + why
	}
	uri, contents := false, false
	for key, value := range rawjson.Members(resource) {
		want := byte('"')
		switch key {
		case "uri":
			uri = true
		case "text", "blob":
			contents = true
		case "mimeType":
		case "_meta":
			want = '{'
		default:
			continue
		}
		if rawjson.Kind(value) != want {
			return "." + key + " is not " + kindName(want)
		}
		if key == "blob" && !isBase64(value) {
			return ".blob is not base64"
		}
	}
	switch {
	case !uri:
		return ".uri is missing"
	case !contents:
		return " has neither text nor blob"
	}
	return ""
}

// isBase64 reports whether a JSON string is padded base64. Typed clients fail to decode the response otherwise.
func isBase64(value []byte) bool {
	text, ok := rawjson.Unquote(value)
	_, err := base64.StdEncoding.DecodeString(text)
	return ok && err == nil && !strings.ContainsAny(text, "\r\n")
}

func kindName(kind byte) string {
	switch kind {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case 't':
		return "true or false"
	case '0':
		return "a number"
	}
	return "a string"
}
