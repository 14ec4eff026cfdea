// Package text encodes and decodes JSON strings as encoding/json does without HTML escaping. Strings without escapes,
// which most are, take a fast path.
package text

import (
	"encoding/json"
	"unicode/utf8"
)

const hex = "0123456789abcdef"

// Append appends s as a JSON string. Bytes that are not UTF-8 become U+FFFD.
func Append(out []byte, s string) []byte {
	out = append(out, '"')
	plain := 0 // the start of the pending bytes before i
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if !(r == utf8.RuneError && size == 1) && r != '\u2028' && r != '\u2029' {
				i += size
				continue
			}
			out = append(out, s[plain:i]...)
			out = append(out, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
			i += size
		} else {
			out = append(out, s[plain:i]...)
			out = appendEscape(out, c)
			i++
		}
		plain = i
	}
	out = append(out, s[plain:]...)
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

// Unquote decodes a JSON string; false if raw is not one.
func Unquote(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return "", false
	}
	for _, c := range raw[1 : len(raw)-1] {
		if c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			var s string
			err := json.Unmarshal(raw, &s)
			return s, err == nil
		}
	}
	return string(raw[1 : len(raw)-1]), true
}
