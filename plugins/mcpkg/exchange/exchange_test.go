package exchange_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/exchange"
)

func readTeam(t testing.TB) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "testdata", "team.json"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(string(raw), "\n")
}

func TestWriteOfParsedFileIsIdentity(t *testing.T) {
	text := readTeam(t)
	drafts, err := exchange.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if len(drafts) != 5 {
		t.Errorf("Parse returned %d items", len(drafts))
	}
	got, err := exchange.Write("team", drafts)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestParseRefuses(t *testing.T) {
	const start = `{"format":"mcpkg-project","version":1,"name":"n",`
	for name, test := range map[string]struct{ text, want string }{
		"text that is not JSON":        {"hello", "the file is not an exported project: line 1, column 1: a value is missing"},
		"an empty text":                {"", "the file is not an exported project: line 1, column 1: unexpected end of text: a value is missing"},
		"another format":               {`{"format":"x\ny","version":1}`, "its format is 'x?y', not 'mcpkg-project'"},
		"a newer version":              {`{"format":"mcpkg-project","version":2,"novel":true}`, "the file has format version 2, but this plugin reads only version 1: update the plugin"},
		"no version":                   {`{"format":"mcpkg-project"}`, "version is 0, not 1"},
		"an unknown key":               {start + `"author":"x"}`, `the file has the unknown member 'author' (line 1, column 59); known members are format, version, name, prompts, resources`},
		"an unknown key of a prompt":   {start + `"prompts":[{"name":"a","content":"x","stars":1}]}`, `prompts[0] has the unknown member 'stars' (line 1, column 95); known members are name, description, content`},
		"text after the value":         {start + `"prompts":[]} {}`, "the file is not an exported project: line 1, column 64: unexpected text after the value"},
		"a list of another type":       {start + `"prompts":{}}`, "prompts is an object, not an array (line 1, column 60)"},
		"a name that is a number":      {start + "\n\"resources\":[null,\n{\"name\":7}]}", "resources[0] '': Resource name cannot be empty"},
		"a content that is an array":   {start + "\n\"prompts\":[\n{\"name\":\"a\",\"content\":[\"x\"]}]}", "prompts[0].content is an array, not a string (line 3, column 23)"},
		"an item that is a string":     {start + `"resources":["a"]}`, "resources[0] is a string, not an object (line 1, column 63)"},
		"a version that is a string":   {`{"format":"mcpkg-project","version":"1"}`, "version is a string, not a number (line 1, column 37)"},
		"a version with a fraction":    {`{"format":"mcpkg-project","version":1.5}`, "version is 1.5, not an integer"},
		"a member twice":               {start + `"prompts":[],"prompts":[]}`, "the file has the member 'prompts' twice (line 1, column 73)"},
		"a member in another case":     {start + `"Prompts":[]}`, "the file has the unknown member 'Prompts'"},
		"an array":                     {"[]", "the file is an array, not an object (line 1, column 1)"},
		"new members of a new version": {`{"prompts":[{"stars":{}}],"x":[1],"format":"mcpkg-project","version":2}`, "the file has format version 2, but this plugin reads only version 1: update the plugin"},
		"new values of another format": {`{"prompts":7,"format":"other"}`, "its format is 'other', not 'mcpkg-project'"},
		"a truncated file":             {start + `"prompts":[{"name":"a","content":"x`, "the file is not an exported project: line 1, column 85: unexpected end of text: a string is not terminated"},
		"an invalid name":              {start + `"prompts":[{"name":"a","content":"x"},{"name":"a b","content":"x"}]}`, "prompts[1] 'a b': Prompt name 'a b' contains invalid characters"},
		"an empty prompt":              {start + `"prompts":[{"name":"a","content":""}]}`, "prompts[0] 'a': Prompt content cannot be empty"},
		"a resource without content":   {start + `"resources":[{"name":"a","uri":"a:b"}]}`, "resources[0] 'a': Resource content cannot be empty"},
		"a resource with two contents": {start + `"resources":[{"name":"a","uri":"a:b","content":"x","content_base64":"eA=="}]}`, "both content and content_base64 are present"},
		"bad base64":                   {start + `"resources":[{"name":"a","uri":"a:b","content_base64":"!"}]}`, "resources[0] 'a': Resource content is not valid base64 for MIME type 'text/plain'"},
		"a bad URI":                    {start + `"resources":[{"name":"a","uri":"b","content":"x"}]}`, "resources[0] 'a': Resource URI 'b' is invalid"},
		"a name twice":                 {start + `"prompts":[{"name":"a","content":"x"},{"name":"a","content":"y"}]}`, "Prompt 'a' is in the file twice"},
		"a URI twice":                  {start + `"resources":[{"name":"a","uri":"a:b","content":"x"},{"name":"b","uri":"a:b","content":"y"}]}`, "the URI 'a:b' is in the file twice"},
	} {
		t.Run(name, func(t *testing.T) {
			drafts, err := exchange.Parse(test.text)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "json") {
				t.Errorf("got %v, %v, want %s", drafts, err, test.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(readTeam(f))
	f.Add(`{"format":"mcpkg-project","version":1}`)
	f.Add(`{"format":"mcpkg-project","version":1,"resources":[{"name":"a","uri":"a:b","content_base64":"eA","mime_type":" "}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		drafts, err := exchange.Parse(text)
		if err != nil {
			return
		}
		written, err := exchange.Write("x", drafts)
		if err != nil {
			t.Fatal(err)
		}
		again, err := exchange.Parse(written)
		if err != nil {
			t.Fatalf("%q is written as %q: %v", text, written, err)
		}
		if diff := cmp.Diff(drafts, again); diff != "" {
			t.Errorf("(-first +second)\n%s", diff)
		}
	})
}
