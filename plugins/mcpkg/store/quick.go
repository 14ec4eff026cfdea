package store

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// quickHeader reads a header as this version writes most: known keys, texts without escapes, whole numbers,
// no white space. Of all others it says false, and encoding/json reads them. It is here because a list reads
// a header for each item, and in a module encoding/json takes as long for one as to open its file.
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

// text returns where the text of a key goes; nil if that is no key of a text.
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

// number returns where the number of a key goes; nil if that is no key of a number.
func (h *header) number(key []byte) *int64 {
	switch string(key) {
	case "format":
		return &h.Format
	case "size":
		return &h.Size
	}
	return nil
}

// quickText reads a text without escapes and returns what is behind it.
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

// quickNumber reads a whole number that fits for certain, and returns what is behind it.
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
