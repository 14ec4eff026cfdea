package approval

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Bounds of what is shown. A user cannot judge more, and clients show it in a dialog.
const (
	MaxShown   = 16 << 10 // bytes of the rendered parameters
	MaxNesting = 16
	maxValues  = 4000
)

// Each line has at most this many columns, so that clients need not wrap it: a wrapped line would have no mark.
const maxColumns = 76

// The beginnings of lines. In Markdown, four spaces begin a code block, in which nothing is interpreted.
const (
	markLine     = "    | "
	markContinue = "    + "
)

// Isolates of the Unicode bidirectional algorithm. A string with letters that are written from right to left is isolated, so that it does
// not reorder what surrounds it.
const (
	isolate    = "\u2068"
	endIsolate = "\u2069"
)

// render returns the lines that show a JSON value. Different values have different lines, except for the encoding of strings: characters
// are shown as such if a person can see them, else by their escapes.
func render(value []byte) ([]byte, error) {
	if err := check(value); err != nil {
		return nil, err
	}
	r := &renderer{}
	r.begin(0)
	r.value(value, 0)
	r.out = append(r.out, '\n')
	switch {
	case r.err != nil:
		return nil, r.err
	case r.tooLarge():
		return nil, fmt.Errorf("they take more than %d bytes", MaxShown)
	}
	return r.out, nil
}

// check returns why a value cannot be shown.
func check(value []byte) error {
	if len(value) > MaxShown {
		return fmt.Errorf("they have %d bytes, and at most %d can be shown", len(value), MaxShown)
	}
	if err := rawjson.Bound(value, maxValues, MaxNesting); err != nil {
		return err
	}
	if !utf8.Valid(value) {
		return errors.New("they are not UTF-8")
	}
	paired := bytes.Clone(value)
	if rawjson.ReplaceUnpaired(paired); !bytes.Equal(paired, value) {
		return errors.New("a string in them has half of a surrogate pair, which decoders read in different ways")
	}
	return nil
}

type renderer struct {
	out    []byte
	column int
	err    error
}

func (r *renderer) tooLarge() bool { return len(r.out) > MaxShown }

// begin begins the line of an element.
func (r *renderer) begin(depth int) {
	r.out = append(append(r.out, markLine...), strings.Repeat("  ", depth)...)
	r.column = len(markLine) + 2*depth
}

// put appends a part that is not split.
func (r *renderer) put(part string) {
	width := width(part)
	if r.column+width > maxColumns {
		r.continueLine()
	}
	r.out = append(r.out, part...)
	r.column += width
}

func (r *renderer) continueLine() {
	r.out = append(append(r.out, '\n'), markContinue...)
	r.column = len(markContinue)
}

// width returns at least the number of columns that text takes: clients show many characters outside of ASCII in two.
func width(text string) (columns int) {
	for _, c := range text {
		if columns++; c >= 0x300 {
			columns++
		}
	}
	return columns
}

// value appends a value whose line begins at depth.
func (r *renderer) value(value []byte, depth int) {
	if r.tooLarge() || r.err != nil {
		return
	}
	switch value = bytes.TrimSpace(value); rawjson.Kind(value) {
	case '{':
		r.object(value, depth)
	case '[':
		r.put("[")
		some := false
		for _, element := range rawjson.Elements(value) {
			r.next(&some, depth+1)
			r.value(element, depth+1)
		}
		r.end(some, "]", depth)
	case '"':
		text, _ := rawjson.Unquote(value)
		r.text(text)
	default:
		for _, c := range value { // a number can be long
			r.put(string(rune(c)))
		}
	}
}

func (r *renderer) object(object []byte, depth int) {
	r.put("{")
	some, keys := false, map[string]string{}
	for key, member := range rawjson.Members(object) {
		folded := strings.ToLower(strings.ToUpper(key))
		if first, duplicate := keys[folded]; duplicate {
			r.err = fmt.Errorf("the members %s and %s of one object are the same for some decoders", visible.QuoteBounded(first, visible.MaxName), visible.QuoteBounded(key, visible.MaxName))
			return
		}
		keys[folded] = key
		r.next(&some, depth+1)
		r.text(key)
		r.put(": ")
		r.value(member, depth+1)
	}
	r.end(some, "}", depth)
}

// next begins the next element of an object or array.
func (r *renderer) next(some *bool, depth int) {
	if *some {
		r.put(",")
	}
	*some = true
	r.out = append(r.out, '\n')
	r.begin(depth)
}

// end ends an object or array, on a line of its own if it has elements.
func (r *renderer) end(some bool, bracket string, depth int) {
	if some {
		r.out = append(r.out, '\n')
		r.begin(depth)
	}
	r.put(bracket)
}

// text appends a string in quotes.
func (r *renderer) text(text string) {
	isolated := strings.ContainsFunc(text, isRightToLeft)
	around := func(mark string) {
		if isolated {
			r.out = append(r.out, mark...)
		}
	}
	r.put(`"`)
	around(isolate)
	var marks marks
	for i, c := range text {
		if r.tooLarge() {
			return
		}
		part := marks.escape(c)
		if r.column+width(part) > maxColumns {
			around(endIsolate)
			r.continueLine()
			around(isolate)
		}
		r.put(part)
		if c == '\n' && i+1 < len(text) {
			around(endIsolate)
			r.continueLine()
			around(isolate)
		}
	}
	around(endIsolate)
	r.put(`"`)
}

// marks counts the combining marks since the last letter.
type marks int

// maxMarks is the number of combining marks that a letter may have: more would be drawn over other lines.
const maxMarks = 3

// escape returns what shows a character: itself, or the escape of JSON if it is invisible, a quote or a backslash, or if it could be taken
// for HTML, or is a mark that combines with no letter.
func (m *marks) escape(c rune) string {
	const short = "\"\"\\\\\nn\rr\tt"
	isMark := unicode.In(c, unicode.Mn, unicode.Me)
	switch {
	case isMark && *m > 0 && *m <= maxMarks:
		*m++
	case unicode.IsLetter(c) || unicode.Is(unicode.Mc, c):
		*m = 1
	default:
		*m = 0
	}
	if i := strings.IndexRune(short, c); i >= 0 && i%2 == 0 {
		return `\` + short[i+1:i+2]
	}
	if visible.Rune(c) && c != '<' && c != '&' && (!isMark || *m > 0) {
		return string(c)
	}
	if high, low := utf16.EncodeRune(c); high != unicode.ReplacementChar {
		return fmt.Sprintf(`\u%04x\u%04x`, high, low)
	}
	return fmt.Sprintf(`\u%04x`, c)
}

// rightToLeft are the ranges of characters whose default direction is from right to left.
var rightToLeft = [][2]rune{{0x590, 0x8ff}, {0xfb1d, 0xfdff}, {0xfe70, 0xfeff}, {0x10800, 0x10fff}, {0x1e800, 0x1efff}}

func isRightToLeft(c rune) bool {
	return slices.ContainsFunc(rightToLeft, func(within [2]rune) bool { return within[0] <= c && c <= within[1] })
}
