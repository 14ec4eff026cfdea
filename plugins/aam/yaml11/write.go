package yaml11

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/sdk/frontmatter"
)

// maxSimpleKey is the maximum number of code points in a key that is written without "? ".
const maxSimpleKey = 122

// ErrTooLarge is the error for a list that would exceed the limit of a ListEncoder.
var ErrTooLarge = errors.New("the document is too large")

// Encode returns a document in the layout of PyYAML's block style, which the aam program uses. The dashes of a list are
// aligned with the key of the list, long scalars are broken, and strings are quoted only if a plain scalar would have
// another type.
func Encode(m Map) ([]byte, error) {
	w := &writer{}
	err := w.root(m)
	return w.out, err
}

// ListEncoder encodes a mapping that has a single key, whose value is a list. It does not keep the items in memory.
type ListEncoder struct {
	writer writer
	key    string
	empty  bool
}

// NewListEncoder returns an encoder for a document of at most limit bytes. The argument expected is the size to
// allocate at first.
func NewListEncoder(key string, expected, limit int) *ListEncoder {
	e := &ListEncoder{key: key, empty: true}
	e.writer.limit = limit
	e.writer.out = make([]byte, 0, min(expected, limit))
	e.writer.write(key + ":")
	e.writer.newline(0)
	return e
}

// Add appends an item to the list. After ErrTooLarge the encoder must not be used any more.
func (e *ListEncoder) Add(item Map) error {
	e.empty = false
	e.writer.write("-")
	if err := e.writer.value(item, 0, true); err != nil {
		return err
	}
	e.writer.newline(0)
	if e.writer.full() {
		return ErrTooLarge
	}
	return nil
}

// Bytes returns the encoded document.
func (e *ListEncoder) Bytes() []byte {
	if e.empty {
		return []byte(e.key + ": []\n")
	}
	return e.writer.out
}

// writer appends YAML to out. A value that follows "- ", "? " or ": " starts on the line of that indicator.
type writer struct {
	out   []byte
	line  int // offset at which the last line starts
	limit int // maximum size of out; 0 for no limit; a value that exceeds the limit is truncated
}

func (w *writer) root(value any) error {
	var err error
	switch value := value.(type) {
	case Map:
		if len(value) > 0 {
			err = w.mapping(value, 0)
			break
		}
		err = w.flow(value)
	case []any:
		err = w.list(len(value), func(i int) any { return value[i] }, 0)
	default:
		err = w.flow(value)
	}
	w.newline(0)
	return err
}

func (w *writer) write(text string) { w.out = append(w.out, text...) }

func (w *writer) newline(indent int) {
	w.out = append(w.out, '\n')
	w.line = len(w.out)
	for range indent {
		w.out = append(w.out, ' ')
	}
}

// isLong reports whether the current line has more than lineWidth columns, so that a scalar has to be broken.
func (w *writer) isLong() bool {
	line := w.out[w.line:]
	return len(line) > lineWidth && utf8.RuneCount(line) > lineWidth
}

func (w *writer) full() bool { return w.limit > 0 && len(w.out) > w.limit }

// mapping writes a mapping that is not empty. It writes the first key at the current position.
func (w *writer) mapping(m Map, indent int) error {
	for i, pair := range m {
		if w.full() {
			return ErrTooLarge
		}
		if i > 0 {
			w.newline(indent)
		}
		compact := false
		if isSimpleKey(pair.Key) {
			w.scalar(pair.Key, 0)
		} else {
			w.write("? ")
			w.scalar(pair.Key, indent+2)
			w.newline(indent)
			compact = true
		}
		w.write(":")
		if err := w.value(pair.Value, indent, compact); err != nil {
			return err
		}
	}
	return nil
}

// list writes a list that is not empty. It writes the first dash at the current position.
func (w *writer) list(n int, item func(int) any, indent int) error {
	for i := range n {
		if w.full() {
			return ErrTooLarge
		}
		if i > 0 {
			w.newline(indent)
		}
		w.write("-")
		if err := w.value(item(i), indent, true); err != nil {
			return err
		}
	}
	return nil
}

