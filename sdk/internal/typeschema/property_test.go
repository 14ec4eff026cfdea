package typeschema_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/agreement"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/schema"
	"github.com/bulkhead-mcp/bulkhead/sdk/internal/typeschema"
)

// named are types that reflect.StructOf cannot make.
var named = []reflect.Type{reflect.TypeFor[tree](), reflect.TypeFor[forest](), reflect.TypeFor[derived](), reflect.TypeFor[time.Time](),
	reflect.TypeFor[json.RawMessage](), reflect.TypeFor[any](), reflect.TypeFor[[]byte](), reflect.TypeFor[color](), reflect.TypeFor[json.Number]()}

// randomType returns a type of any kind.
func randomType(r *rand.Rand, depth int) reflect.Type {
	scalars := []reflect.Type{reflect.TypeFor[bool](), reflect.TypeFor[string](), reflect.TypeFor[int](), reflect.TypeFor[int8](), reflect.TypeFor[uint16](),
		reflect.TypeFor[int64](), reflect.TypeFor[uint64](), reflect.TypeFor[float64](), reflect.TypeFor[float32]()}
	switch n := r.IntN(10); {
	case depth == 0 || n < 3:
		return scalars[r.IntN(len(scalars))]
	case n == 3:
		return named[r.IntN(len(named))]
	case n == 4:
		return reflect.SliceOf(randomType(r, depth-1))
	case n == 5:
		return reflect.ArrayOf(1+r.IntN(3), randomType(r, depth-1))
	case n == 6:
		return reflect.MapOf([]reflect.Type{reflect.TypeFor[string](), reflect.TypeFor[int32](), reflect.TypeFor[color]()}[r.IntN(3)], randomType(r, depth-1))
	case n == 7:
		return reflect.PointerTo(randomType(r, depth-1))
	}
	return randomStruct(r, depth-1)
}

// randomStruct returns a struct type with some fields.
func randomStruct(r *rand.Rand, depth int) reflect.Type {
	var fields []reflect.StructField
	for i := range r.IntN(5) {
		name := string(rune('A' + i))
		tag := []string{"", strings.ToLower(name), strings.ToLower(name) + ",omitempty", ",omitzero", ",string"}[r.IntN(5)]
		fields = append(fields, reflect.StructField{Name: name, Type: randomType(r, depth), Tag: reflect.StructTag(fmt.Sprintf("json:%q", tag))})
	}
	return reflect.StructOf(fields)
}

// generator makes instances of a schema.
type generator struct {
	*rand.Rand
	root map[string]any
}

// value returns a value that the schema s accepts, unless a keyword is left out on purpose. It writes integers without fraction and exponent,
// and for strings uses the format of dates, base64 and numbers where the schema requires it.
func (g generator) value(s map[string]any, depth int) any {
	if ref, ok := s["$ref"].(string); ok {
		target := g.root
		if name, ok := strings.CutPrefix(ref, "#/$defs/"); ok {
			target = g.root["$defs"].(map[string]any)[name].(map[string]any)
		}
		return g.value(target, depth)
	}
	if some, ok := s["anyOf"].([]any); ok {
		return g.value(some[g.IntN(len(some))].(map[string]any), depth)
	}
	if values, ok := s["enum"].([]any); ok {
		return values[g.IntN(len(values))]
	}
	kind, ok := s["type"].(string)
	if !ok {
		kind = []string{"null", "boolean", "integer", "number", "string", "array", "object"}[g.IntN(7)]
	}
	switch kind {
	case "boolean":
		return g.IntN(2) == 0
	case "integer":
		return g.integer(s)
	case "number":
		return json.Number([]string{"0", "-1.5", "1e3", "0.25"}[g.IntN(4)])
	case "string":
		return g.text(s)
	case "array":
		return g.array(s, depth)
	case "object":
		return g.object(s, depth)
	}
	return nil
}

func (g generator) integer(s map[string]any) json.Number {
	low, high := int64(-1000), int64(1000)
	if n, ok := s["minimum"].(json.Number); ok {
		low, _ = n.Int64()
	}
	if n, ok := s["maximum"].(json.Number); ok {
		high, _ = n.Int64()
	}
	return json.Number(fmt.Sprint(low + g.Int64N(high-low+1)))
}

func (g generator) text(s map[string]any) string {
	switch {
	case s["format"] == "date-time":
		return "2026-01-02T03:04:05.5+01:00"
	case s["contentEncoding"] == "base64":
		return []string{"", "aGk=", "AAAA"}[g.IntN(3)]
	case s["pattern"] == `^".*"$`:
		return `"ü"`
	case s["pattern"] != nil:
		return fmt.Sprint(g.IntN(100))
	}
	return []string{"", "a", "ü\n", "null", "12"}[g.IntN(5)]
}

func (g generator) array(s map[string]any, depth int) []any {
	low, high := 0, 3
	if n, ok := s["minItems"].(json.Number); ok {
		fmt.Sscan(n.String(), &low)
		high = max(high, low)
	}
	if n, ok := s["maxItems"].(json.Number); ok {
		fmt.Sscan(n.String(), &high)
	}
	if depth <= 0 {
		high = low
	}
	items, _ := s["items"].(map[string]any)
	out := []any{}
	for range low + g.IntN(high-low+1) {
		out = append(out, g.value(items, depth-1))
	}
	return out
}

func (g generator) object(s map[string]any, depth int) map[string]any {
	out := map[string]any{}
	properties, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if slices.Contains(required, any(name)) || depth > 0 && g.IntN(2) == 0 {
			out[name] = g.value(properties[name].(map[string]any), depth-1)
		}
	}
	if others, ok := s["additionalProperties"].(map[string]any); ok && depth > 0 {
		for range g.IntN(3) {
			out[fmt.Sprint(g.IntN(100))] = g.value(others, depth-1)
		}
	}
	return out
}

