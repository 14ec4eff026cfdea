// Package jsonfile reads and edits JSON files written by people, with comments and trailing commas. Decode returns the values of a
// file; Set and Remove change one member and preserve all other bytes. Files are untrusted: size and nesting are bounded, and
// errors quote nothing of the file but names of members.
package jsonfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// Limits of a file.
const (
	MaxSize    = 32 << 20 // bytes; some clients store their history in the same file as their configuration
	maxNesting = 500      // bounds the recursion of the parser
)

// Error is a problem at a line of a file.
type Error struct {
	Line int // number of the line; the first line is 1
	What string
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.What) }

// Decode returns the members of the object in data. An empty file, or one of white space only, has no members.
func Decode(data []byte) (map[string]any, error) {
	if Blank(data) {
		return map[string]any{}, nil
	}
	d, err := parse(data)
	if err != nil {
		return nil, err
	}
	return d.decode()
}

// Blank reports whether data contains nothing but white space.
func Blank(data []byte) bool { return len(bytes.TrimSpace(bytes.TrimPrefix(data, byteOrderMark))) == 0 }

var byteOrderMark = []byte("\ufeff")

// document is a parsed file. The offsets in root are indexes of data.
type document struct {
	data []byte // content without the byte order mark
	mark []byte // the byte order mark, if any
	root hujson.Value
}

func parse(data []byte) (*document, error) {
	d := &document{}
	if len(data) > MaxSize {
		return nil, &Error{1, fmt.Sprintf("the file is larger than the limit of %d MiB", MaxSize>>20)}
	}
	if bytes.HasPrefix(data, byteOrderMark) {
		d.mark, data = byteOrderMark, data[len(byteOrderMark):]
	}
	d.data = data
	if !utf8.Valid(data) {
		return nil, &Error{1, "the file is not UTF-8"}
	}
	if at := tooDeep(data); at >= 0 {
		return nil, &Error{lineOf(data, at), fmt.Sprintf("is nested more than %d deep", maxNesting)}
	}
	// The parser requires a line feed after a comment, even at the end of the file.
	root, err := hujson.Parse(append(bytes.Clone(data), '\n'))
	if err != nil {
		return nil, syntaxError(err)
	}
	if _, ok := root.Value.(*hujson.Object); !ok {
		return nil, &Error{lineOf(data, root.StartOffset), "is not a JSON object"}
	}
	d.root = root
	return d, nil
}

// syntaxError converts an error of the parser, without the literal that it may quote, which may be a secret.
func syntaxError(err error) error {
	var line, column int
	text := err.Error()
	if _, serr := fmt.Sscanf(text, "hujson: line %d, column %d:", &line, &column); serr != nil {
		return errors.New("is not JSON")
	}
	_, text, _ = strings.Cut(text, fmt.Sprintf("column %d: ", column))
	if what, _, quotes := strings.Cut(text, "invalid literal:"); quotes {
		text = what + "invalid literal"
	}
	return &Error{line, "is not JSON: " + text}
}

func (d *document) decode() (map[string]any, error) {
	standard := d.root.Clone()
	standard.Standardize()
	decoder := json.NewDecoder(bytes.NewReader(standard.Pack()))
	decoder.UseNumber()
	var values map[string]any
	if err := decoder.Decode(&values); err != nil {
		return nil, &Error{1, "is not JSON: " + err.Error()}
	}
	return values, nil
}

// find returns the index of a member of an object, -1 if it is absent. A duplicate is an error, since readers disagree on
// which one counts.
func (d *document) find(object *hujson.Object, name string) (int, error) {
	at := -1
	for i, m := range object.Members {
		if m.Name.Value.(hujson.Literal).String() != name {
			continue
		}
		if at >= 0 {
			return -1, &Error{lineOf(d.data, m.Name.StartOffset), fmt.Sprintf("has a second member %q: remove one of them", name)}
		}
		at = i
	}
	return at, nil
}

// object returns v as an object; path is its location for the error.
func (d *document) object(v *hujson.Value, path []string) (*hujson.Object, error) {
	object, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil, &Error{lineOf(d.data, v.StartOffset), fmt.Sprintf("%q is not an object", strings.Join(path, "."))}
	}
	return object, nil
}

func lineOf(data []byte, offset int) int {
	return 1 + bytes.Count(data[:min(offset, len(data))], []byte("\n"))
}

// tooDeep returns the offset of the first bracket that exceeds maxNesting, or -1.
func tooDeep(data []byte) int {
	depth := 0
	for i := 0; i < len(data); {
		switch c := data[i]; c {
		case '"':
			i = skipString(data, i)
			continue
		case '/':
			i = max(skipComment(data, i), i+1)
			continue
		case '[', '{':
			if depth++; depth > maxNesting {
				return i
			}
		case ']', '}':
			depth--
		}
		i++
	}
	return -1
}

// skipString returns the offset after the string that starts at i.
func skipString(data []byte, i int) int {
	for i++; i < len(data) && data[i] != '"'; i++ {
		if data[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// skipComment returns the offset after the comment that starts at i, without the line feed that ends it, or i if there is
// none.
func skipComment(data []byte, i int) int {
	end, after := "\n", 0
	switch {
	case bytes.HasPrefix(data[i:], []byte("//")):
	case bytes.HasPrefix(data[i:], []byte("/*")):
		end, after = "*/", 2
	default:
		return i
	}
	if n := bytes.Index(data[i+2:], []byte(end)); n >= 0 {
		return i + 2 + n + after
	}
	return len(data)
}
