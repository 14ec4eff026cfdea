package tools

import (
	"bytes"
	"encoding/json"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/redact"
	"github.com/bulkhead-mcp/bulkhead/sdk"
)

// items is the result of a call that is a list.
type items struct{ list any }

// list marks the result of a call as a list. MCP requires an object as structured content, so the function answer wraps
// the list in an object.
func list[T any](all []T, err error) (any, error) { return items{all}, err }

// answer returns the tool result that contains result as text and as structured content.
func answer(result any) (*sdk.ToolResult, error) {
	value, isList := result, false
	if l, ok := result.(items); ok {
		value, isList = l.list, true
	}
	text, err := encode(value)
	if err != nil {
		return nil, err
	}
	structured := text
	if isList {
		structured = append(append([]byte(`{"result":`), text...), '}')
	}
	return &sdk.ToolResult{
		Content:           []sdk.Content{sdk.TextContent{Text: string(text)}},
		StructuredContent: json.RawMessage(structured),
	}, nil
}

// encode returns value as compact JSON with redacted URLs, and without HTML escapes.
func encode(value any) ([]byte, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(raw))
	for len(raw) > 0 {
		begin := bytes.IndexByte(raw, '"')
		if begin < 0 {
			break
		}
		end := rawjson.ValueEnd(raw, begin)
		out = appendText(append(out, raw[:begin]...), raw[begin:end])
		raw = raw[end:]
	}
	return append(out, raw...), nil
}

// appendText appends a JSON string to out, with redacted URLs.
func appendText(out, quoted []byte) []byte {
	if !bytes.Contains(quoted, []byte("://")) && !bytes.ContainsAny(quoted, `@%\`) { // the string contains nothing to redact or to decode
		return append(out, quoted...)
	}
	text, _ := rawjson.Unquote(quoted)
	return rawjson.AppendQuote(out, redact.Text(text))
}
