package rawjson

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
	"unsafe"
)

// Marshal encodes as json.Marshal does, but does not escape <, > and & for HTML.
func Marshal(v any) ([]byte, error) { return encode(v, "") }

// MarshalIndent encodes as Marshal does, but writes each member and element on a line of its own, indented by indent for each level.
func MarshalIndent(v any, indent string) ([]byte, error) { return encode(v, indent) }

func encode(v any, indent string) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// Quote encodes s as a JSON string.
func Quote(s string) []byte { return AppendQuote(make([]byte, 0, len(s)+2), s) }

const hex = "0123456789abcdef"

// AppendQuote appends s as a JSON string. It encodes as encoding/json does without HTML escapes. Bytes that are not UTF-8 become U+FFFD.
func AppendQuote(out []byte, s string) []byte {
	b := unsafe.Slice(unsafe.StringData(s), len(s)) // b shares the memory of s and is only read
	out = append(out, '"')
	plain := 0 // b[plain:i] needs no escapes and is not yet appended
	for i := plainEnd(b, 0, nonASCII); i < len(b); i = plainEnd(b, i, nonASCII) {
		size := 1
		if b[i] >= utf8.RuneSelf {
			var r rune
			r, size = utf8.DecodeRune(b[i:])
			if !(r == utf8.RuneError && size == 1) && r != '\u2028' && r != '\u2029' {
				i += size
				continue
			}
			out = append(out, b[plain:i]...)
			out = append(out, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
		} else {
			out = append(out, b[plain:i]...)
			out = appendEscape(out, b[i])
		}
		i += size
		plain = i
	}
	out = append(out, b[plain:]...)
	return append(out, '"')
}

func appendEscape(out []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(out, '\\', c)
	case '\b':
		return append(out, '\\', 'b')
	case '\f':
		return append(out, '\\', 'f')
	case '\n':
		return append(out, '\\', 'n')
	case '\r':
		return append(out, '\\', 'r')
	case '\t':
		return append(out, '\\', 't')
	}
	return append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}
