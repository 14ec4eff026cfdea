package sdk

import (
	"encoding/base64"
	"encoding/json"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// ToolResult is the result of tools/call.
type ToolResult struct {
	Content []Content `json:"content"`
	// StructuredContent is the result as a JSON object, for a tool with an output schema; nil if there is none.
	StructuredContent any `json:"structuredContent,omitempty"`
	// IsError tells the model that the tool failed. Content then contains the reason.
	IsError bool           `json:"isError,omitempty"`
	Meta    map[string]any `json:"_meta,omitempty"`
}

// Text returns a result whose content is one text item.
func Text(text string) *ToolResult {
	return &ToolResult{Content: []Content{TextContent{Text: text}}}
}

// ErrorText returns an error result whose content is one text item.
func ErrorText(text string) *ToolResult {
	return &ToolResult{Content: []Content{TextContent{Text: text}}, IsError: true}
}

// Content is one item of a result: a TextContent, ImageContent, AudioContent, ResourceLink or
// EmbeddedResource.
type Content interface {
	json.Marshaler
	appendTo(out []byte) ([]byte, error) // appends the encoded item to out
}

// TextContent is text for the model.
type TextContent struct {
	Text string `json:"text"`
}

// ImageContent is an image. Data is encoded as base64 in JSON.
type ImageContent struct {
	Data     []byte `json:"data"`
	MIMEType string `json:"mimeType"`
}

// AudioContent is a sound. Data is encoded as base64 in JSON.
type AudioContent struct {
	Data     []byte `json:"data"`
	MIMEType string `json:"mimeType"`
}

// ResourceLink names a resource that the client may read.
type ResourceLink struct {
	Resource
}

// EmbeddedResource contains a resource's content in the result itself.
type EmbeddedResource struct {
	Resource ResourceContents `json:"resource"`
}

// Results are encoded without encoding/json, which would marshal each item of content into a buffer of its own, validate that buffer and copy
// it. In a module that takes longer than all other work of a small call.

func (r *ToolResult) appendTo(out []byte) ([]byte, error) {
	var err error
	out = append(out, `{"content":[`...)
	for i, item := range r.Content {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = item.appendTo(out); err != nil {
			return nil, err
		}
	}
	out = append(out, ']')
	if r.StructuredContent != nil {
		if out, err = appendMember(out, "structuredContent", r.StructuredContent); err != nil {
			return nil, err
		}
	}
	if r.IsError {
		out = append(out, `,"isError":true`...)
	}
	if len(r.Meta) > 0 {
		if out, err = appendMember(out, "_meta", r.Meta); err != nil {
			return nil, err
		}
	}
	return append(out, '}'), nil
}

// appendMember appends a member to an object whose encoding is in out.
func appendMember(out []byte, name string, value any) ([]byte, error) {
	raw, err := rawjson.Marshal(value)
	if err != nil {
		return nil, err
	}
	out = append(out, `,"`...)
	out = append(out, name...)
	out = append(out, `":`...)
	return append(out, raw...), nil
}

func (c TextContent) appendTo(out []byte) ([]byte, error) {
	return append(rawjson.AppendQuote(append(out, `{"type":"text","text":`...), c.Text), '}'), nil
}

func (c ImageContent) appendTo(out []byte) ([]byte, error) {
	return appendData(out, "image", c.Data, c.MIMEType), nil
}

func (c AudioContent) appendTo(out []byte) ([]byte, error) {
	return appendData(out, "audio", c.Data, c.MIMEType), nil
}

func appendData(out []byte, kind string, data []byte, mimeType string) []byte {
	out = append(out, `{"type":"`...)
	out = append(out, kind...)
	out = append(out, `","data":"`...)
	out = base64.StdEncoding.AppendEncode(out, data)
	out = append(out, `","mimeType":`...)
	return append(rawjson.AppendQuote(out, mimeType), '}')
}

func (c ResourceLink) appendTo(out []byte) ([]byte, error) {
	raw, err := rawjson.Marshal(c.Resource)
	if err != nil {
		return nil, err
	}
	out = append(out, `{"type":"resource_link",`...)
	return append(out, raw[1:]...), nil // a resource has a URI, so raw is never {}, and the comma is needed
}

func (c EmbeddedResource) appendTo(out []byte) ([]byte, error) {
	out, err := appendMember(append(out, `{"type":"resource"`...), "resource", c.Resource)
	return append(out, '}'), err
}

// MarshalJSON implements json.Marshaler, as the following methods do.
func (c TextContent) MarshalJSON() ([]byte, error) { return c.appendTo(nil) }

func (c ImageContent) MarshalJSON() ([]byte, error)     { return c.appendTo(nil) }
func (c AudioContent) MarshalJSON() ([]byte, error)     { return c.appendTo(nil) }
func (c ResourceLink) MarshalJSON() ([]byte, error)     { return c.appendTo(nil) }
func (c EmbeddedResource) MarshalJSON() ([]byte, error) { return c.appendTo(nil) }
