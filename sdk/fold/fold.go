// Package fold converts strings to lower case for comparisons, with Lower. It uses the full case mapping of Unicode, which can change the
// number of characters, and the rule of Unicode for a sigma at the end of a word, as toLowerCase of JavaScript and to_lowercase of Rust do.
// strings.ToLower has neither. The package does not fold ß and ss, which differ in lower case too.
//
// Stability: additions only within a major version.
package fold

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	capitalSigma = 'Σ'
	dottedI      = 'İ' // the only character whose lower case has two characters
)

// Lower returns text in lower case, as Unicode 17 defines it.
func Lower(text string) string {
	if isASCII(text) {
		return strings.ToLower(text)
	}
	var out strings.Builder
	out.Grow(len(text))
	for at, r := range text {
		switch r {
		case capitalSigma:
			out.WriteRune(lowerSigma(text, at))
		case dottedI:
			out.WriteString("i\u0307")
		default:
			out.WriteRune(lower(r))
		}
	}
	return out.String()
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func lower(r rune) rune {
	if folded := unicode.ToLower(r); folded != r || r < utf8.RuneSelf {
		return folded
	}
	for _, pairs := range laterPairs {
		if pairs.first <= r && r <= pairs.last {
			return r + pairs.delta
		}
	}
	return r
}

// lowerSigma returns the lower case of the capital sigma at the index "at". This is the final form of sigma if a cased
// letter precedes the sigma and no cased letter follows. To find these letters, lowerSigma skips case-ignorable
// characters, such as accents and apostrophes.
func lowerSigma(text string, at int) rune {
	before := strings.TrimRightFunc(text[:at], isIgnorable)
	after := strings.TrimLeftFunc(text[at+len("Σ"):], isIgnorable)
	last, _ := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(after)
	if before != "" && isCased(last) && (after == "" || !isCased(next)) {
		return 'ς'
	}
	return 'σ'
}

// isCased reports whether a character has Unicode's property Cased.
func isCased(r rune) bool {
	if r == 'ʕ' { // Unicode 16 and 17 treat ʕ as a letter without case
		return false
	}
	return unicode.In(r, unicode.Ll, unicode.Lu, unicode.Lt, unicode.Other_Lowercase, unicode.Other_Uppercase, laterCased)
}

// isIgnorable reports whether a character has Unicode's property Case_Ignorable: marks, modifiers, format characters,
// and punctuation that can occur within a word.
func isIgnorable(r rune) bool {
	switch r {
	case '\'', '.', ':', '·', '\u0387', '\u055f', '\u05f4', '‘', '’', '\u2024', '\u2027',
		'\ufe13', '\ufe52', '\ufe55', '\uff07', '\uff0e', '\uff1a':
		return true
	case '\U0001171e': // this character is a nonspacing mark only in versions before Unicode 16
		return false
	}
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk, laterIgnorable)
}
