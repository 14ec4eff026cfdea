package audit

import (
	"unicode/utf16"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

// ellipsis ends a truncated string. A complete string may end with it too, so the line lists the truncated
// fields.
const ellipsis = "…"

// IsKept reports whether the record of a call keeps the path of a grant as it is.
func IsKept(path string) bool {
	_, complete := appendString(nil, path, maxTarget)
	return complete && utf8.ValidString(path)
}

// appendString appends s as a JSON string of at most limit bytes, quotes and ellipsis included, and reports
// whether s was appended completely. It escapes all invisible characters, not only those that JSON requires, so
// that a line can neither control a terminal nor change the direction of its text. Invalid UTF-8 becomes U+FFFD.
func appendString(b []byte, s string, limit int) ([]byte, bool) {
	end := len(b) + limit - len(ellipsis) - len(`"`)
	b = append(b, '"')
	for i := 0; i < len(s); {
		before := len(b)
		r, size := rune(s[i]), 1
		switch {
		case r >= utf8.RuneSelf:
			r, size = utf8.DecodeRuneInString(s[i:])
			b = appendRune(b, r)
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r < ' ' || r == 0x7f:
			b = appendEscape(b, r)
		default:
			b = append(b, byte(r))
		}
		if len(b) > end {
			b = append(b[:before], ellipsis...)
			return append(b, '"'), false
		}
		i += size
	}
	return append(b, '"'), true
}

func appendRune(b []byte, r rune) []byte {
	switch {
	case visible.Rune(r):
		return utf8.AppendRune(b, r)
	case r > 0xffff:
		high, low := utf16.EncodeRune(r)
		return appendEscape(appendEscape(b, high), low)
	}
	return appendEscape(b, r)
}

func appendEscape(b []byte, r rune) []byte {
	const digits = "0123456789abcdef"
	return append(b, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
}
