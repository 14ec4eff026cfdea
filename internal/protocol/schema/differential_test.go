package schema_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/schema"
)

// oracle compiles a schema with the reference validator, called the oracle.
func oracle(t testing.TB, raw []byte) (*jsonschema.Schema, error) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(jsonschema.SchemeURLLoader{})
	if err := c.AddResource("schema:///", doc); err != nil {
		return nil, err
	}
	return c.Compile("schema:///")
}

// agree compares the results of this package and of the oracle for each of values. It returns the numbers of valid and invalid values.
func agree(t *testing.T, raw []byte, values func(yield func(any) bool)) (valid, invalid int) {
	t.Helper()
	theirs, theirErr := oracle(t, raw)
	ours, ourErr := schema.Compile(raw)
	if (theirErr == nil) != (ourErr == nil) {
		t.Errorf("%s\ncompiled: %v\nby the oracle: %v", raw, ourErr, theirErr)
	}
	if theirErr != nil || ourErr != nil {
		return 0, 0
	}
	for v := range values {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		want, got := theirs.Validate(decoded), ours.Validate(text)
		if (want == nil) != (got == nil) {
			t.Fatalf("schema %s\nvalue %s\ngot %v\nthe oracle gives %v", raw, text, got, want)
		}
		if got == nil {
			valid++
		} else {
			invalid++
		}
	}
	return valid, invalid
}

func rounds(t *testing.T, usual int) int {
	if n, err := strconv.Atoi(os.Getenv("BULKHEAD_SCHEMA_ROUNDS")); err == nil {
		return n
	}
	return testenv.Count(usual/20, usual/4, usual)
}

// TestPluginSchemasAgainstReferenceValidator generates instances from the schemas of all plugins, and damages copies of them.
func TestPluginSchemasAgainstReferenceValidator(t *testing.T) {
	files, err := filepath.Glob("../../../*/*/plugin.toml")
	if err != nil || len(files) < 5 {
		t.Fatalf("got the manifests %v, %v", files, err)
	}
	schemas, valid, invalid := 0, 0, 0
	for _, file := range files {
		m, ps := manifest.Load(filepath.Dir(file))
		if ps.Err() != nil {
			t.Fatal(ps)
		}
		for _, tool := range m.Tools {
			for _, raw := range []json.RawMessage{tool.Input, tool.Output} {
				if raw == nil {
					continue
				}
				var doc map[string]any
				if err := json.Unmarshal(raw, &doc); err != nil {
					t.Fatal(err)
				}
				g := generator{rand.New(rand.NewPCG(1, uint64(schemas))), doc}
				a, b := agree(t, raw, func(yield func(any) bool) {
					for range rounds(t, 100) {
						v := g.value(doc, 0)
						for range g.IntN(3) {
							v = g.damaged(v)
						}
						if !g.misspelled(v) && !yield(v) {
							return
						}
					}
				})
				schemas, valid, invalid = schemas+1, valid+a, invalid+b
			}
		}
	}
	t.Logf("%d schemas, %d valid and %d invalid values", schemas, valid, invalid)
	if schemas < 50 || valid < schemas || invalid < schemas {
		t.Errorf("only %d schemas with %d valid and %d invalid values were tested", schemas, valid, invalid)
	}
}

// TestRandomSchemasAgainstReferenceValidator generates random schemas with every keyword and draft.
func TestRandomSchemasAgainstReferenceValidator(t *testing.T) {
	valid, invalid := 0, 0
	for i := range rounds(t, 3000) {
		g := generator{Rand: rand.New(rand.NewPCG(2, uint64(i)))}
		doc, _ := g.schema(0).(map[string]any)
		if doc == nil {
			continue
		}
		if draft := g.IntN(2 * len(someDrafts)); draft < len(someDrafts) {
			doc["$schema"] = someDrafts[draft]
			if draft > 0 {
				delete(doc, "$ref") // this draft ignores all siblings of $ref, but the oracle ignores only some
			}
		}
		doc["definitions"] = map[string]any{"a": g.schema(1), "b": g.schema(1)}
		g.root = doc
		raw, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		a, b := agree(t, raw, func(yield func(any) bool) {
			for range 20 {
				v := g.value(doc, 0)
				if g.IntN(2) == 0 {
					v = g.damaged(v)
				}
				if !g.misspelled(v) && !yield(v) {
					return
				}
			}
		})
		valid, invalid = valid+a, invalid+b
	}
	t.Logf("%d valid and %d invalid values", valid, invalid)
	if min(valid, invalid) < 100 {
		t.Errorf("only %d valid and %d invalid values were tested", valid, invalid)
	}
}

