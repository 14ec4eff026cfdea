package build_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/build"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

func TestSchemas(t *testing.T) {
	testenv.NotShort(t, "starts the go command")
	o := build.Options{CacheDir: t.TempDir()}
	schemas, err := build.Schemas(t.Context(), "testdata/typed", "", o)
	if err != nil {
		t.Fatal(err)
	}
	const input = `{"type":"object","required":["text"],"additionalProperties":false,"properties":{"text":{"type":"string","description":"What to look for","minLength":1},` +
		`"limit":{"type":"integer","description":"Most results","default":20,"minimum":1},"since":{"type":"string","format":"date-time"},` +
		`"where":{"type":"object","required":["names"],"additionalProperties":false,"properties":{"names":{"type":"array","items":{"type":"string"}}}}}}`
	const output = `{"type":"object","required":["ids"],"additionalProperties":false,"properties":{"ids":{"type":"array","items":{"type":"integer"}},"next":{"type":"string"}}}`
	want := []build.ToolSchema{{Name: "find", Input: []byte(input), Output: []byte(output)}}
	if diff := cmp.Diff(want, schemas); diff != "" {
		t.Error(diff)
	}
	if none, err := build.Schemas(t.Context(), "testdata/typed", "raw", o); err != nil || len(none) > 0 {
		t.Errorf("a handler of json.RawMessage: got %v, %v", none, err)
	}
	_, err = build.Schemas(t.Context(), "testdata/typed", "lost", o)
	wantProblems(t, problems(t, err), `plugin.toml:0 tools: there is no tool "lost"`)
}

// TestWriteSchemas has changes of the manifest in testdata/typed, and the changes that WriteSchemas makes to the result.
func TestWriteSchemas(t *testing.T) {
	testenv.All(t, "starts the go command")
	source, cache := typed(t), t.TempDir()
	text := source["plugin.toml"]
	schema := text[strings.Index(text, "\n[tools.input]"):]
	const limit = "limit.type = \"integer\"\nlimit.minimum = 1\nlimit.maximum = 100\n"
	separate := strings.Replace(text, limit, "", 1)
	separate = strings.Replace(separate, "[tools.input.properties]\ntext = { type = \"string\", minLength = 3 } # short texts find too much\n",
		"\n# short texts find too much\n[tools.input.properties.text]\ntype = \"string\"\nminLength = 3\n\n[tools.input.properties.limit]\ntype = \"integer\" # at least one\nminimum = 1\nmaximum = 100\n\n", 1)
	const since = "[tools.input.properties.since]\ntype = \"string\"\n"
	where := text[strings.Index(text, "[tools.input.properties.where]\n") : strings.Index(text, "written by hand\n")+len("written by hand\n")]
	for name, c := range map[string]struct {
		from string // the manifest before
		old  string // what the test changes in it
		new  string
		want string // what WriteSchemas makes of new
	}{
		"a schema that agrees":          {from: text},
		"a separate schema that agrees": {from: separate},
		"no schema": {from: text, old: schema, new: "", want: "\n[tools.input]\ntype = \"object\"\nrequired = [\"text\"]\nadditionalProperties = false\n\n[tools.input.properties.text]\ntype = \"string\"\ndescription = \"What to look for\"\nminLength = 1\n\n[tools.input.properties.limit]\ntype = \"integer\"\ndescription = \"Most results\"\ndefault = 20\nminimum = 1\n\n[tools.input.properties.since]\ntype = \"string\"\nformat = \"date-time\"\n\n[tools.input.properties.where]\ntype = \"object\"\nrequired = [\"names\"]\nadditionalProperties = false\n\n[tools.input.properties.where.properties.names]\ntype = \"array\"\nitems = { type = \"string\" }\n" +
			"\n[tools.output]\ntype = \"object\"\nrequired = [\"ids\"]\nadditionalProperties = false\n\n[tools.output.properties.ids]\ntype = \"array\"\nitems = { type = \"integer\" }\n\n[tools.output.properties.next]\ntype = \"string\"\n"},
		"a property of a different type": {from: separate, old: "[tools.input.properties.limit]\ntype = \"integer\" # at least one\nminimum = 1\nmaximum = 100\n", new: "# how many\n[tools.input.properties.limit]\ntype = \"string\"\ndescription = \"How many\"\n",
			want: "# how many\n[tools.input.properties.limit]\ndescription = \"How many\"\ntype = \"integer\"\ndefault = 20\nminimum = 1\n"},
		"a wider bound": {from: separate, old: "type = \"integer\" # at least one\nminimum = 1\nmaximum = 100\n", new: "type = \"integer\"\nminimum = 0\nmaximum = 100\n",
			want: "type = \"integer\"\nminimum = 1\nmaximum = 100\ndescription = \"Most results\"\ndefault = 20\n"},
		"a property that is missing": {from: separate, old: "[tools.input.properties.limit]\ntype = \"integer\" # at least one\nminimum = 1\nmaximum = 100\n\n" + since + where + "\n", new: where + "\n",
			want: where + "\n[tools.input.properties.limit]\ntype = \"integer\"\ndescription = \"Most results\"\ndefault = 20\nminimum = 1\n\n[tools.input.properties.since]\ntype = \"string\"\nformat = \"date-time\"\n\n"},
		"a property without a field": {from: separate, old: "[tools.input.properties.since]\n", new: "# until now\n[tools.input.properties.until]\ntype = \"string\"\n\n[tools.input.properties.since]\n", want: "[tools.input.properties.since]\n"},
		"required names":             {from: separate, old: "required = [\"text\"]\n", new: "required = [\"text\", \"gone\"] # both\n", want: "required = [\"text\"] # both\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(c.from, c.old) {
				t.Fatalf("the manifest lacks %q", c.old)
			}
			before, want := strings.Replace(c.from, c.old, c.new, 1), strings.Replace(c.from, c.old, c.want, 1)
			dir := source.with(files{"plugin.toml": before}).write(t, t.TempDir())
			schemas, err := build.WriteSchemas(t.Context(), dir, "", build.Options{CacheDir: cache})
			if err != nil {
				t.Fatal(err)
			}
			got := read(t, dir)["plugin.toml"]
			if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if changed := got != before; !changed && schemas[0].Changed {
				t.Errorf("Changed is %t", schemas[0].Changed)
			}
			wantProblems(t, build.Check(t.Context(), dir, build.Options{CacheDir: cache}))
		})
	}
}

func TestWriteSchemasRefusesInlineSchemas(t *testing.T) {
	testenv.All(t, "starts the go command")
	source := typed(t)
	text := strings.Replace(source["plugin.toml"], `limit.type = "integer"`, `limit.type = "string"`, 1)
	dir := source.with(files{"plugin.toml": text}).write(t, t.TempDir())
	_, err := build.WriteSchemas(t.Context(), dir, "", build.Options{})
	wantProblems(t, problems(t, err), "plugin.toml:27 tools[1].input: cannot be written: ")
	if got := read(t, dir); got["plugin.toml"] != text || len(got) != 2 {
		t.Errorf("the directory of the plugin is changed: %v", filepath.Join(dir))
	}
}
