// Package jsontext reads JSON values in one pass. Start with New. Each of the reading methods of Reader reads one
// value, and End returns an error unless all of the text was valid.
//
// The plugin uses jsontext instead of encoding/json for two reasons. Errors of jsontext name a line and a column, which
// clients understand, while errors of encoding/json name Go types. And encoding/json scans its input several times
// through a state machine, which took most of the time when a module imported megabytes.
package jsontext

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// maxDepth limits how deeply values may be nested.
const maxDepth = 1000

// Reader reads JSON values from a text. After the first error, all methods of Reader return zero values and call no
// callback.
type Reader struct {
	text  string
	at    int
	depth int
	err   error
}

// New returns a Reader of text. New replaces bytes that are not valid UTF-8 by U+FFFD.
func New(text string) *Reader {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	return &Reader{text: text}
}

// Err returns the first error of the Reader; nil if no error has occurred.
func (r *Reader) Err() error { return r.err }

// Fail sets the error of the Reader, unless the Reader already has an error.
func (r *Reader) Fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// Where returns the position of the next value, such as "line 1, column 1". A column is counted in code points.
func (r *Reader) Where() string {
	r.space()
	before := r.text[:r.at]
	line := before[strings.LastIndexByte(before, '\n')+1:]
	return fmt.Sprintf("line %d, column %d", strings.Count(before, "\n")+1, utf8.RuneCountInString(line)+1)
}

// syntax sets an error that says what is invalid in the JSON at the current position.
func (r *Reader) syntax(what string) {
	if r.err != nil {
		return
	}
	if r.at >= len(r.text) {
		what = "unexpected end of text: " + what
	}
	r.err = fmt.Errorf("%s: %s", r.Where(), what)
}

func (r *Reader) space() {
	for r.at < len(r.text) {
		switch r.text[r.at] {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return
		}
	}
}

// next skips white space, and then skips the next byte if that byte is b. It reports whether it has skipped b.
func (r *Reader) next(b byte) bool {
	r.space()
	if r.err != nil || r.at >= len(r.text) || r.text[r.at] != b {
		return false
	}
	r.at++
	return true
}

// Kind returns the kind of the next value: "an object", "an array", "a string", "a number", "a boolean" or "null". If
// the text ends before a value, Kind sets the error of the Reader. After an error, Kind returns "".
func (r *Reader) Kind() string {
	r.space()
	if r.err == nil && r.at < len(r.text) {
		switch c := r.text[r.at]; c {
		case '{':
			return "an object"
		case '[':
			return "an array"
		case '"':
			return "a string"
		case 't', 'f':
			return "a boolean"
		case 'n':
			return "null"
		default:
			if c == '-' || '0' <= c && c <= '9' {
				return "a number"
			}
		}
	}
	r.syntax("a value is missing")
	return ""
}

// Object reads an object, which must be the next value. It calls member with each key, and member must read the value
// of that key.
func (r *Reader) Object(member func(key string)) {
	r.list('{', '}', func(int) {
		r.space()
		if r.at >= len(r.text) || r.text[r.at] != '"' {
			r.syntax("the name of a member in double quotes is missing")
			return
		}
		key := r.Text()
		if !r.next(':') {
			r.syntax("a colon is missing after the name of a member")
			return
		}
		member(key)
	})
}

// Array reads an array, which must be the next value. It calls item with the index of each item, and item must read
// that item.
func (r *Reader) Array(item func(i int)) { r.list('[', ']', item) }

func (r *Reader) list(first, last byte, one func(i int)) {
	if !r.next(first) {
		r.syntax(fmt.Sprintf("'%c' is missing", first))
		return
	}
	if r.depth++; r.depth > maxDepth {
		r.syntax(fmt.Sprintf("values are nested more than %d levels deep", maxDepth))
	}
	if !r.next(last) {
		for i := 0; r.err == nil; i++ {
			if one(i); r.next(last) {
				break
			}
			if !r.next(',') {
				r.syntax(fmt.Sprintf("a comma or '%c' is missing", last))
			}
		}
	}
	r.depth--
}

// Text reads a string, which must be the next value.
func (r *Reader) Text() string {
	if !r.next('"') {
		r.syntax("a string is missing")
		return ""
	}
	begin := r.at
	end, escaped := r.stringEnd()
	if end < 0 {
		return ""
	}
	r.at = end + 1
	if !escaped {
		return r.text[begin:end]
	}
	text, ok := rawjson.Unquote([]byte(r.text[begin-1 : r.at]))
	if !ok {
		r.at = begin + invalidEscape(r.text[begin:end])
		r.syntax("a string contains an invalid escape sequence")
	}
	return text
}

// special is the set of bytes that end a run of plain characters in a JSON string: quotation mark, backslash and
// control characters.
var special = func() (is [256]bool) {
	for c := range ' ' {
		is[c] = true
	}
	is['"'], is['\\'] = true, true
	return is
}()

// stringEnd returns the index of the quotation mark that ends the string at the current position; -1 if the string does
// not end. It also reports whether the string has escapes.
func (r *Reader) stringEnd() (end int, escaped bool) {
	text := r.text
	for i := r.at; i < len(text); i++ {
		if !special[text[i]] {
			continue
		}
		switch text[i] {
		case '"':
			return i, escaped
		case '\\':
			escaped = true
			i++
		default:
			r.at = i
			r.syntax(fmt.Sprintf("a string contains the control character U+%04X, which must be escaped as \\u%04x", text[i], text[i]))
			return -1, false
		}
	}
	r.at = len(text)
	r.syntax("a string is not terminated")
	return -1, false
}

// invalidEscape returns the index of the first invalid escape in text, the content of a JSON string.
func invalidEscape(text string) int {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		size := 2
		if strings.HasPrefix(text[i:], `\u`) {
			size = 6
		}
		if !rawjson.Valid([]byte(`"` + text[i:min(i+size, len(text))] + `"`)) {
			return i
		}
		i += size - 1
	}
	return 0
}

// Literal reads a number, a boolean or null, and returns the JSON text of that value.
func (r *Reader) Literal() string {
	r.space()
	rest := r.text[r.at:]
	end := strings.IndexAny(rest, " \t\n\r,]}:\"[{")
	if end < 0 {
		end = len(rest)
	}
	text := rest[:end]
	if !rawjson.Valid([]byte(text)) {
		r.syntax("a value is missing")
	}
	if r.err != nil {
		return ""
	}
	r.at += end
	return text
}

// Skip reads a value of any kind and discards it.
func (r *Reader) Skip() {
	switch r.Kind() {
	case "an object":
		r.Object(func(string) { r.Skip() })
	case "an array":
		r.Array(func(int) { r.Skip() })
	case "a string":
		r.Text()
	case "":
	default:
		r.Literal()
	}
}

// End returns the first error of the Reader. If more text follows the last value, End sets an error.
func (r *Reader) End() error {
	r.space()
	if r.err == nil && r.at < len(r.text) {
		r.syntax("unexpected text after the value")
	}
	return r.err
}
