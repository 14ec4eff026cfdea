package tools

import (
	"bytes"
	"encoding/json"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/redact"
	"github.com/bulkhead-mcp/bulkhead/sdk"
)

// items is a result that is a list.
type items struct{ list any }

// list marks a result as a list: its structured content is an object that holds it, as MCP wants one.
func list[T any](all []T, err error) (any, error) { return items{all}, err }

// answer writes a result as text and as structured content.
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

// encode writes a value as compact JSON, without the secrets of URLs and with <, > and & as they are.
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
		end := begin + 1
		for raw[end] != '"' {
			if raw[end] == '\\' {
				end++
			}
			end++
		}
		end++
		out = append(out, raw[:begin]...)
		if out, err = appendText(out, raw[begin:end]); err != nil {
			return nil, err
		}
		raw = raw[end:]
	}
	return append(out, raw...), nil
}

// appendText writes a string of JSON.
func appendText(out, quoted []byte) ([]byte, error) {
	if !bytes.Contains(quoted, []byte("://")) && !bytes.ContainsAny(quoted, `@%\`) { // nothing to mask, or to write otherwise
		return append(out, quoted...), nil
	}
	var text string
	if err := json.Unmarshal(quoted, &text); err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(redact.Text(text)); err != nil {
		return nil, err
	}
	return append(out, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...), nil
}