// derivedSchema is a derived schema in three forms.
type derivedSchema struct {
	raw      json.RawMessage
	decoded  map[string]any
	compiled *schema.Schema
}

func deriveFrom(t *testing.T, derive func(reflect.Type) (*typeschema.Schema, error), typ reflect.Type) derivedSchema {
	t.Helper()
	s, err := derive(typ)
	if err != nil {
		t.Fatalf("%s: %v", typ, err)
	}
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return schemaOf(t, raw)
}

func schemaOf(t *testing.T, raw json.RawMessage) derivedSchema {
	t.Helper()
	out := derivedSchema{raw: raw}
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	if err := d.Decode(&out.decoded); err != nil {
		t.Fatal(err)
	}
	var err error
	if out.compiled, err = schema.Compile(raw); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return out
}

// TestSchemasAgreeWithEncodingJSON derives schemas from random types, and checks three properties: encoding/json decodes what the input
// schema accepts; the output schema accepts what encoding/json encodes; and each schema agrees with itself.
func TestSchemasAgreeWithEncodingJSON(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		typ := randomStruct(r, 3)
		input, output := deriveFrom(t, typeschema.Input, typ), deriveFrom(t, typeschema.Output, typ)
		for range 8 {
			raw, err := json.Marshal(generator{r, input.decoded}.value(input.decoded, 4))
			if err != nil {
				t.Fatal(err)
			}
			if err := input.compiled.Validate(raw); err != nil {
				t.Fatalf("%s: the input schema refuses %s: %v", typ, raw, err)
			}
			v := reflect.New(typ)
			if err := json.Unmarshal(raw, v.Interface()); err != nil {
				t.Fatalf("%s: the input schema accepts %s: %v", typ, raw, err)
			}
			typeschema.Fill(v.Interface())
			encoded, err := json.Marshal(v.Interface())
			if err != nil {
				t.Fatal(err)
			}
			if err := output.compiled.Validate(encoded); err != nil {
				t.Fatalf("%s: the output schema refuses %s: %v\n%s", typ, encoded, err, output.raw)
			}
		}
		for what, compare := range map[string]func(json.RawMessage, json.RawMessage) ([]agreement.Difference, error){"input": agreement.Input, "output": agreement.Output} {
			own := map[string]derivedSchema{"input": input, "output": output}[what]
			if differences, err := compare(own.raw, own.raw); err != nil || len(differences) > 0 {
				t.Fatalf("%s: the %s schema does not agree with itself: %v, %v", typ, what, differences, err)
			}
		}
	}
}

// TestDifferencesAreFound changes derived schemas at random. If encoding/json cannot decode a value that the changed schema accepts, there
// must be a difference.
func TestDifferencesAreFound(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	found, types := 0, testenv.Count(300, 1200, 1200)
	for range types {
		typ := randomStruct(r, 3)
		derived := deriveFrom(t, typeschema.Input, typ)
		changed := schemaOf(t, derived.raw)
		mutate(r, changed.decoded)
		raw, err := json.Marshal(changed.decoded)
		if err != nil {
			t.Fatal(err)
		}
		changed = schemaOf(t, raw)
		differences, err := agreement.Input(changed.raw, derived.raw)
		if err != nil {
			t.Fatal(err)
		}
		for range 8 {
			instance, err := json.Marshal(generator{r, changed.decoded}.value(changed.decoded, 4))
			if err != nil {
				t.Fatal(err)
			}
			if changed.compiled.Validate(instance) != nil {
				continue // the generator does not understand the change
			}
			err = json.Unmarshal(instance, reflect.New(typ).Interface())
			if err == nil || strings.Contains(err.Error(), "illegal base64") || strings.Contains(err.Error(), "parsing time") || strings.Contains(err.Error(), "number literal") {
				continue // the schema of such a string says only that it is a string
			}
			found++
			if len(differences) == 0 {
				t.Fatalf("%s: no difference is found, but %s is accepted: %v\nderived %s\nchanged %s", typ, instance, err, derived.raw, changed.raw)
			}
		}
	}
	if found < types/8 {
		t.Errorf("only %d values could not be decoded", found)
	}
}

// mutate changes a random schema below s.
func mutate(r *rand.Rand, s map[string]any) {
	var all []map[string]any
	var visit func(v any)
	visit = func(v any) {
		m, ok := v.(map[string]any)
		if !ok {
			return
		}
		all = append(all, m)
		for _, key := range slices.Sorted(maps.Keys(m)) {
			switch inner := m[key].(type) {
			case map[string]any:
				if key == "properties" || key == "$defs" {
					for _, name := range slices.Sorted(maps.Keys(inner)) {
						visit(inner[name])
					}
				} else if key != "propertyNames" {
					visit(inner)
				}
			case []any:
				for _, one := range inner {
					visit(one)
				}
			}
		}
	}
	visit(s)
	if len(all) < 2 {
		return
	}
	m := all[1+r.IntN(len(all)-1)]
	if m["format"] != nil || m["contentEncoding"] != nil || m["pattern"] != nil {
		return
	}
	switch r.IntN(4) {
	case 0:
		m["type"] = []string{"boolean", "integer", "number", "string", "array", "object"}[r.IntN(6)]
		delete(m, "$ref")
		delete(m, "anyOf")
	case 1:
		clear(m)
	case 2:
		for _, keyword := range []string{"minimum", "maximum", "enum", "items", "additionalProperties"} {
			delete(m, keyword)
		}
	case 3:
		m["anyOf"] = []any{map[string]any{"type": "string"}, maps.Clone(m)}
		delete(m, "type")
	}
}
