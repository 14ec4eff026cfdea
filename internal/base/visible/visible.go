// Package visible classifies code points by whether a person sees them, and replaces invisible ones in untrusted text that is
// displayed: a review, a log, a terminal. Invisible code points could hide text from a person that a model reads, control a
// terminal, or make different strings look the same. Text, Prose and Bounded sanitize; Only validates.
package visible

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// replacement replaces an invisible code point.
const replacement = '·'

// firstSpecial is the first code point for which unicode.IsPrint is not sufficient, the first combining mark.
const firstSpecial = 0x300

// blanks are printable code points with an empty glyph that no Unicode property identifies: braille pattern blank, Khitan
// small script filler, Egyptian full and half blank, musical null notehead.
var blanks = [...]rune{0x2800, 0x16fe4, 0x13441, 0x13442, 0x1d159}

// Rune reports whether r is visible. These code points are invisible: control and format characters, separators and spaces other
// than U+0020, surrogates, private use, unassigned code points and noncharacters, variation selectors, and other default
// ignorable code points.
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

// Text replaces every invisible code point and every invalid UTF-8 byte, except line feeds and tabs.
func Text(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || Rune(r):
			return r
		}
		return replacement
	}, text)
}

// Prose replaces the invisible code points that could control a terminal, change the order of text or hide text: control and format
// characters except line endings and tabs, line separators, variation selectors and default ignorable code points. Unlike Text it keeps
// spaces of all scripts, and the selectors and joiners of emoji. It is for data that a person reads, such as the result of a tool.
func Prose(text string) string {
	var out strings.Builder
	out.Grow(len(text))
	before := rune(0) // the code point before r in the result
	for i, r := range text {
		isLineEnding := r == '\n' || strings.HasPrefix(text[i:], "\r\n")
		if hides(r) && r != '\t' && !isLineEnding && !isPartOfEmoji(r, before) {
			r = replacement
		}
		out.WriteRune(r)
		before = r
	}
	return out.String()
}

const (
	emojiSelector = 0xfe0f
	emojiJoiner   = 0x200d
	// notSymbols are the code points with an emoji presentation that are not symbols, in the terms of Unicode.
	notSymbols = "#*0123456789‼⁉ℹ〰〽"
)

// isPartOfEmoji reports whether r is a selector or joiner that follows a code point of an emoji: one selector, and one joiner. So a run
// of them cannot encode hidden text.
func isPartOfEmoji(r, before rune) bool {
	switch r {
	case emojiSelector:
		return unicode.In(before, unicode.So, unicode.Sk, unicode.Sm) || strings.ContainsRune(notSymbols, before)
	case emojiJoiner:
		return unicode.In(before, unicode.So, unicode.Sk) || before == emojiSelector
	}
	return false
}

// hides reports whether r is neither shown nor takes any room.
func hides(r rune) bool {
	return r >= 0x7f && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) &&
		!unicode.Is(unicode.Prepended_Concatenation_Mark, r) || r < ' '
}

// Line returns untrusted text for one line of a terminal or log, with Text. White space that separates words or lines is one space. Any other
// is replaced as invisible, so that paths that differ only in it look different.
func Line(text string) string {
	return Text(strings.Join(strings.FieldsFunc(text, isBreakingSpace), " "))
}

// isBreakingSpace reports whether r separates words or lines and may be shown as a space.
func isBreakingSpace(r rune) bool {
	switch r {
	case ' ', '\t', '\n', '\v', '\f', '\r', '\u0085', '\u2028', '\u2029':
		return true
	}
	return false
}

// Bounded truncates text to limit bytes, appends … if text was longer, and applies Text.
func Bounded(text string, limit int) string {
	if len(text) > limit {
		text = text[:limit] + "…"
	}
	return Text(text)
}

// Truncate truncates text to limit bytes, at a code point, and appends … if text was longer. It does not apply Text.
func Truncate(text string, limit int) string {
	if len(text) > limit {
		return strings.ToValidUTF8(text[:limit], "") + "…"
	}
	return text
}

// Only reports whether text is valid UTF-8 and consists of visible code points, as an identifier must.
func Only(text string) bool {
	return utf8.ValidString(text) && strings.IndexFunc(text, func(r rune) bool { return !Rune(r) }) < 0
}

// Quote quotes text, with Go's escapes for invisible code points.
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

// QuoteBounded quotes at most limit bytes of text, and appends … if text was longer.
func QuoteBounded(text string, limit int) string {
	if len(text) > limit {
		return Quote(strings.ToValidUTF8(text[:limit], "")) + "…"
	}
	return Quote(text)
}

// MaxName is the number of bytes to which Name truncates.
const MaxName = 128

// Name makes an untrusted name safe for a message: it truncates the name, and quotes it unless it is an identifier.
func Name(s string) string {
	if len(s) > MaxName {
		return QuoteBounded(s, MaxName)
	}
	plain := func(r rune) bool {
		return r == '_' || r == '-' || r == '/' || r == '.' || (unicode.IsLetter(r) || unicode.IsDigit(r)) && Rune(r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return Quote(s)
}
