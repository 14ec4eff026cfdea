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
)

// decode reads one JSON value with its numbers as they are written. An object that has a member twice is
// refused: decoders differ in which of two they take, and who reads it may not take the one that was checked.
func decode(raw json.RawMessage) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	v, err := readValue(d, 0)
	if err != nil {
		var own refusal
		switch {
		case errors.As(err, &own):
			return nil, own
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil, errors.New("is not complete JSON")
		}
		return nil, fmt.Errorf("is not JSON: %s", shorten(err.Error(), maxFault))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("is more than one JSON value")
	}
	return v, nil
}

// refusal is an error of decode's own, where others are the JSON library's.
type refusal string

func (r refusal) Error() string { return string(r) }

// readValue reads what the validator can check in bounded time and stack.
func readValue(d *json.Decoder, depth int) (any, error) {
	if depth == maxDepth {
		return nil, refusal(fmt.Sprintf("is nested more than %d deep", maxDepth))
	}
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	if number, ok := token.(json.Number); ok {
		return number, inRange(number)
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
		_, err := d.Token() // the bracket
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
			return nil, refusal(fmt.Sprintf("has the member %q twice", shorten(key, maxFault)))
		}
		if object[key], err = readValue(d, depth+1); err != nil {
			return nil, err
		}
	}
	_, err := d.Token() // the brace
	return object, err
}

// misspelled refuses a member whose name is that of a property but for the case of its letters. The schema
// would not look at it, and a decoder that does not tell case, Go's own among them, takes it all the same.
func (s *Schema) misspelled(v any) error {
	object, _ := v.(map[string]any)
	for key := range object {
		if names := s.properties[fold(key)]; len(names) > 0 && !slices.Contains(names, key) {
			return fmt.Errorf("has %q: write %q", shorten(key, maxFault), names[0])
		}
	}
	return nil
}

// fold is the same for names that differ in the case of their letters only.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, name)
}