type generator struct {
	*rand.Rand
	root map[string]any
}

var someDrafts = []string{"https://json-schema.org/draft/2019-09/schema", "http://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-06/schema#"}

var someNames = []string{"a", "b", "c", "name", ""}

var someValues = []any{nil, true, false, 0, 1, -1, 2, 3, 1.5, json.Number("1.0"), json.Number("1e2"), json.Number("0.3"), json.Number("9007199254740993"),
	"", "a", "ab", "abc", "x1", "é", "2020-01-02"}

func (g generator) of(list []any) any { return list[g.IntN(len(list))] }

// value returns an instance that is probably valid against the schema s.
func (g generator) value(s any, depth int) any {
	o, ok := s.(map[string]any)
	if !ok || depth > 6 || g.IntN(15) == 0 {
		return g.any(depth)
	}
	if ref, ok := o["$ref"].(string); ok {
		definitions, _ := g.root["definitions"].(map[string]any)
		return g.value(definitions[path.Base(ref)], depth+1)
	}
	if list, ok := o["enum"].([]any); ok && len(list) > 0 {
		return g.of(list)
	}
	if v, ok := o["const"]; ok {
		return v
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		if list, ok := o[key].([]any); ok && len(list) > 0 && g.IntN(2) == 0 {
			return g.value(g.of(list), depth+1)
		}
	}
	kind, _ := o["type"].(string)
	if list, ok := o["type"].([]any); ok {
		kind, _ = g.of(list).(string)
	}
	_, properties := o["properties"]
	_, items := o["items"]
	switch {
	case kind == "object" || kind == "" && properties:
		return g.object(o, depth)
	case kind == "array" || kind == "" && items:
		list := []any{}
		for range g.IntN(4) {
			list = append(list, g.value(o["items"], depth+1))
		}
		return list
	case kind == "string":
		return []any{"", "a", "ab", "abc", "x1", "2020-01-02"}[g.IntN(6)]
	case kind == "integer":
		return []any{0, 1, 2, -1, 100, json.Number("1.0")}[g.IntN(6)]
	case kind == "number":
		return []any{0, 1.5, -2, json.Number("1e2"), json.Number("0.3")}[g.IntN(5)]
	case kind == "boolean":
		return g.IntN(2) == 0
	case kind == "null":
		return nil
	}
	return g.any(depth)
}

func (g generator) object(o map[string]any, depth int) any {
	object := map[string]any{}
	properties, _ := o["properties"].(map[string]any)
	required, _ := o["required"].([]any)
	for name, s := range sortedMembers(properties) {
		if g.IntN(2) == 0 || slices.Contains(required, any(name)) {
			object[name] = g.value(s, depth+1)
		}
	}
	if g.IntN(4) == 0 {
		object[someNames[g.IntN(len(someNames))]] = g.value(o["additionalProperties"], depth+1)
	}
	return object
}

func sortedMembers(object map[string]any) func(yield func(string, any) bool) {
	return func(yield func(string, any) bool) {
		names := []string{}
		for name := range object {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			if !yield(name, object[name]) {
				return
			}
		}
	}
}

func (g generator) any(depth int) any {
	switch n := g.IntN(8); {
	case n == 0 && depth < 4:
		object := map[string]any{}
		for range g.IntN(3) {
			object[someNames[g.IntN(len(someNames))]] = g.any(depth + 1)
		}
		return object
	case n == 1 && depth < 4:
		list := []any{}
		for range g.IntN(4) {
			list = append(list, g.any(depth+1))
		}
		return list
	}
	return g.of(someValues)
}

// damaged returns a copy of v with one random change.
func (g generator) damaged(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out, names := map[string]any{}, []string{}
		for name, value := range sortedMembers(v) {
			out[name] = value
			names = append(names, name)
		}
		switch {
		case len(names) > 0 && g.IntN(3) > 0:
			name := names[g.IntN(len(names))]
			out[name] = g.damaged(out[name])
		case len(names) > 0 && g.IntN(2) == 0:
			delete(out, names[g.IntN(len(names))])
		default:
			out[someNames[g.IntN(len(someNames))]] = g.any(3)
		}
		return out
	case []any:
		out := slices.Clone(v)
		switch {
		case len(out) > 0 && g.IntN(3) > 0:
			i := g.IntN(len(out))
			out[i] = g.damaged(out[i])
		case len(out) > 0 && g.IntN(2) == 0:
			out = out[1:]
		default:
			out = append(out, g.any(3))
		}
		return out
	}
	return g.any(2)
}

