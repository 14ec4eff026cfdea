package store

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// quickHeader parses a header in the most frequent form: known keys, strings without escapes, integers, no white space.
// For a header in any other form it returns false, and the caller uses encoding/json. List parses the header of each
// item, and in a WebAssembly module encoding/json takes as long for one header as opening the file.
func quickHeader(line []byte) (h header, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte(`{"`))
	if !ok || !utf8.Valid(line) {
		return h, false
	}
	for {
		key, behind, found := bytes.Cut(rest, []byte(`":`))
		if !found {
			return h, false
		}
		rest = behind
		if text := h.text(key); text != nil {
			if rest, ok = quickText(rest, text); !ok {
				return h, false
			}
		} else if rest, ok = quickNumber(rest, h.number(key)); !ok {
			return h, false
		}
		if string(rest) == "}\n" {
			return h, true
		}
		if rest, ok = bytes.CutPrefix(rest, []byte(`,"`)); !ok {
			return h, false
		}
	}
}

// text returns a pointer to the string field of h that belongs to a key; nil for a key without a string field.
func (h *header) text(key []byte) *string {
	switch string(key) {
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
	case "created_at":
		return &h.Created
	case "updated_at":
		return &h.Updated
	}
	return nil
}

// number returns a pointer to the integer field of h that belongs to a key; nil for a key without an integer field.
func (h *header) number(key []byte) *int64 {
	switch string(key) {
	case "format":
		return &h.Format
	case "size":
		return &h.Size
	}
	return nil
}

// quickText parses a string without escapes at the beginning of rest, stores the string in *into, and returns the bytes
// after the string.
func quickText(rest []byte, into *string) ([]byte, bool) {
	if len(rest) == 0 || rest[0] != '"' {
		return nil, false
	}
	for i := 1; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == '"':
			*into = string(rest[1:i])
			return rest[i+1:], true
		case c == '\\', c < ' ':
			return nil, false
		}
	}
	return nil, false
}

// quickNumber parses an integer that cannot overflow at the beginning of rest, stores the integer in *into, and returns
// the bytes after the integer.
func quickNumber(rest []byte, into *int64) ([]byte, bool) {
	n := 0
	for n < len(rest) && rest[n] >= '0' && rest[n] <= '9' {
		n++
	}
	if into == nil || n == 0 || n > 18 || rest[0] == '0' && n > 1 {
		return nil, false
	}
	number, err := strconv.ParseInt(string(rest[:n]), 10, 64)
	*into = number
	return rest[n:], err == nil
}
