package store

import (
	"strconv"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// quickHeader parses a header with known keys, strings and integers. For a header in any other form it returns false,
// and the caller uses encoding/json. List parses the header of each item, and in a WebAssembly module encoding/json
// takes as long for one header as opening the file.
func quickHeader(line []byte) (h header, ok bool) {
	ok = true
	err := rawjson.ScanObject(line, func(key, value []byte) {
		fits := false
		switch field := h.field(key).(type) {
		case *string:
			*field, fits = rawjson.Unquote(value)
		case *int64:
			number, err := strconv.ParseInt(string(value), 10, 64)
			*field, fits = number, err == nil
		}
		ok = ok && fits
	})
	return h, ok && err == nil
}

// field returns a pointer to the field of h that belongs to a key; nil for an unknown key.
func (h *header) field(key []byte) any {
	switch string(key) {
	case "format":
		return &h.Format
	case "name":
		return &h.Name
	case "uri":
		return &h.URI
	case "mime_type":
		return &h.MIMEType
	case "description":
		return &h.Description
	case "content":
		return &h.Content
	case "size":
		return &h.Size
	case "created_at":
		return &h.Created
	case "updated_at":
		return &h.Updated
	}
	return nil
}
