// Package schema validates JSON instances against JSON Schemas, with error messages by which a model can correct its arguments. Callers
// Compile a tool's schema once, and Validate the arguments of each call. The package never loads remote schemas: a $ref may only refer
// to a location in the schema itself.
//
// The package implements drafts 2020-12, 2019-09, 7, 6 and 4 except dynamic references, which it refuses. It has its own validator
// because no library both compares numbers exactly and bounds the work of each validation. It has no package initialization, since
// every process of the host would pay for that.
package schema

import (
	"encoding/json"
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

const (
	// maxSchema is the maximum size of a schema, in bytes.
	maxSchema = 256 << 10
	// maxNumber is the maximum length of a number, and the maximum of its exponent. Numbers are compared exactly, and 1e1000000 has a
	// million digits.
	maxNumber = 400
	// maxDepth is the maximum nesting depth of an instance or schema.
	maxDepth = abi.MaxNesting
	// maxValues is the maximum number of values in an instance that Validate accepts.
	maxValues = 1 << 20
)

// Schema is a compiled JSON Schema. It is safe for concurrent use.
type Schema struct {
	root *node
	// properties maps the folded form of each property name of the root schema to the names that have this form. The function fold
	// computes that form.
	properties map[string][]string
	// declared contains the names of the properties that the schema declares; nil if it permits further ones.
	declared map[string]bool
}

// Compile compiles a JSON Schema. A schema without $schema belongs to draft 2020-12. The error contains the location of the invalid
// keyword.
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
		return nil, fmt.Errorf("schema is not valid: %s", visible.Truncate(err.Error(), maxFailure))
	}
	s := &Schema{root: root, properties: map[string][]string{}, declared: declaredBy(root)}
	if root.object != nil {
		for name := range root.object.properties {
			s.properties[fold(name)] = append(s.properties[fold(name)], name)
		}
	}
	return s, nil
}

// Validate validates raw, one JSON value. The error lists all failures with their locations in raw, or states why raw cannot be
// validated.
func (s *Schema) Validate(raw json.RawMessage) error { return s.ValidateWithin(raw, maxValues) }

// BytesPerValue approximates the memory of a decoded value, not counting the bytes of strings.
const BytesPerValue = 128

// ValidateWithin is like Validate, but accepts at most the given number of values: properties, items and the instance itself. An
// instance with more values is refused before it is decoded, because a value may take three bytes of JSON but BytesPerValue in memory.
func (s *Schema) ValidateWithin(raw json.RawMessage, values int) error {
	v, err := s.decode(raw, values)
	if err != nil {
		return err
	}
	return s.validate(v, &evaluation{})
}

// ValidateArguments is ValidateWithin for the arguments of a call. If a value has a wrong type, the error shows the value, unless it is
// long, and what to write instead. Because the value may be a secret, only the caller may see the error. ValidateArguments also returns the
// arguments that s does not declare, whether or not s permits them.
func (s *Schema) ValidateArguments(raw json.RawMessage, values int) ([]Undeclared, error) {
	v, err := s.decode(raw, values)
	if err != nil {
		return nil, err
	}
	return s.undeclaredIn(v), s.validateArguments(v)
}

func (s *Schema) validateArguments(v any) error {
	err := s.validate(v, &evaluation{})
	if err == nil || err == errTooCostly {
		return err
	}
	// Computing corrections takes additional work. If that work exceeds the limit, the error without corrections is returned.
	if corrected := s.validate(v, &evaluation{corrects: true}); corrected != nil && corrected != errTooCostly {
		return corrected
	}
	return err
}

func (s *Schema) decode(raw json.RawMessage, values int) (any, error) {
	if err := rawjson.Bound(raw, values, maxDepth); err != nil {
		return nil, err
	}
	v, err := decode(raw)
	if err != nil {
		return nil, err
	}
	return v, s.checkCase(v)
}

func (s *Schema) validate(v any, c *evaluation) (err error) {
	defer func() {
		if r := recover(); r == errTooCostly {
			err = errTooCostly
		} else if r != nil {
			panic(r)
		}
	}()
	f := &failures{limit: maxKept}
	if c.apply(s.root, v, &location{}, nil, f) {
		return nil
	}
	return f.err()
}
