// Package visible tells which code points a person sees, and replaces the others in untrusted text that a
// person judges: a review, a log, a terminal. What is not visible could hide text from the person that a
// model reads, move a terminal's cursor, or make two different texts look the same.
package visible

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Replacement stands for a code point that is not visible.
const Replacement = '·'

// firstSpecial is the first code point for which unicode.IsPrint is not the whole answer: combining marks
// begin there.
const firstSpecial = 0x300

// blanks are the code points that have a glyph without ink and no property that says so: braille pattern
// blank, Khitan small script filler, Egyptian full and half blank, musical null notehead.
var blanks = [...]rune{0x2800, 0x16fe4, 0x13441, 0x13442, 0x1d159}

// Rune tells whether r is seen as itself. These are not: control and format characters, separators and
// spaces other than U+0020, surrogates, private use, unassigned code points and noncharacters, variation
// selectors, and whatever else Unicode lets a renderer ignore.
func Rune(r rune) bool {
	switch {
	case !unicode.IsPrint(r):
		return false
	case r < firstSpecial:
		return true
	case unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
		return false
	}
	for _, blank := range blanks {
		if r == blank {
			return false
		}
	}
	return true
}

// Text is text in which every code point that is not visible, and every byte that is not UTF-8, is
// replaced. Line feeds and tabs stay.
func Text(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || Rune(r):
			return r
		}
		return Replacement
	}, text)
}

// Bounded is at most limit bytes of text, followed by … if that is not all of it, as Text shows them.
func Bounded(text string, limit int) string {
	if len(text) > limit {
		text = text[:limit] + "…"
	}
	return Text(text)
}

// Only tells whether all of text is UTF-8 and visible, as an identifier has to be.
func Only(text string) bool {
	return utf8.ValidString(text) && strings.IndexFunc(text, func(r rune) bool { return !Rune(r) }) < 0
}

// Quote is text in quotes with Go's escapes for whatever is not visible.
func Quote(text string) string {
	quoted := strconv.Quote(text)
	if Only(quoted) {
		return quoted
	}
	var b strings.Builder
	for _, r := range quoted {
		switch {
		case Rune(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
