package sdk

import "context"

// Resources answers resources/list, resources/templates/list and resources/read. List and Read are
// required; nil Templates means that there are none. Both lists are whole: the host cuts pages. Read
// answers a URI that does not exist with an *Error of abi.CodeResourceNotFound.
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
	Size        int64  `json:"size,omitempty"` // bytes; 0: not said
}

// ResourceTemplate is an item of resources/templates/list; its URI template is as in RFC 6570.
type ResourceTemplate struct {
	URITemplate string `json:"uriTemplate"`
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mimeType,omitempty"`
}

// ResourceContents is what a resource holds: Blob if it is not nil (it travels as base64), else Text.
type ResourceContents struct {
	URI      string
	MIMEType string
	Text     string
	Blob     []byte
}

// MarshalJSON writes either text or blob, as MCP has it.
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
	return encode(wire)
}
