package audit

import (
	"unicode/utf16"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/host/visible"
)

// ellipsis ends a text that was cut. A text may end so by itself, so the line names the fields that were.
const ellipsis = "…"

// appendText appends text as a JSON string of at most limit bytes, quotes and ellipsis included, and tells
// whether all of it fitted. Whatever is not visible is escaped, which is more than JSON asks for: a line that is shown
// in a terminal can neither drive it nor turn the direction of its text. Bytes that are not UTF-8
// become U+FFFD.
func appendText(b []byte, text string, limit int) ([]byte, bool) {
	end := len(b) + limit - len(ellipsis) - len(`"`)
	b = append(b, '"')
	for i := 0; i < len(text); {
		before := len(b)
		r, size := rune(text[i]), 1
		switch {
		case r >= utf8.RuneSelf:
			r, size = utf8.DecodeRuneInString(text[i:])
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
