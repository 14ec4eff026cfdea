package yaml11

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// lineWidth is the column after which a writer breaks a long scalar at the next space.
const lineWidth = 80

// traits are the properties of a string that determine in which styles it can be written.
type traits struct {
	plain     bool // the string can be written without quotes outside of brackets
	flowPlain bool // the string can be written without quotes between brackets
	single    bool // the string can be written in single quotes
	lines     bool // the string contains line breaks
	invalid   bool // the string is not valid UTF-8
}

// simpleBytes is the set of ASCII characters that have no special meaning at any position of a plain scalar.
var simpleBytes = func() (set [256]bool) {
	for c := range set {
		set[c] = 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("_./+()$;<^~", byte(c)) >= 0
	}
	return set
}()

func traitsOf(text string) traits {
	t := traits{plain: true, flowPlain: true, single: true}
	if kind := plainKind(text); kind != Text || text == "=" || text == "<<" {
		t.plain, t.flowPlain = false, false
	}
	if strings.HasPrefix(text, "---") || strings.HasPrefix(text, "...") {
		t.plain, t.flowPlain = false, false
	}
	before := byte(' ')
	for at := 0; at < len(text); {
		c := text[at]
		if simpleBytes[c] {
			before = c
			at++
			continue
		}
		size := 1
		first, last := at == 0, at+1 == len(text)
		switch {
		case c == ' ':
			if first || last {
				t.plain, t.flowPlain = false, false
			}
			if before == '\n' {
				t.single = false
			}
		case c == '\n':
			t.lines, t.plain, t.flowPlain = true, false, false
			if before == ' ' && !first {
				t.single = false
			}
		case c >= utf8.RuneSelf:
			var r rune
			r, size = utf8.DecodeRuneInString(text[at:])
			t.single = t.single && isPrintable(r)
			t.invalid = t.invalid || r == utf8.RuneError && size == 1
		case c < ' ' || c == 0x7f:
			t.single = false
		case c == '-' || c == '?' || c == ':':
			blankNext := last || text[at+1] == ' '
			if blankNext && (first || c == ':') {
				t.plain = false
			}
			if first && blankNext || c != '-' {
				t.flowPlain = false
			}
		case c == '#':
			if before == ' ' {
				t.plain, t.flowPlain = false, false
			}
		case strings.IndexByte(",[]{}", c) >= 0:
			t.flowPlain = false
			t.plain = t.plain && !first
		case first && strings.IndexByte("&*!|>'\"%@`", c) >= 0:
			t.plain, t.flowPlain = false, false
		}
		before = c
		at += size
	}
	t.plain, t.flowPlain = t.plain && t.single, t.flowPlain && t.single
	return t
}

// isPrintable reports whether a writer writes a code point outside of ASCII without an escape. It escapes all line
// breaks except for
// .
func isPrintable(r rune) bool {
	switch {
	case r == 0x2028, r == 0x2029, r == 0xfeff:
		return false
	case r < 0x10000:
		return 0xa0 <= r && r <= 0xfffd
	}
	return r < 0x10ffff
}

func isSimpleKey(key string) bool {
	return key != "" && utf8.RuneCountInString(key) <= maxSimpleKey && strings.IndexByte(key, '\n') < 0
}

// scalar writes a string outside of brackets. Lines after the first have the indentation indent. If indent is 0, scalar
// writes the string on one line.
func (w *writer) scalar(text string, indent int) {
	t := traitsOf(text)
	switch {
	case t.invalid:
		w.scalar(strings.ToValidUTF8(text, "\ufffd"), indent)
	case t.plain:
		w.folded(text, indent, false)
	case t.single:
		w.folded(text, indent, true)
	default:
		w.escaped(text, indent)
	}
}

// flowScalar writes a string on one line, in a style that is valid between brackets.
func (w *writer) flowScalar(text string) {
	t := traitsOf(text)
	switch {
	case t.invalid:
		w.flowScalar(strings.ToValidUTF8(text, "\ufffd"))
	case t.flowPlain:
		w.write(text)
	case t.single && !t.lines:
		w.folded(text, 0, true)
	default:
		w.escaped(text, 0)
	}
}

// folded writes a string without quotes or in single quotes. It breaks a line that is too long at the next single
// space.
func (w *writer) folded(text string, indent int, quoted bool) {
	if !quoted && (indent == 0 || len(w.out)-w.line+len(text) <= lineWidth) {
		w.write(text)
		return
	}
	if quoted {
		w.write("'")
	}
	for at := 0; at < len(text); {
		end := at + runLength(text[at:])
		part := text[at:end]
		switch {
		case part == " " && at > 0 && end < len(text) && indent > 0 && w.isLong():
			w.newline(indent)
		case part[0] == '\n':
			w.out = append(w.out, part...)
			w.newline(indent)
		case quoted:
			w.write(strings.ReplaceAll(part, "'", "''"))
		default:
			w.write(part)
		}
		at = end
	}
	if quoted {
		w.write("'")
	}
}

// runLength returns the length of the run at the start of text. A run consists of spaces, of line breaks, or of other
// characters.
func runLength(text string) int {
	class := func(c byte) byte {
		if c == ' ' || c == '\n' {
			return c
		}
		return 0
	}
	end := 1
	for end < len(text) && class(text[end]) == class(text[0]) {
		end++
	}
	return end
}

// escapes maps code points to the letters of their escape sequences in double quotes.
var escapes = map[rune]byte{0: '0', 7: 'a', 8: 'b', '\t': 't', '\n': 'n', 0xb: 'v', 0xc: 'f', '\r': 'r', 0x1b: 'e',
	'"': '"', '\\': '\\', 0x85: 'N', 0x2028: 'L', 0x2029: 'P'}

// escaped writes a string in double quotes. It breaks a line that is too long by a backslash at the next space or
// escape.
func (w *writer) escaped(text string, indent int) {
	w.write(`"`)
	for at, r := range text {
		next := at + utf8.RuneLen(r)
		inside := indent > 0 && at > 0 && next < len(text)
		switch {
		case r == ' ' && inside && w.isLong():
			w.write(`\`)
			w.newline(indent)
			w.write(`\ `)
			continue
		case escapes[r] != 0:
			w.write(`\` + string(escapes[r]))
		case r < ' ' || 0x7f <= r && r < 0xa0:
			w.write(fmt.Sprintf(`\x%02X`, r))
		case r < utf8.RuneSelf || isPrintable(r):
			w.write(string(r))
			continue
		case r < 0x10000:
			w.write(fmt.Sprintf(`\u%04X`, r))
		default:
			w.write(fmt.Sprintf(`\U%08X`, r))
		}
		if inside && w.isLong() {
			w.write(`\`)
			w.newline(indent)
			if text[next] == ' ' {
				w.write(`\`)
			}
		}
	}
	w.write(`"`)
}
