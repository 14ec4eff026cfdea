package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

// decode decodes one JSON value and keeps numbers as json.Number. It refuses duplicate members: decoders differ in which of the
// duplicates they use, so the tool could use a value that was not validated.
func decode(raw json.RawMessage) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	v, err := readValue(d, 0)
	if err != nil {
		var refused refusal
		switch {
		case errors.As(err, &refused):
			return nil, refused
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil, errors.New("is not complete JSON")
		}
		return nil, fmt.Errorf("is not JSON: %s", visible.Truncate(err.Error(), maxFailure))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("is more than one JSON value")
	}
	return v, nil
}

// refusal is an error that this package creates, as opposed to an error of encoding/json.
type refusal string

func (r refusal) Error() string { return string(r) }

// readValue reads a value and enforces the limits of depth and of numbers.
func readValue(d *json.Decoder, depth int) (any, error) {
	if depth == maxDepth {
		return nil, refusal(fmt.Sprintf("is nested more than %d deep", maxDepth))
	}
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	if number, ok := token.(json.Number); ok {
		return number, checkNumber(number)
	}
	delim, ok := token.(json.Delim)
	if !ok {
		return token, nil
	}
	if delim == '[' {
		list := []any{}
		for d.More() {
			item, err := readValue(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, item)
		}
		_, err := d.Token() // consumes the closing bracket
		return list, err
	}
	return readObject(d, depth)
}

func readObject(d *json.Decoder, depth int) (any, error) {
	object := map[string]any{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		key, ok := token.(string)
		if !ok {
			return nil, refusal("is not JSON: a member without a name")
		}
		if _, twice := object[key]; twice {
			return nil, refusal(fmt.Sprintf("has the duplicate member %q", visible.Truncate(key, maxFailure)))
		}
		if object[key], err = readValue(d, depth+1); err != nil {
			return nil, err
		}
	}
	_, err := d.Token() // consumes the closing brace
	return object, err
}

// checkCase refuses a member whose name differs from a property of the schema only in case. The schema would not validate such a
// member, but a case-insensitive decoder, such as encoding/json, would use its value.
func (s *Schema) checkCase(v any) error {
	object, _ := v.(map[string]any)
	for key := range object {
		if names := s.properties[fold(key)]; len(names) > 0 && !slices.Contains(names, key) {
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
