// Package schema checks JSON against a JSON Schema and says what is wrong in words that a model can act
// on. Compile a tool's schema once and Validate each call's arguments against it. It never loads
// anything: a $ref reaches only into the schema itself.
//
// The drafts are 2020-12, 2019-09, 7, 6 and 4; dynamic references are refused. Numbers are compared
// exactly, and each check is bounded in work, which no library offers: both is why the package has a
// validator of its own. Nothing is prepared before it is used, since every process of the host would pay.
package schema

import (
	"encoding/json"
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/host/rawjson"
)

const (
	// maxSchema bounds a schema, in bytes.
	maxSchema = 256 << 10
	// maxNumber bounds a number, in characters and as an exponent; numbers are compared exactly, and
	// 1e1000000 has a million digits.
	maxNumber = 400
	// maxDepth bounds how deep values are nested.
	maxDepth = 512
	// maxValues bounds the values that are decoded where nobody says how many: members, items and the whole.
	maxValues = 1 << 20
)

// Schema is a compiled JSON Schema. It is safe for concurrent use.
type Schema struct {
	root *node
	// properties are the names that the schema has for members of the value itself, by fold.
	properties map[string][]string
}

// Compile reads a JSON Schema, of draft 2020-12 unless it names another. The error says where in the
// schema the fault is.
func Compile(raw json.RawMessage) (*Schema, error) {
	if len(raw) > maxSchema {
		return nil, fmt.Errorf("schema is larger than %d KiB", maxSchema>>10)
	}
	doc, err := decode(raw)
	if err != nil {
		return nil, fmt.Errorf("schema %w", err)
	}
	root, err := compile(doc)
	if err != nil {
		return nil, fmt.Errorf("schema is not valid: %s", shorten(err.Error(), maxFault))
	}
	s := &Schema{root: root, properties: map[string][]string{}}
	if root.object != nil {
		for name := range root.object.properties {
			s.properties[fold(name)] = append(s.properties[fold(name)], name)
		}
	}
	return s, nil
}

// Validate checks raw, which has to be one JSON value. The error names each fault with its place, or says
// why raw cannot be checked.
func (s *Schema) Validate(raw json.RawMessage) error { return s.ValidateWithin(raw, maxValues) }

// BytesPerValue is about what a value takes once it is decoded, its text apart.
const BytesPerValue = 128

// ValidateWithin is Validate for a value that is refused, before it is decoded, if it holds more values than
// that: members, items and the whole. Each takes about BytesPerValue, in JSON perhaps no more than three.
func (s *Schema) ValidateWithin(raw json.RawMessage, values int) error {
	if err := rawjson.Bound(raw, values, maxDepth); err != nil {
		return err
	}
	v, err := decode(raw)
	if err != nil {
		return err
	}
	if err := s.misspelled(v); err != nil {
		return err
	}
	return s.validate(v)
}

func (s *Schema) validate(v any) (err error) {
	defer func() {
		if r := recover(); r == errTooMuch {
			err = errTooMuch
		} else if r != nil {
			panic(r)
		}
	}()
	f := &faults{limit: maxKept}
	if (&check{}).apply(s.root, v, &place{}, nil, f) {
		return nil
	}
	return f.err()
}
