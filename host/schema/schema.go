// Package schema checks JSON against a JSON Schema and says what is wrong in words that a model can act
// on. Compile a tool's schema once and Validate each call's arguments against it. It never loads
// anything: a $ref reaches only into the schema itself and the drafts' own schemas.
package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	// maxSchema bounds a schema, in bytes.
	maxSchema = 256 << 10
	// maxSteps bounds the work of one check, in subschemas applied. A schema of a few lines can ask for
	// more than any machine can do, by references that double at each level.
	maxSteps = 1 << 18
	// maxNumber bounds a number, in characters and as an exponent; numbers are compared exactly, and
	// 1e1000000 has a million digits.
	maxNumber = 400
	// maxDepth bounds how deep values are nested.
	maxDepth = 512
)

// Schema is a compiled JSON Schema. It may be used by several goroutines; they take turns.
type Schema struct {
	compiled *jsonschema.Schema
	mu       sync.Mutex
	steps    int // of the check that runs now

	// properties are the names that the schema has for members of the value itself, by fold.
	properties map[string][]string
}

// place is the schema's own URL, to which its references are relative.
const place = "schema:///"

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
	if key := dynamicAnchor(doc); key != "" {
		return nil, fmt.Errorf("schema uses %s, which is not supported: use $ref", key)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(newPatterns())
	if err := c.AddResource(place, doc); err != nil {
		return nil, fmt.Errorf("schema: %s", tidy(err.Error()))
	}
	compiled, err := c.Compile(place)
	if err != nil {
		return nil, compileError(err)
	}
	s := &Schema{compiled: compiled, properties: map[string][]string{}}
	if top, ok := doc.(map[string]any); ok {
		properties, _ := top["properties"].(map[string]any)
		for name := range properties {
			s.properties[fold(name)] = append(s.properties[fold(name)], name)
		}
	}
	s.meter()
	return s, nil
}

func compileError(err error) error {
	var invalid *jsonschema.SchemaValidationError
	var verr *jsonschema.ValidationError
	if errors.As(err, &invalid) && errors.As(invalid.Err, &verr) {
		return fmt.Errorf("schema is not valid: %w", explain(verr))
	}
	return fmt.Errorf("schema: %s", tidy(err.Error()))
}

// tidy shortens a library's message and takes out the URL that stands for the schema itself.
func tidy(s string) string {
	return shorten(strings.ReplaceAll(s, place, ""), maxFault)
}

type noLoader struct{}

// Load implements jsonschema.URLLoader.
func (noLoader) Load(string) (any, error) {
	return nil, errors.New("a schema may refer only to itself")
}

// Validate checks raw, which has to be one JSON value. The error names each fault with its place, or says
// why raw cannot be checked.
func (s *Schema) Validate(raw json.RawMessage) error {
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
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps = 0
	defer func() {
		if r := recover(); r == errTooMuch {
			err = errTooMuch
		} else if r != nil {
			panic(r)
		}
	}()
	err = s.compiled.Validate(v)
	var verr *jsonschema.ValidationError
	if errors.As(err, &verr) {
		return explain(verr)
	}
	return err
}
