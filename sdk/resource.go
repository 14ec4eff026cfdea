package sdk

import (
	"context"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Resources handles resources/list, resources/templates/list and resources/read. List and Read are required. Templates is nil if there are no
// templates. List and Templates return complete lists, which the host divides into pages. Read returns an *Error with
// abi.CodeResourceNotFound if there is no resource at that URI.
type Resources struct {
	List      func(ctx context.Context) ([]Resource, error)
	Templates func(ctx context.Context) ([]ResourceTemplate, error)
	Read      func(ctx context.Context, uri string) ([]ResourceContents, error)
}

// Resource is an item of resources/list.
type Resource struct {
	URI         string `json:"uri"`
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mimeType,omitempty"`
	Size        int64  `json:"size,omitempty"` // size of the content in bytes; 0: unknown
}

// ResourceTemplate is an item of resources/templates/list. RFC 6570 defines the syntax of its URI template.
type ResourceTemplate struct {
	URITemplate string `json:"uriTemplate"`
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mimeType,omitempty"`
}

// ResourceContents is the content of a resource. If Blob is not nil, the content is Blob, which is encoded as base64. Otherwise the content
// is Text.
type ResourceContents struct {
	URI      string
	MIMEType string
	Text     string
	Blob     []byte
}

// MarshalJSON encodes either the text or the blob, as MCP requires.
func (c ResourceContents) MarshalJSON() ([]byte, error) {
	wire := struct {
		URI      string  `json:"uri"`
		MIMEType string  `json:"mimeType,omitempty"`
		Text     *string `json:"text,omitempty"`
		Blob     *[]byte `json:"blob,omitempty"`
	}{URI: c.URI, MIMEType: c.MIMEType}
	if c.Blob != nil {
		wire.Blob = &c.Blob
	} else {
		wire.Text = &c.Text
	}
	return rawjson.Marshal(wire)
}
