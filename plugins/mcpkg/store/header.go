package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/item"
)

// header is the first line of an item's file, as JSON. The content of the item follows this line without any encoding.
type header struct {
	Format      int64  `json:"format"`
	Name        string `json:"name"`
	URI         string `json:"uri,omitempty"`
	MIMEType    string `json:"mime_type,omitempty"`
	Description string `json:"description,omitempty"`
	Content     string `json:"content"`    // contentText or contentBinary
	Size        int64  `json:"size"`       // size of the content, in bytes
	Created     string `json:"created_at"` // RFC 3339; for human readers, never parsed
	Updated     string `json:"updated_at"` // RFC 3339; for human readers, never parsed
}

// The values of header.Content.
const (
	contentText   = "text"
	contentBinary = "binary"
)

// headerKeys are the keys that this version of the plugin knows. Unknown keys of a header are preserved.
var headerKeys = []string{"format", "name", "uri", "mime_type", "description", "content", "size", "created_at", "updated_at"}

// newHeader returns the header of a draft that was created and updated at the given times.
func newHeader(d item.Draft, created, now string) header {
	h := header{
		Format: format, Name: d.Name, URI: d.URI, MIMEType: d.MIMEType, Description: d.Description,
		Content: contentText, Size: int64(len(d.Content.Bytes)), Created: created, Updated: now,
	}
	if d.Content.Binary {
		h.Content = contentBinary
	}
	return h
}

// item returns the item that the header describes.
func (h header) item(kind item.Kind) item.Item {
	return item.Item{
		Kind: kind, Name: h.Name, Description: h.Description, URI: h.URI, MIMEType: h.MIMEType,
		Binary: h.Content == contentBinary,
	}
}

// line encodes the header as the first line of an item's file. The line also contains the keys in unknown.
func (h header) line(unknown map[string]json.RawMessage) ([]byte, error) {
	line, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	if len(unknown) > 0 {
		further, err := json.Marshal(unknown)
		if err != nil {
			return nil, err
		}
		line = append(append(line[:len(line)-1], ','), further[1:]...)
	}
	line = append(line, '\n')
	if len(line) > maxHeader {
		return nil, fmt.Errorf("the header of the item, with name, URI and description, has %d bytes, but at most %d are allowed: shorten the description", len(line), maxHeader)
	}
	return line, nil
}

// parseHeader parses the first line of the file of the entry e. The error is ErrNewer if a newer version of the plugin
// has written the line.
func parseHeader(line []byte, e entry) (header, error) {
	h, quick := quickHeader(line)
	var err error
	if !quick {
		h = header{}
		err = json.Unmarshal(line, &h)
	}
	if h.Format > format || err != nil && isNewer(line) {
		return header{}, ErrNewer
	}
	if err != nil {
		return header{}, err
	}
	switch {
	case h.Format != format:
		return header{}, fmt.Errorf("unsupported format %d", h.Format)
	case key(h.Name) != e.name:
		return header{}, errors.New("the name in the header does not match the file name")
	case e.kind == item.Resource && key(h.URI) != e.uri:
		return header{}, errors.New("the URI in the header does not match the file name")
	case h.Content != contentText && h.Content != contentBinary:
		return header{}, fmt.Errorf("the content in the header is neither %s nor %s", contentText, contentBinary)
	case h.Size < 1 || h.Size > maxContent:
		return header{}, fmt.Errorf("the size in the header is %d", h.Size)
	}
	return h, nil
}

// maxContent is the maximum number of bytes that are read of an item's content. The limits that package item sets are
// lower.
const maxContent = 16 << 20

// unknownKeys returns the keys of a header that this version of the plugin does not know, with their values.
func unknownKeys(line []byte) (map[string]json.RawMessage, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(line, &all); err != nil {
		return nil, err
	}
	maps.DeleteFunc(all, func(name string, _ json.RawMessage) bool {
		for _, known := range headerKeys {
			if strings.EqualFold(name, known) { // encoding/json ignores case, too, when it matches keys
				return true
			}
		}
		return false
	})
	return all, nil
}
