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
		t.Errorf("%d items are read", len(drafts))
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
		"what is no JSON":              {"hello", "this is no exported project: invalid character 'h'"},
		"an empty text":                {"", "this is no exported project: unexpected end of JSON input"},
		"another format":               {`{"format":"x\ny","version":1}`, "its format is 'x?y', not 'mcpkg-project'"},
		"a newer version":              {`{"format":"mcpkg-project","version":2,"novel":true}`, "written by a newer version (2; this one reads 1)"},
		"no version":                   {`{"format":"mcpkg-project"}`, "version: 0 is not 1"},
		"an unknown key":               {start + `"author":"x"}`, `unknown field "author"`},
		"an unknown key of a prompt":   {start + `"prompts":[{"name":"a","content":"x","stars":1}]}`, `unknown field "stars"`},
		"something behind it":          {start + `"prompts":[]} {}`, "this is no exported project: invalid character '{' after top-level value"},
		"a list of another type":       {start + `"prompts":{}}`, "cannot unmarshal object"},
		"an invalid name":              {start + `"prompts":[{"name":"a","content":"x"},{"name":"a b","content":"x"}]}`, "prompts[1] 'a b': Prompt name 'a b' contains invalid characters"},
		"an empty prompt":              {start + `"prompts":[{"name":"a","content":""}]}`, "prompts[0] 'a': Prompt content cannot be empty"},
		"a resource without content":   {start + `"resources":[{"name":"a","uri":"a:b"}]}`, "resources[0] 'a': Resource content cannot be empty"},
		"a resource with two contents": {start + `"resources":[{"name":"a","uri":"a:b","content":"x","content_base64":"eA=="}]}`, "content stands beside content_base64"},
		"bad base64":                   {start + `"resources":[{"name":"a","uri":"a:b","content_base64":"!"}]}`, "resources[0] 'a': Resource content is not valid base64 for MIME type 'text/plain'"},
		"a bad URI":                    {start + `"resources":[{"name":"a","uri":"b","content":"x"}]}`, "resources[0] 'a': Resource URI 'b' is invalid"},
		"a name twice":                 {start + `"prompts":[{"name":"a","content":"x"},{"name":"a","content":"y"}]}`, "Prompt 'a' is in the file twice"},
		"a URI twice":                  {start + `"resources":[{"name":"a","uri":"a:b","content":"x"},{"name":"b","uri":"a:b","content":"y"}]}`, "the URI 'a:b' is in the file twice"},
	} {
		t.Run(name, func(t *testing.T) {
			drafts, err := exchange.Parse(test.text)
			if err == nil || !strings.Contains(err.Error(), test.want) {
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
