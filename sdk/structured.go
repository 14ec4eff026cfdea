package sdk

import (
	"encoding/json"
	"errors"
	"reflect"

	"github.com/bulkhead-mcp/bulkhead/sdk/internal/typeschema"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// isObject reports whether values of type t can be encoded as JSON objects.
func isObject(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct || t.Kind() == reflect.Map
}

// structured returns a result with the value to which value points.
func structured(value any) (*ToolResult, error) {
	typeschema.Fill(value)
	raw, err := rawjson.Marshal(value)
	if err != nil {
		return nil, err
	}
	if string(raw) == "null" {
		return nil, errors.New("the handler returned neither a result nor an error")
	}
	return &ToolResult{Content: []Content{TextContent{Text: string(raw)}}, StructuredContent: json.RawMessage(raw)}, nil
}
