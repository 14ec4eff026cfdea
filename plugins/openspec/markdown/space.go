package markdown

import (
	"strings"
	"unicode/utf16"
)

// Space is a regular expression class that contains the characters for which IsSpace returns true.
const Space = `[\t\n\v\f\r \x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}\x{FEFF}]`

// IsSpace reports whether ECMAScript defines r as white space. Other programs that read the files use the same
// definition. It includes the byte-order mark and the no-break space, but not U+0085.
func IsSpace(r rune) bool {
	switch r {
	case '\t', '\n', '\v', '\f', '\r', ' ', 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF:
		return true
	}
	return 0x2000 <= r && r <= 0x200A
}

// IsSeparator reports whether r is U+2028 or U+2029. Both characters are white space, but neither ends a line of the
// format, and no title or name contains them.
func IsSeparator(r rune) bool { return r == 0x2028 || r == 0x2029 }

// EqualFold reports whether a and b differ only in the case of ASCII letters.
func EqualFold(a, b string) bool {
	return len(a) == len(b) && strings.EqualFold(a, b)
}

// CutPrefixFold works like strings.CutPrefix, but ignores case. The prefix must be ASCII.
func CutPrefixFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}

// Trim returns s without white space at its start and its end.
func Trim(s string) string { return strings.TrimFunc(s, IsSpace) }

// TrimLeft returns s without white space at its start.
func TrimLeft(s string) string { return strings.TrimLeftFunc(s, IsSpace) }

// TrimRight returns s without white space at its end.
func TrimRight(s string) string { return strings.TrimRightFunc(s, IsSpace) }

// Width returns the number of columns of a text that begins in column 0. A tab advances to the next multiple of four.
func Width(text string) int {
	const tab = 4
	column := 0
	for _, r := range text {
		if r == '\t' {
			column += tab - column%tab
		} else {
			column++
		}
	}
	return column
}

// Indent returns the spaces and tabs with which a line begins.
func Indent(line string) string { return line[:len(line)-len(strings.TrimLeft(line, " \t"))] }

// Collapse returns s without surrounding white space, and with each run of white space inside replaced by one space.
func Collapse(s string) string { return strings.Join(strings.FieldsFunc(s, IsSpace), " ") }

// Length returns the length of s in UTF-16 code units, which the limits of the format count.
func Length(s string) int {
	units := 0
	for _, r := range s {
		units += utf16.RuneLen(r) // r is never a surrogate, because range yields U+FFFD for invalid UTF-8
	}
	return units
}
