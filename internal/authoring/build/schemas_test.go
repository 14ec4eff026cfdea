package build_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/build"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

// typed returns the source of the plugin in testdata/typed with its module, without [build].
func typed(t *testing.T) files {
	t.Helper()
	out := t.TempDir()
	if _, err := build.Build(t.Context(), "testdata/typed", build.Options{Out: out}); err != nil {
		t.Fatal(err)
	}
	return files{
		"plugin.toml": strings.Replace(read(t, "testdata/typed")["plugin.toml"], "[build]\ngo = \".\"\n", "\n\n", 1),
		"typed.wasm":  read(t, filepath.Join(out, "typed"))["typed.wasm"],
	}
}

func TestCheckComparesSchemasWithTypes(t *testing.T) {
	testenv.All(t, "starts the go command")
	source, cache := typed(t), t.TempDir()
	for name, c := range map[string]struct {
		old, replacement string
		want             []string
	}{
		"schemas that agree":         {"", "", nil},
		"a property without a field": {"[tools.input.properties.since]", "[tools.input.properties.until]", []string{`plugin.toml:30 tools[1].input.additionalProperties: is false and there is no property "since", so that the field search.Since is never set`, "plugin.toml:36 tools[1].input.properties.until: the type main.search has no field for it"}},
		"a dotted key":               {`limit.type = "integer"`, `limit.type = "string"`, []string{"plugin.toml:33 tools[1].input.properties.limit.type: accepts string, but the field search.Limit has the type int"}},
		"an inline table":            {`text = { type = "string"`, `text = { type = "integer"`, []string{"plugin.toml:32 tools[1].input.properties.text.type: accepts integer, but the field search.Text has the type string"}},
		"a nested field":             {"where.properties.names]", "where.properties.name]", []string{"plugin.toml:40 tools[1].input.properties.where.properties.name: the type *main.place of the field search.Where has no field for it"}},
		"a result without a field":   {"[tools.output.properties.ids]", "[tools.output.properties.id]", []string{"plugin.toml:48 tools[1].output.properties.id: the type main.found has no field for it"}},
		"a required result":          {`required = ["ids"]`, `required = ["ids", "next"]`, []string{`plugin.toml:47 tools[1].output.required: names "next", but its field in the type main.found is left out if it is empty`}},
		"a lower bound":              {"limit.minimum = 1", "limit.minimum = 0", []string{"plugin.toml:34 tools[1].input.properties.limit.minimum: accepts values beyond the minimum 1 of the field"}},
	} {
		t.Run(name, func(t *testing.T) {
			text := source["plugin.toml"]
			if c.old != "" && !strings.Contains(text, c.old) {
				t.Fatalf("the manifest lacks %q", c.old)
			}
			text = strings.Replace(text, c.old, c.replacement, 1)
			for _, validate := range []string{"host", "plugin"} {
				dir := source.with(files{"plugin.toml": strings.Replace(text, `"host"`, `"`+validate+`"`, 1)}).write(t, t.TempDir())
				wantProblems(t, build.Check(t.Context(), dir, build.Options{CacheDir: cache}), c.want...)
			}
			_, err := build.Build(t.Context(), source.with(files{"plugin.toml": text}).write(t, t.TempDir()), build.Options{Out: t.TempDir(), CacheDir: cache})
			if (err != nil) != (len(c.want) > 0) {
				t.Errorf("the build has the error %v", err)
			}
		})
	}
}

func TestCheckComparesSchemasOfOtherLanguages(t *testing.T) {
	describes := func(schemas string) files {
		return files{"hand.wasm": string(answering(`{"result":{"tools":["one","two"],"schemas":` + schemas + `}}`))}
	}
	const manifest = head + `[[tools]]
name = "one"
description = "does it"
access = "read"
input_json = '{"type":"object","additionalProperties":false,"properties":{"a":{"type":"string"}}}'
[[tools]]
name = "two"
description = "does it"
access = "read"
input = { type = "object", additionalProperties = false, properties = { b = { type = "string" } } }
`
	const shared = `{"type":"object","additionalProperties":false,"properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{"$comment":"In.c String"}}}`
	for name, c := range map[string]struct {
		schemas string
		want    []string
	}{
		"no schemas":                   {`null`, nil},
		"unknown tools":                {`{"three":{"input":{"type":"object"}}}`, nil},
		"schemas as JSON":              {`{"one":{"input":{"type":"object","properties":{"a":{"type":"integer"}}}}}`, []string{"plugin.toml:12 tools[0].input_json /properties/a/type: accepts string, but the handler has a different type"}},
		"a type that cannot be used":   {`{"one":{"error":"the field A\nhas the type func()"}}`, []string{"plugin.toml:9 tools[0].name: the types of the tool's handler cannot be used: the field A"}},
		"an invalid schema":            {`{"one":{"input":[1]}}`, []string{"plugin.toml:12 tools[0].input_json: the schema that the module derives is not an object"}},
		"a type of several tools":      {`{"one":{"input":` + shared + `},"two":{"input":` + shared + `}}`, []string{"plugin.toml:12 tools[0].input_json /additionalProperties: is false and there is no property \"c\", so that the field In.c is never set", "plugin.toml:17 tools[1].input.additionalProperties: is false and there is no property \"c\""}},
		"an invalid list of schemas":   {`{"one":{"input":{"type":"object"},"error":1}}`, []string{"plugin.toml:7 module.file: the module answers bulkhead/describe with an invalid description"}},
		"a schema that is too complex": {`{"one":{"input":` + `{"allOf":[` + strings.Repeat(`{"anyOf":[{"minLength":1},{"minProperties":1}]},`, 60) + `{}]}` + `}}`, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := describes(c.schemas).with(files{"plugin.toml": manifest}).write(t, t.TempDir())
			wantProblems(t, build.Check(t.Context(), dir, build.Options{}), c.want...)
		})
	}
}
