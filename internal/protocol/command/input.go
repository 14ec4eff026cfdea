package command

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Bounds of the words of a run, similar to those of Linux.
const (
	maxWords = 16 << 10
	maxBytes = 2 << 20
)

// words collects the words of a run.
type words struct {
	list  []string
	bytes int
}

func (w *words) add(word string) error {
	w.list = append(w.list, word)
	if w.bytes += len(word) + 1; len(w.list) > maxWords || w.bytes > maxBytes {
		return fmt.Errorf("the arguments are too long: the program accepts at most %d words and %d bytes in total", maxWords, maxBytes)
	}
	return nil
}

// input returns the input for a call with these arguments: a JSON object, or empty. The error is for the client.
func (t Tool) input(arguments json.RawMessage) (Input, error) {
	values := t.values(arguments)
	var w words
	for _, item := range t.Args {
		if err := item.addTo(&w, values); err != nil {
			return Input{}, err
		}
	}
	input := Input{Args: w.list}
	if t.Stdin != nil {
		switch value := t.Stdin.value(values); rawjson.Kind(value) {
		case 0, 'n':
		case '"':
			text, ok := rawjson.Unquote(value)
			if !ok {
				return Input{}, t.Stdin.refuse("is not a valid string")
			}
			input.Stdin = []byte(text)
		default:
			input.Stdin = value
		}
	}
	return input, nil
}

// values returns those arguments of a call that an item uses. All others are skipped, so they take no memory.
func (t Tool) values(arguments json.RawMessage) map[string]json.RawMessage {
	used := map[string]json.RawMessage{}
	for _, item := range t.Args {
		used[item.Arg] = nil
	}
	if t.Stdin != nil {
		used[t.Stdin.Arg] = nil
	}
	for name, value := range rawjson.Members(arguments) {
		if _, ok := used[name]; ok {
			used[name] = value
		}
	}
	return used
}

// value returns the value of the item's argument, or its default; nil if there is none.
func (i Item) value(values map[string]json.RawMessage) json.RawMessage {
	if value := values[i.Arg]; value != nil {
		return value
	}
	return i.Default
}

// addTo adds the words of the item.
func (i Item) addTo(w *words, values map[string]json.RawMessage) error {
	if i.Arg == "" {
		return w.add(i.Literal)
	}
	value := i.value(values)
	switch rawjson.Kind(value) {
	case 0, 'n': // absent or null
		return nil
	case '[':
		for _, element := range rawjson.Elements(value) {
			if err := i.addValue(w, element); err != nil {
				return err
			}
		}
		return nil
	}
	return i.addValue(w, value)
}

// addValue adds the words of one value.
func (i Item) addValue(w *words, value json.RawMessage) error {
	text, err := i.text(value)
	if err != nil {
		return err
	}
	switch {
	case i.Choose != nil:
		chosen, ok := i.Choose[text]
		if !ok {
			return i.refuse("has the value %s, which the tool does not know", rawjson.Quote(visible.Truncate(text, maxShown)))
		}
		for _, word := range chosen {
			if err := w.add(word); err != nil {
				return err
			}
		}
		return nil
	case i.Type == Boolean:
		if text == "true" {
			return w.add(i.Flag)
		}
		return nil
	case strings.HasPrefix(text, "-") && !i.Dash:
		return i.refuse(`has the value %s. It begins with "-", and the program could take it for an option`, rawjson.Quote(visible.Truncate(text, maxShown)))
	case strings.HasSuffix(i.Flag, "="):
		return w.add(i.Flag + text)
	case i.Flag != "":
		if err := w.add(i.Flag); err != nil {
			return err
		}
	}
	return w.add(text)
}

// text returns a scalar value as a word.
func (i Item) text(value json.RawMessage) (string, error) {
	switch kind := rawjson.Kind(value); {
	case kind == '"' && i.Type == String:
		text, ok := rawjson.Unquote(value)
		if !ok {
			return "", i.refuse("is not a valid string")
		}
		if strings.ContainsRune(text, 0) {
			return "", i.refuse("has a NUL character, which no argument of a program can have")
		}
		return text, nil
	case kind == '0' && i.Type == Number:
		return string(value), nil
	case kind == '0' && i.Type == Integer:
		return i.integer(string(value))
	case kind == 't' && i.Type == Boolean:
		return string(value), nil
	}
	return "", i.refuse("is not of the type %s", i.Type)
}

// integer returns an integer in digits. In JSON Schema, 1.0 and 1e2 are integers too.
func (i Item) integer(text string) (string, error) {
	if !strings.ContainsAny(text, ".eE") {
		return text, nil
	}
	const exact = 1 << 53 // float64 represents all integers up to this one
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > exact {
		return "", i.refuse("is not an integer in digits: write it without a fraction and an exponent")
	}
	return strconv.FormatInt(int64(f), 10), nil
}

func (i Item) refuse(format string, args ...any) error {
	return fmt.Errorf("the argument %s %s", rawjson.Quote(i.Arg), fmt.Sprintf(format, args...))
}

// maxShown bounds a value in a message, in bytes.
const maxShown = 80

// Check returns why a value cannot be passed by the item; nil if it can be.
func (i Item) Check(value json.RawMessage) error {
	return i.addTo(&words{}, map[string]json.RawMessage{i.Arg: value})
}
