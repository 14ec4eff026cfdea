// Package jsontext reads JSON values in one pass. Start with New; the methods of Reader each read one value, and End
// returns an error unless all of the text was valid.
//
// The plugin uses jsontext instead of encoding/json for two reasons. Errors of jsontext name a line and a column, which
// clients understand; those of encoding/json name Go types. And encoding/json scans its input several times through a
// state machine, which took most of the time of importing megabytes in a module.
package jsontext

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// maxDepth bounds the nesting of values.
const maxDepth = 1000

// Reader reads JSON values from a text. After the first error, all methods return zero values and call no callback.
type Reader struct {
	text  string
	at    int
	depth int
	err   error
}

// New returns a Reader of text. Bytes that are not valid UTF-8 become U+FFFD.
func New(text string) *Reader {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	return &Reader{text: text}
}

// Err returns the first error.
func (r *Reader) Err() error { return r.err }

// Fail sets the error of the Reader, unless an earlier error is set.
func (r *Reader) Fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// Where returns the position of the next value, such as "line 1, column 1". Columns count code points.
func (r *Reader) Where() string {
	r.space()
	before := r.text[:r.at]
	line := before[strings.LastIndexByte(before, '\n')+1:]
	return fmt.Sprintf("line %d, column %d", strings.Count(before, "\n")+1, utf8.RuneCountInString(line)+1)
}

// syntax sets the error of invalid JSON at the current position.
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

// next skips white space, and reads b if b is the next byte. It reports whether it has read b.
func (r *Reader) next(b byte) bool {
	r.space()
	if r.err != nil || r.at >= len(r.text) || r.text[r.at] != b {
		return false
	}
	r.at++
	return true
}

// Kind returns the kind of the next value: "an object", "an array", "a string", "a number", "a boolean" or "null". If
// no value follows, Kind sets the error. It returns "" after an error.
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

// Object reads an object. It calls member for each member, and member must read the value. The next value must be an
// object.
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

// Array reads an array. It calls item for each item, and item must read the item. The next value must be an array.
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

// Text reads a string. The next value must be a string.
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

// special is the set of bytes that end a run of plain characters in a string: quotation mark, backslash, control
// characters.
var special = func() (is [256]bool) {
	for c := range ' ' {
		is[c] = true
	}
	is['"'], is['\\'] = true, true
	return is
}()

// stringEnd finds the quotation mark that ends the string at the current position; -1 if there is none.
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

// invalidEscape returns the index of the first invalid escape in the content of a string.
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

// Literal reads a number, boolean or null, and returns its text.
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

// Skip reads a value of any kind.
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

// End returns the first error. If text follows the last value, End sets an error.
func (r *Reader) End() error {
	r.space()
	if r.err == nil && r.at < len(r.text) {
		r.syntax("unexpected text after the value")
	}
	return r.err
}
