// Package agreement compares the schemas of a manifest with those that a module derives from the types of its handlers. Input finds arguments
// that the manifest's schema accepts and the handler's type cannot decode. Output finds results that the handler can return and the manifest's
// schema refuses.
//
// It reports only certain differences. A manifest may require fewer members than the type, and may accept fewer values. Keywords that the
// package does not understand are assumed to agree. null is accepted for every argument, since it leaves a Go value unchanged.
package agreement

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/jsonvalue"
)

// Difference is a place where a manifest's schema and a handler's type disagree.
type Difference struct {
	Path         []string // from the root of the manifest's schema to the keyword or property
	What, Remedy string
	// Unset is the name of a member that the schema refuses although the type has a field for it, so that the tool never sets the field; empty
	// for any other difference. It is no error if another tool with the same type sets the field.
	Unset string
}

// Input compares the input schema of a manifest with the derived schema of the arguments.
func Input(manifest, derived json.RawMessage) ([]Difference, error) {
	return compare(manifest, derived, (*comparison).input)
}

// Output compares the output schema of a manifest with the derived schema of the results.
func Output(manifest, derived json.RawMessage) ([]Difference, error) {
	return compare(manifest, derived, (*comparison).output)
}

const (
	// maxSteps bounds the work of a comparison. A schema of a thousand properties takes some thousand steps.
	maxSteps = 100_000
	// maxDepth bounds the nesting of schemas.
	maxDepth = 200
	// maxDifferences bounds the differences of one comparison.
	maxDifferences = 20
)

var errTooComplex = errors.New("is too complex to be compared with the type of its handler")

func compare(manifest, derived json.RawMessage, from func(*comparison, []place, typed)) ([]Difference, error) {
	c := &comparison{seen: map[string]bool{}}
	err := c.run(manifest, derived, from)
	return c.differences, err
}

func (c *comparison) run(manifest, derived json.RawMessage, from func(*comparison, []place, typed)) (err error) {
	have, err := jsonvalue.Decode(manifest)
	if err != nil {
		return fmt.Errorf("the schema is not JSON: %w", err)
	}
	want, err := jsonvalue.Decode(derived)
	if err != nil {
		return fmt.Errorf("the schema that the module derives is not JSON: %w", err)
	}
	root, ok := want.(map[string]any)
	if !ok {
		return errors.New("the schema that the module derives is not an object")
	}
	c.manifest, c.derived = have, root
	defer func() {
		if r := recover(); r == errTooComplex {
			err = errTooComplex
		} else if r != nil {
			panic(r)
		}
	}()
	from(c, []place{{schema: have}}, typed{schema: root})
	return nil
}

// comparison is the state of one comparison.
type comparison struct {
	manifest    any
	derived     map[string]any
	steps       int
	depth       int
	seen        map[string]bool // comparisons that are finished or in progress; see isNew for the keys
	differences []Difference
}

// step counts one unit of work.
func (c *comparison) step() {
	if c.steps++; c.steps > maxSteps || c.depth > maxDepth {
		panic(errTooComplex)
	}
}

// isNew reports whether schemas are compared for the first time. Recursive schemas are compared once.
func (c *comparison) isNew(at []place, to typed, branch bool) bool {
	var key strings.Builder
	for _, p := range at {
		fmt.Fprintf(&key, "%q", p.path)
	}
	fmt.Fprintf(&key, "%x %t", reflect.ValueOf(to.schema).Pointer(), branch)
	if c.seen[key.String()] {
		return false
	}
	c.seen[key.String()] = true
	return true
}

func (c *comparison) add(path []string, remedy, format string, args ...any) {
	if len(c.differences) < maxDifferences {
		c.differences = append(c.differences, Difference{Path: path, What: fmt.Sprintf(format, args...), Remedy: remedy})
	}
}

// typed is a schema that was derived from a type.
type typed struct {
	schema map[string]any
	field  string // the field and its type, or only the type, as in $comment; empty: unknown
}

// resolve follows references, and reports separately whether null is allowed. It returns nil for a schema that accepts any value, or that
// Input and Output do not understand.
func (c *comparison) resolve(t typed) (resolved *typed, nullable bool) {
	for range maxDepth {
		c.step()
		if comment, ok := t.schema["$comment"].(string); ok {
			t.field = comment
		}
		if ref, ok := t.schema["$ref"].(string); ok {
			target, _ := lookup(c.derived, ref).(map[string]any)
			if target == nil {
				return nil, nullable
			}
			t.schema = target
			continue
		}
		if alternatives, ok := t.schema["anyOf"].([]any); ok {
			var rest []map[string]any
			for _, a := range alternatives {
				one, _ := a.(map[string]any)
				if one["type"] == "null" {
					nullable = true
				} else {
					rest = append(rest, one)
				}
			}
			if len(rest) != 1 || rest[0] == nil {
				return nil, nullable
			}
			t.schema = rest[0]
			continue
		}
		if _, ok := t.schema["type"].(string); !ok {
			return nil, nullable
		}
		return &t, nullable
	}
	return nil, nullable
}

// subject names the field for a message.
func (t typed) subject() string {
	field, kind, found := strings.Cut(t.field, " ")
	switch {
	case found:
		return fmt.Sprintf("the field %s has the type %s", field, kind)
	case t.field != "":
		return "the handler has the type " + t.field
	}
	return "the handler has a different type"
}

// owner names a struct type for a message.
func (t typed) owner() string {
	if field, kind, found := strings.Cut(t.field, " "); found {
		return fmt.Sprintf("the type %s of the field %s", kind, field)
	}
	if t.field != "" {
		return "the type " + t.field
	}
	return "the handler's type"
}

func (t typed) properties() map[string]any {
	p, _ := t.schema["properties"].(map[string]any)
	return p
}

// isClosed reports whether the type has no other members than its properties.
func (t typed) isClosed() bool { return t.schema["additionalProperties"] == false }

// child returns the schema of a keyword, with the field of t for messages.
func (t typed) child(schema any) typed {
	m, _ := schema.(map[string]any)
	return typed{schema: m, field: t.field}
}

// property returns the schema of a member. If anyCase is set, it falls back to a name in another case, as decoding by encoding/json does.
func (t typed) property(name string, anyCase bool) (typed, bool) {
	properties := t.properties()
	if p, ok := properties[name]; ok {
		return t.child(p), true
	}
	for other, p := range properties {
		if anyCase && strings.EqualFold(name, other) {
			return t.child(p), true
		}
	}
	return typed{}, false
}

// lookup returns the value at a reference within a document; nil if there is none.
func lookup(doc any, ref string) any {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok || pointer != "" && pointer[0] != '/' {
		return nil
	}
	for _, token := range tokens(pointer) {
		switch parent := doc.(type) {
		case map[string]any:
			doc = parent[token]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(parent) {
				return nil
			}
			doc = parent[i]
		default:
			return nil
		}
	}
	return doc
}

func tokens(pointer string) []string {
	if pointer == "" {
		return nil
	}
	parts := strings.Split(pointer[1:], "/")
	for i := range parts {
		parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(parts[i])
	}
	return parts
}
