//go:build unix

package tests

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// TestSchemasArePortable checks that the schemas of all tools are in the subset of JSON Schema that clients of different model
// providers accept: each schema has a keyword that restricts the value, and type is one name. MCP Inspector warns of the others.
// The conformance suite of MCP requires one tool whose schema uses more.
func TestSchemasArePortable(t *testing.T) {
	t.Parallel()
	var dirs []string
	for _, pattern := range []string{"../plugins/*", "../examples/*"} {
		found, err := filepath.Glob(pattern + "/" + manifest.FileName)
		if err != nil || len(found) == 0 {
			t.Fatal(found, err)
		}
		dirs = append(dirs, found...)
	}
	for _, file := range dirs {
		m, ps := manifest.Load(filepath.Dir(file))
		if err := ps.Err(); err != nil {
			t.Fatal(err)
		}
		for _, tool := range m.Tools {
			if tool.Name == "json_schema_2020_12_tool" {
				continue
			}
			for _, schema := range []json.RawMessage{tool.Input, tool.Output} {
				for _, problem := range unportable(t, schema) {
					t.Errorf("%s: %s%s", file, tool.Name, problem)
				}
			}
		}
	}
}

func TestUnportableSchemas(t *testing.T) {
	for schema, want := range map[string][]string{
		`{"type":"object","properties":{}}`: nil,
		`{"type":"object","properties":{"type":{"type":"string"},"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`: nil,
		`{"type":"object","properties":{"a":{"type":["string","null"]}}}`:                                             {"/properties/a: type is an array: use anyOf"},
		`{"type":"object","properties":{"a":{}}}`:                                                                     {"/properties/a: accepts any value"},
		`{"type":"array","items":{"anyOf":[{"type":"string"},{"description":"d"}]}}`:                                  {"/items/anyOf/1: accepts any value"},
		`{"type":"object","additionalProperties":{"type":["string"]}}`:                                                {"/additionalProperties: type is an array: use anyOf"},
	} {
		if diff := cmp.Diff(want, unportable(t, json.RawMessage(schema))); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", schema, diff)
		}
	}
}

// unportable returns what is not portable in a schema, and where.
func unportable(t *testing.T, schema json.RawMessage) []string {
	t.Helper()
	if len(schema) == 0 {
		return nil
	}
	var root any
	if err := json.Unmarshal(schema, &root); err != nil {
		t.Fatal(err)
	}
	var found []string
	check := func(at string, what map[string]any) {
		if _, isArray := what["type"].([]any); isArray {
			found = append(found, at+": type is an array: use anyOf")
		}
		restricts := slices.ContainsFunc([]string{"type", "anyOf", "oneOf", "allOf", "enum", "const", "$ref"}, func(k string) bool { return what[k] != nil })
		if !restricts {
			found = append(found, at+": accepts any value")
		}
	}
	walkSchema("", root, check)
	slices.Sort(found)
	return found
}

// walkSchema calls check with a schema and the schemas below it.
func walkSchema(at string, value any, check func(at string, schema map[string]any)) {
	schema, ok := value.(map[string]any)
	if !ok {
		return
	}
	check(at, schema)
	for _, keyword := range []string{"items", "additionalProperties", "not", "contains", "propertyNames"} {
		walkSchema(at+"/"+keyword, schema[keyword], check)
	}
	for _, keyword := range []string{"properties", "patternProperties", "$defs"} {
		named, _ := schema[keyword].(map[string]any)
		for name, value := range named {
			walkSchema(strings.Join([]string{at, keyword, name}, "/"), value, check)
		}
	}
	for _, keyword := range []string{"anyOf", "oneOf", "allOf", "prefixItems"} {
		list, _ := schema[keyword].([]any)
		for i, value := range list {
			walkSchema(fmt.Sprintf("%s/%s/%d", at, keyword, i), value, check)
		}
	}
}
