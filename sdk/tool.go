package sdk

import "encoding/json"

// ToolResult answers a tools/call.
type ToolResult struct {
	Content []Content `json:"content"`
	// StructuredContent is the result as a JSON object, for tools with an output schema; nil if none.
	StructuredContent any `json:"structuredContent,omitempty"`
	// IsError tells the model that the tool could not do what was asked, and that Content says why.
	IsError bool           `json:"isError,omitempty"`
	Meta    map[string]any `json:"_meta,omitempty"`
}

// Text returns a result that is one text.
func Text(text string) *ToolResult {
	return &ToolResult{Content: []Content{TextContent{Text: text}}}
}

// ErrorText returns a result that says what went wrong.
func ErrorText(text string) *ToolResult {
	return &ToolResult{Content: []Content{TextContent{Text: text}}, IsError: true}
}

// Content is one item of a result: a TextContent, ImageContent, AudioContent, ResourceLink or
// EmbeddedResource.
type Content interface{ content() }

// TextContent is text for the model.
type TextContent struct {
	Text string `json:"text"`
}

// ImageContent is a picture. Data travels as base64.
type ImageContent struct {
	Data     []byte `json:"data"`
	MIMEType string `json:"mimeType"`
}

// AudioContent is sound. Data travels as base64.
type AudioContent struct {
	Data     []byte `json:"data"`
	MIMEType string `json:"mimeType"`
}

// ResourceLink names a resource that the client may read.
type ResourceLink struct {
	Resource
}

// EmbeddedResource carries a resource's content in the result itself.
type EmbeddedResource struct {
	Resource ResourceContents `json:"resource"`
}

func (TextContent) content()      {}
func (ImageContent) content()     {}
func (AudioContent) content()     {}
func (ResourceLink) content()     {}
func (EmbeddedResource) content() {}

// Each kind of content is written with its type first.

func (c TextContent) MarshalJSON() ([]byte, error) {
	type plain TextContent
	return encode(struct {
		Type string `json:"type"`
		plain
	}{"text", plain(c)})
}

func (c ImageContent) MarshalJSON() ([]byte, error) {
	type plain ImageContent
	return encode(struct {
		Type string `json:"type"`
		plain
	}{"image", plain(c)})
}

func (c AudioContent) MarshalJSON() ([]byte, error) {
	type plain AudioContent
	return encode(struct {
		Type string `json:"type"`
		plain
	}{"audio", plain(c)})
}

func (c ResourceLink) MarshalJSON() ([]byte, error) {
	return encode(struct {
		Type string `json:"type"`
		Resource
	}{"resource_link", c.Resource})
}

func (c EmbeddedResource) MarshalJSON() ([]byte, error) {
	type plain EmbeddedResource
	return encode(struct {
		Type string `json:"type"`
		plain
	}{"resource", plain(c)})
}

var _ = []json.Marshaler{TextContent{}, ImageContent{}, AudioContent{}, ResourceLink{}, EmbeddedResource{}}
