package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// decode decodes one JSON value and keeps numbers as json.Number. It refuses duplicate members: decoders differ in which of the
// duplicates they use, so the tool could use a value that was not validated.
func decode(raw json.RawMessage) (any, error) {
	d := decoder{in: rawjson.NewScanner(raw)}
	v := d.value(0)
	switch {
	case d.refusal != nil:
		return nil, d.refusal
	case d.invalid:
		return nil, syntaxError(raw)
	case !d.in.End():
		return nil, errors.New("is more than one JSON value")
	}
	return v, nil
}

// syntaxError returns why raw does not begin with a JSON value.
func syntaxError(raw json.RawMessage) error {
	err := json.NewDecoder(bytes.NewReader(raw)).Decode(new(json.RawMessage))
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("is not complete JSON")
	}
	return fmt.Errorf("is not JSON: %s", visible.Truncate(fmt.Sprint(err), maxFailure))
}

// decoder decodes the values that its scanner finds. After the first error, it decodes no further values.
type decoder struct {
	in      *rawjson.Scanner
	invalid bool  // whether the text is not valid JSON
	refusal error // why valid JSON is refused; nil if it is not
}

func (d *decoder) refuse(format string, args ...any) { d.refusal = fmt.Errorf(format, args...) }

// value decodes the next value. It leaves a value that it refuses to the scanner, which skips it.
func (d *decoder) value(depth int) any {
	kind := d.in.Kind()
	if depth == maxDepth && kind != 0 {
		d.refuse("is nested more than %d deep", maxDepth)
		return nil
	}
	switch kind {
	case '{':
		return d.object(depth)
	case '[':
		list := []any{}
		d.check(d.in.Array(func(int) {
			if d.refusal == nil {
				list = append(list, d.value(depth+1))
			}
		}))
		return list
	}
	return d.scalar(kind)
}

func (d *decoder) object(depth int) any {
	object := map[string]any{}
	d.check(d.in.Object(func(key []byte) {
		if d.refusal != nil {
			return
		}
		name := string(key)
		if !utf8.ValidString(name) {
			name = string([]rune(name)) // converts each invalid byte to U+FFFD
		}
		if _, twice := object[name]; twice {
			d.refuse("has the duplicate member %q", visible.Truncate(name, maxFailure))
			return
		}
		object[name] = d.value(depth + 1)
	}))
	return object
}

// check records that a value is invalid, for which the scanner returns nil.
func (d *decoder) check(raw []byte) []byte {
	d.invalid = d.invalid || raw == nil
	return raw
}

func (d *decoder) scalar(kind byte) any {
	raw := d.check(d.in.Value())
	switch {
	case raw == nil, kind == 'n':
		return nil
	case kind == 't':
		return raw[0] == 't'
	case kind == '"':
		text, _ := rawjson.Unquote(raw)
		return text
	}
	number := json.Number(raw)
	d.refusal = checkNumber(number)
	return number
}

// checkCase refuses a member whose name differs from a property of the schema only in case. The schema would not validate such a
// member, but a case-insensitive decoder, such as encoding/json, would use its value.
func (s *Schema) checkCase(v any) error {
	object, _ := v.(map[string]any)
	for key := range object {
		if s.root.object != nil && s.root.object.properties[key] != nil {
			continue
		}
		if names := s.properties[fold(key)]; len(names) > 0 {
			return fmt.Errorf("has %q: write %q", visible.Truncate(key, maxFailure), names[0])
		}
	}
	return nil
}

// fold maps names that differ only in case to the same string.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, name)
}
