package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// readArguments merges the arguments of a call. given is empty, one JSON object, or "-" for an object on stdin; pairs
// are name=value, and take precedence over the object.
func readArguments(stdin io.Reader, given, pairs []string, schema json.RawMessage) (json.RawMessage, error) {
	raw := []byte("{}")
	if len(given) > 0 {
		raw = []byte(given[0])
		if given[0] == "-" {
			var err error
			if raw, err = io.ReadAll(io.LimitReader(stdin, maxArguments+1)); err != nil {
				return nil, fmt.Errorf("cannot read arguments from stdin: %w", err)
			}
			if len(raw) > maxArguments {
				return nil, fmt.Errorf("arguments from stdin exceed %d MiB", maxArguments>>20)
			}
		}
	}
	var object map[string]json.RawMessage
	err := json.Unmarshal(raw, &object)
	if mismatch := (*json.UnmarshalTypeError)(nil); errors.As(err, &mismatch) {
		err = errors.New("the value is a JSON " + mismatch.Value)
	} else if err == nil && object == nil {
		err = errors.New("the value is null")
	}
	if err != nil {
		return nil, fmt.Errorf(`arguments must be one JSON object, such as '{"id": "a"}': %w`, err)
	}
	if len(pairs) == 0 {
		return bytes.TrimSpace(raw), nil
	}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("--arg %s: write name=value", pair)
		}
		encoded, err := encodeTyped(name, value, schema)
		if err != nil {
			return nil, err
		}
		object[name] = encoded
	}
	return json.Marshal(object)
}

// encodeTyped encodes a value as a JSON string if the schema allows strings for the property name. Otherwise value must itself be
// JSON.
func encodeTyped(name, value string, schema json.RawMessage) (json.RawMessage, error) {
	types := propertyTypes(name, schema)
	if len(types) > 0 && !slices.Contains(types, "string") {
		if !json.Valid([]byte(value)) {
			return nil, fmt.Errorf("--arg %s: %q is not JSON, and the tool expects %s", name, value, strings.Join(types, " or "))
		}
		return json.RawMessage(value), nil
	}
	return json.Marshal(value)
}

// property is the part of a JSON Schema that restricts the type of a value.
type property struct {
	Type  json.RawMessage   `json:"type"`
	Const json.RawMessage   `json:"const"`
	Enum  []json.RawMessage `json:"enum"`
	AnyOf []property        `json:"anyOf"`
	OneOf []property        `json:"oneOf"`
}

// propertyTypes returns the JSON Schema types of a property; empty if the schema does not restrict them.
func propertyTypes(name string, schema json.RawMessage) []string {
	var s struct {
		Properties map[string]property `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	return s.Properties[name].types()
}

func (p property) types() []string {
	var one string
	var several []string
	if json.Unmarshal(p.Type, &one) == nil {
		return []string{one}
	}
	if json.Unmarshal(p.Type, &several) == nil && len(several) > 0 {
		return several
	}
	// const and enum restrict the types without naming them.
	for _, value := range p.values() {
		several = append(several, typeOf(value))
	}
	if len(several) > 0 {
		return several
	}
	for _, alternative := range slices.Concat(p.AnyOf, p.OneOf) {
		types := alternative.types()
		if len(types) == 0 {
			return nil // this alternative allows every type
		}
		several = append(several, types...)
	}
	return several
}

// values returns the values to which const and enum restrict a property; empty if they do not.
func (p property) values() []json.RawMessage {
	if p.Const != nil {
		return []json.RawMessage{p.Const}
	}
	return p.Enum
}

// pairValues returns the values to which a property and its alternatives are restricted, in the form in which a pair name=value
// contains them.
func (p property) pairValues() []string {
	types := p.types()
	isText := len(types) == 0 || slices.Contains(types, "string") // see encodeTyped
	var all []string
	for _, alternative := range slices.Concat([]property{p}, p.AnyOf, p.OneOf) {
		values := alternative.values()
		if len(values) == 0 && bytes.Contains(alternative.Type, []byte(`"boolean"`)) {
			values = []json.RawMessage{[]byte("true"), []byte("false")}
		}
		for _, value := range values {
			var text string
			switch {
			case !isText:
				all = append(all, string(value))
			case typeOf(value) == "string" && json.Unmarshal(value, &text) == nil:
				all = append(all, text)
			}
		}
	}
	return all
}

// typeOf returns the JSON Schema type of a value.
func typeOf(value json.RawMessage) string {
	var v any
	if json.Unmarshal(value, &v) != nil {
		return "string"
	}
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return "string"
}
