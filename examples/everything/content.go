package main

import (
	"context"
	"encoding/base64"
	"encoding/json"

	"github.com/bulkhead-mcp/bulkhead/sdk"
)

// A PNG of 16 by 16 red pixels, and a WAV of a millisecond of silence.
var (
	image = decode("iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAFklEQVR42mO4YGBAEmIY1TCqYfhqAAA+XjAQecrJFAAAAABJRU5ErkJggg==")
	audio = decode("UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACAgICAgICAgA==")
)

func decode(data string) []byte {
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		panic(err)
	}
	return raw
}

// none is the type of the arguments of a tool that has none.
type none struct{}

// returns makes a handler that returns the same content in each call.
func returns(content ...sdk.Content) func(context.Context, none) (*sdk.ToolResult, error) {
	return func(context.Context, none) (*sdk.ToolResult, error) { return &sdk.ToolResult{Content: content}, nil }
}

func registerContent(p *sdk.Plugin) {
	sdk.HandleTool(p, "test_simple_text", returns(sdk.TextContent{Text: "This is a simple text response for testing."}))
	sdk.HandleTool(p, "test_image_content", returns(sdk.ImageContent{Data: image, MIMEType: "image/png"}))
	sdk.HandleTool(p, "test_audio_content", returns(sdk.AudioContent{Data: audio, MIMEType: "audio/wav"}))
	sdk.HandleTool(p, "test_embedded_resource", returns(sdk.EmbeddedResource{Resource: sdk.ResourceContents{
		URI: "test://embedded-resource", MIMEType: "text/plain", Text: "This is an embedded resource content.",
	}}))
	sdk.HandleTool(p, "test_multiple_content_types", returns(
		sdk.TextContent{Text: "Multiple content types test:"},
		sdk.ImageContent{Data: image, MIMEType: "image/png"},
		sdk.EmbeddedResource{Resource: sdk.ResourceContents{
			URI: "test://mixed-content-resource", MIMEType: "application/json", Text: `{"test":"data","value":123}`,
		}},
	))
	sdk.HandleTool(p, "test_transient", returns(sdk.TextContent{Text: "This tool is not always offered."}))
	sdk.HandleTool(p, "test_structured_content", reportWeather)
	sdk.HandleTool(p, "test_error_handling", func(context.Context, none) (*sdk.ToolResult, error) {
		return sdk.ErrorText("This tool intentionally returns an error for testing"), nil
	})
}

// weather is the structured content of test_structured_content.
type weather struct {
	City        string  `json:"city"`
	Temperature float64 `json:"temperature"`
}

func reportWeather(_ context.Context, in struct {
	City string `json:"city"`
}) (*sdk.ToolResult, error) {
	report := weather{City: in.City, Temperature: 21.5}
	text, err := json.Marshal(report)
	if err != nil {
		return nil, err
	}
	result := sdk.Text(string(text)) // for clients that do not read structured content
	result.StructuredContent = report
	return result, nil
}