// misspelled reports whether Validate refuses v because the case of a property name is wrong. The oracle accepts such a v.
func (g generator) misspelled(v any) bool {
	object, _ := v.(map[string]any)
	properties, _ := g.root["properties"].(map[string]any)
	for name := range object {
		for property := range properties {
			if name != property && len(name) == len(property) && bytes.EqualFold([]byte(name), []byte(property)) {
				return true
			}
		}
	}
	return false
}

func (g generator) schema(depth int) any {
	if n := g.IntN(12); n == 0 || depth > 3 {
		return n%2 == 0
	}
	s := map[string]any{}
	for range 1 + g.IntN(3) {
		g.keyword(s, depth)
	}
	return s
}

func (g generator) keyword(s map[string]any, depth int) {
	list := func() []any {
		var list []any
		for range 1 + g.IntN(2) {
			list = append(list, g.schema(depth+1))
		}
		return list
	}
	members := func() map[string]any {
		return map[string]any{someNames[g.IntN(len(someNames))]: g.schema(depth + 1), "a": g.schema(depth + 1)}
	}
	kinds := []any{"object", "array", "string", "number", "integer", "boolean", "null"}
	keywords := []func(){
		func() { s["type"] = g.of(kinds) },
		func() { s["type"] = []any{kinds[g.IntN(3)], kinds[3+g.IntN(4)]} },
		func() { s["enum"] = []any{g.IntN(3), g.of([]any{nil, true, []any{}, 1.5}), "a"} },
		func() { s["const"] = g.any(2) },
		func() { s["minimum"] = g.IntN(3) },
		func() { s["exclusiveMaximum"] = json.Number("1.5") },
		func() { s["multipleOf"] = json.Number("0.1") },
		func() { s["minLength"], s["maxLength"] = g.IntN(2), 2 },
		func() { s["pattern"] = "^[a-c]+$" },
		func() { s["minItems"], s["maxItems"] = g.IntN(2), 2 },
		func() { s["uniqueItems"] = true },
		func() { s["items"] = g.schema(depth + 1) },
		func() { s["contains"] = g.schema(depth + 1) },
		func() { s["contains"], s["minContains"], s["maxContains"] = g.schema(depth+1), g.IntN(3), 2 },
		func() { s["required"] = []any{someNames[g.IntN(len(someNames))]} },
		func() { s["properties"] = members() },
		func() { s["patternProperties"] = map[string]any{"^n": g.schema(depth + 1)} },
		func() { s["additionalProperties"] = g.schema(depth + 1) },
		func() { s["propertyNames"] = g.schema(depth + 1) },
		func() { s["minProperties"] = 1 },
		func() { s["maxProperties"] = 1 },
		func() { s["dependentRequired"] = map[string]any{"a": []any{"b"}} },
		func() { s["dependentSchemas"] = members() },
		func() { s["dependencies"] = map[string]any{"a": []any{"b"}, "b": g.schema(depth + 1)} },
		func() { s["allOf"] = list() },
		func() { s["anyOf"] = list() },
		func() { s["oneOf"] = list() },
		func() { s["not"] = g.schema(depth + 1) },
		func() { s["if"], s["then"], s["else"] = g.schema(depth+1), g.schema(depth+1), g.schema(depth+1) },
		func() { s["unevaluatedProperties"] = g.schema(depth + 1) },
		func() { s["unevaluatedItems"] = g.schema(depth + 1) },
	}
	if depth > 0 {
		// Refer to a definition only from within properties, so that no schema applies itself to the same instance.
		keywords = append(keywords, func() {
			s["properties"] = map[string]any{"c": map[string]any{"$ref": fmt.Sprintf("#/definitions/%c", 'a'+g.IntN(2))}}
		})
	} else {
		keywords = append(keywords, func() { s["$ref"] = "#/definitions/a" })
	}
	keywords[g.IntN(len(keywords))]()
}