// value writes the value after an indicator ("- ", "? " or ": ") of a collection with the indentation indent. If
// compact is set, a nested collection begins on the line of the indicator.
func (w *writer) value(value any, indent int, compact bool) error {
	switch v := value.(type) {
	case []string:
		if len(v) > 0 {
			return w.list(len(v), func(i int) any { return v[i] }, w.begin(indent, compact, 0))
		}
	case []any:
		if len(v) > 0 {
			return w.list(len(v), func(i int) any { return v[i] }, w.begin(indent, compact, 0))
		}
	case Map:
		if len(v) > 0 {
			return w.mapping(v, w.begin(indent, compact, 2))
		}
	case string:
		w.write(" ")
		w.scalar(v, indent+2)
		return nil
	}
	w.write(" ")
	return w.flow(value)
}

// begin moves to the position at which a block collection begins, and returns the indentation of the collection.
func (w *writer) begin(indent int, compact bool, more int) int {
	if compact {
		w.write(" ")
		return indent + 2
	}
	w.newline(indent + more)
	return indent + more
}

// flow writes a value on one line, with collections between brackets.
func (w *writer) flow(value any) error {
	switch value := value.(type) {
	case nil:
		w.write("null")
	case bool:
		w.write(strconv.FormatBool(value))
	case int:
		w.write(strconv.Itoa(value))
	case int64:
		w.write(strconv.FormatInt(value, 10))
	case string:
		w.flowScalar(value)
	case []string:
		return w.flowList(len(value), func(i int) any { return value[i] })
	case []any:
		return w.flowList(len(value), func(i int) any { return value[i] })
	case Map:
		w.write("{")
		for i, pair := range value {
			if i > 0 {
				w.write(", ")
			}
			w.flowScalar(pair.Key)
			w.write(": ")
			if err := w.flow(pair.Value); err != nil {
				return err
			}
		}
		w.write("}")
	case *frontmatter.Node:
		return w.flowNode(value)
	default:
		return fmt.Errorf("values of the type %T cannot be encoded", value)
	}
	return nil
}

func (w *writer) flowList(n int, item func(int) any) error {
	w.write("[")
	for i := range n {
		if i > 0 {
			w.write(", ")
		}
		if err := w.flow(item(i)); err != nil {
			return err
		}
	}
	w.write("]")
	return nil
}

// flowNode writes a parsed value on one line. It writes each alias as a copy of its target; maxPlain limits the number
// of copies.
func (w *writer) flowNode(n *frontmatter.Node) error {
	if w.limit == 0 {
		w.limit = len(w.out) + maxCopy
	}
	if w.full() {
		return ErrTooLarge
	}
	open, end := "[", "]"
	n = n.Resolve()
	kind := kindOf(n)
	switch kind {
	case Text:
		w.flowScalar(n.Text)
		return nil
	case Null:
		w.write("null")
		return nil
	case List:
	case Mapping:
		open, end = "{", "}"
	default:
		w.write(n.Text)
		return nil
	}
	w.write(open)
	for i, item := range n.Children {
		switch {
		case kind == Mapping && i%2 == 1:
			w.write(": ")
		case i > 0:
			w.write(", ")
		}
		if kind == Mapping && i%2 == 0 && isMerge(item) {
			w.write(item.Text)
		} else if err := w.flowNode(item); err != nil {
			return err
		}
	}
	w.write(end)
	return nil
}

// maxCopy is the maximum size in bytes of a parsed value that is written again.
const maxCopy = 1 << 20

// inline returns the forms in which a value can be written on one line: the form outside of brackets, and the form
// between brackets.
func inline(value any) []string {
	var alone, within writer
	text, ok := value.(string)
	if !ok {
		if alone.flow(value) != nil {
			return nil
		}
		return []string{string(alone.out)}
	}
	if strings.IndexByte(text, '\n') < 0 {
		alone.scalar(text, 0)
	}
	within.flowScalar(text)
	if len(alone.out) == 0 || bytes.Equal(alone.out, within.out) {
		return []string{string(within.out)}
	}
	return []string{string(alone.out), string(within.out)}
}
