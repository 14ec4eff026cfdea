package markdown

import (
	"strings"
	"unicode/utf16"
)

// IsSpace reports whether r is white space as ECMAScript defines it, which includes the byte-order mark and the no-break
// space but not U+0085: the other programs that read the files use that definition.
func IsSpace(r rune) bool {
	switch r {
	case '\t', '\n', '\v', '\f', '\r', ' ', 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF:
		return true
	}
	return 0x2000 <= r && r <= 0x200A
}

// Trim returns s without the white space around it.
func Trim(s string) string { return strings.TrimFunc(s, IsSpace) }

// TrimLeft returns s without the white space before it.
func TrimLeft(s string) string { return strings.TrimLeftFunc(s, IsSpace) }

// TrimRight returns s without the white space after it.
func TrimRight(s string) string { return strings.TrimRightFunc(s, IsSpace) }

// Collapse returns s trimmed, with each run of white space replaced by one space.
func Collapse(s string) string { return strings.Join(strings.FieldsFunc(s, IsSpace), " ") }

// Length returns the length of s in UTF-16 code units, which the format's limits count.
func Length(s string) int {
	units := 0
	for _, r := range s {
		units += utf16.RuneLen(r) // never a surrogate: range yields U+FFFD for invalid UTF-8
	}
	return units
}
