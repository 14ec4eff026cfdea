package yaml11

import (
	"fmt"
	"strings"
)

// Problem is an error in the content of a document whose syntax is correct.
type Problem struct {
	At     string // path of the value, as Value.At returns it; "" for the whole document
	Reason string
}

func (p Problem) String() string { return p.At + ": " + p.Reason }

// Problems holds all problems of a document, in the order in which they were found.
type Problems []Problem

func (p Problems) Error() string {
	texts := make([]string, len(p))
	for i, problem := range p {
		texts[i] = problem.String()
	}
	return strings.Join(texts, "; ")
}

// maxProblems is the maximum number of problems that a Reader collects.
const maxProblems = 100

// Reader converts the values of a document. For an invalid value, its methods add a problem and return the zero value,
// so that all problems are reported at once. The zero Reader is ready to use.
type Reader struct {
	problems Problems
	texts    []string // a block of memory from which lists of strings are taken
}

// maxSlab is the maximum number of strings that are allocated at once.
const maxSlab = 512

// Err returns the problems of the document as an error of the type Problems; nil if there are none.
func (r *Reader) Err() error {
	if len(r.problems) == 0 {
		return nil
	}
	return r.problems
}

// Problem adds a problem of the value v.
func (r *Reader) Problem(v Value, format string, args ...any) {
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, Problem{v.At(), fmt.Sprintf(format, args...)})
	}
}

// Required reports whether v exists. It adds a problem if v is absent.
func (r *Reader) Required(v Value) bool {
	if v.node == nil {
		r.Problem(v, "field required")
		return false
	}
	return true
}

// Text returns a string, which must exist. It adds a problem for unquoted numbers, booleans and dates.
func (r *Reader) Text(v Value) string {
	if v.node != nil && kindOf(v.node) == Text { // most values are strings
		return v.node.Text
	}
	if r.Required(v) && r.is(v, Text) {
		return v.Text()
	}
	return ""
}

// TextOr returns a string; it returns the argument "absent" if v does not exist.
func (r *Reader) TextOr(v Value, absent string) string {
	if v.node == nil {
		return absent
	}
	return r.Text(v)
}

// NullText returns a string; nil if v is absent or null.
func (r *Reader) NullText(v Value) *string {
	if kind := v.Kind(); kind == Absent || kind == Null || !r.is(v, Text) {
		return nil
	}
	text := v.Text()
	return &text
}

// boolWords are the strings that Bool accepts, in lower case.
var boolWords = map[string]bool{
	"true": true, "1": true, "yes": true, "on": true, "y": true, "t": true,
	"false": false, "0": false, "no": false, "off": false, "n": false, "f": false,
}

func (v Value) lower() string { return strings.ToLower(v.Text()) }

// Bool returns a boolean; it returns the argument "absent" if v does not exist. It also accepts 0, 1 and the strings in
// boolWords.
func (r *Reader) Bool(v Value, absent bool) bool {
	switch v.Kind() {
	case Absent:
		return absent
	case Bool, Text:
		if value, ok := boolWords[v.lower()]; ok {
			return value
		}
	case Int:
		if n, ok := parseInt(v.Text()); ok && n&^1 == 0 {
			return n == 1
		}
	}
	r.Problem(v, "must be a boolean, not %s", v.Kind())
	return false
}

// Int returns an integer; it returns the argument "absent" if v does not exist. It also accepts quoted integers.
func (r *Reader) Int(v Value, absent int64) int64 {
	switch kind := v.Kind(); {
	case kind == Absent:
		return absent
	case kind == Int, kind == Text && plainKind(v.Text()) == Int:
		if n, ok := parseInt(v.Text()); ok {
			return n
		}
		r.Problem(v, "is out of the range of a 64-bit integer")
	default:
		r.Problem(v, "must be an integer, not %s", kind)
	}
	return 0
}

// List returns the values of a list; none if v is absent.
func (r *Reader) List(v Value) []Value {
	if v.node == nil || !r.is(v, List) {
		return nil
	}
	return v.Items()
}

// Texts returns a list of strings, which is empty if v is absent.
func (r *Reader) Texts(v Value) []string {
	if v.node == nil || !r.is(v, List) {
		return []string{}
	}
	n := len(v.node.Children)
	if n == 0 {
		return []string{}
	}
	if cap(r.texts)-len(r.texts) < n {
		r.texts = make([]string, 0, max(n, min(maxSlab, 2*cap(r.texts))))
	}
	from := len(r.texts)
	for _, item := range v.node.Children {
		r.texts = append(r.texts, r.Text(Value{node: item.Resolve(), parent: v.node, root: v.root}))
	}
	return r.texts[from:len(r.texts):len(r.texts)]
}

// Mapping reports whether v is a mapping. It adds a problem for a value of another kind, unless v is absent.
func (r *Reader) Mapping(v Value) bool {
	return v.node != nil && r.is(v, Mapping)
}

// Entries returns the entries of a mapping; none if v is absent. It adds a problem for a key that is not a string.
func (r *Reader) Entries(v Value) []Entry {
	if !r.Mapping(v) {
		return nil
	}
	entries := v.Entries()
	for _, entry := range entries {
		if kind := entry.Key.Kind(); kind != Text {
			r.Problem(v, "key %.60q must be a string, not %s", entry.Key.Text(), kind)
		}
	}
	return entries
}

func (r *Reader) is(v Value, kind Kind) bool {
	if v.Kind() == kind {
		return true
	}
	if kind == Text && v.Kind() != List && v.Kind() != Mapping {
		r.Problem(v, "must be %s, not %s: quote it", kind, v.Kind())
	} else {
		r.Problem(v, "must be %s, not %s", kind, v.Kind())
	}
	return false
}
