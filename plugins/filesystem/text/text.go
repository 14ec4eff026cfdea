// Package text has the rules of JavaScript for strings, which decide what clients of this plugin see: how bytes become text, what white space
// is, how long a string is, how names are sorted, and how numbers and times are formatted.
package text

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/collate"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/language"
)

// Decode decodes UTF-8 as the WHATWG Encoding Standard does: U+FFFD replaces each longest beginning of a valid sequence. Go replaces each byte.
func Decode(raw []byte) string {
	if !utf8.Valid(raw) {
		raw, _ = unicode.UTF8.NewDecoder().Bytes(raw) // the decoder replaces what is invalid, and does not fail
	}
	return string(raw)
}

// Normalize replaces line breaks of Windows.
func Normalize(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// IsSpace reports whether JavaScript trims r.
func IsSpace(r rune) bool {
	return r >= '\t' && r <= '\r' || r >= '\u2000' && r <= '\u200a' || strings.ContainsRune(" \u00a0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff", r)
}

// PadEnd appends spaces until s has n UTF-16 units.
func PadEnd(s string, n int) string {
	for _, r := range s {
		if n--; r > 0xFFFF {
			n--
		}
	}
	return s + strings.Repeat(" ", max(n, 0))
}

// NewCollation returns a function that compares strings as localeCompare does. It must not be used concurrently.
func NewCollation() func(a, b string) int { return collate.New(language.Und).CompareString }

// Size formats a number of bytes, with two decimals from 1,024 on.
func Size(bytes int64) string {
	if bytes < 1024 {
		return fmt.Sprintf("%d B", max(bytes, 0))
	}
	unit, shift := -1, uint(0)
	for ; bytes>>shift >= 1024 && unit < 3; shift += 10 {
		unit++
	}
	// toFixed rounds half up. The quotient and the remainder are separate, so that nothing overflows.
	whole, rest := bytes>>shift, bytes&(1<<shift-1)
	hundredths := (rest*200 + 1<<shift) >> (shift + 1)
	return fmt.Sprintf("%d.%02d %cB", whole+hundredths/100, hundredths%100, "KMGT"[unit])
}

// Time formats a time as Date.prototype.toString does. Zones other than UTC have their abbreviation in place of their name.
func Time(t time.Time) string {
	name, _ := t.Zone()
	if name == "UTC" {
		name = "Coordinated Universal Time"
	}
	return t.Format("Mon Jan 02 2006 15:04:05 GMT-0700") + " (" + name + ")"
}

// Quote formats a string as JSON.stringify does.
func Quote(s string) string {
	b := []byte{'"'}
	for _, r := range s {
		switch at := strings.IndexRune("\b\t\n\f\r\"\\", r); {
		case at >= 0:
			b = append(b, '\\', `btnfr"\`[at])
		case r < ' ':
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return string(append(b, '"'))
}
