package skills_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/skills"
	"github.com/bulkhead-mcp/bulkhead/sdk/frontmatter"
)

// FuzzInstructions checks that whatever is accepted as SKILL.md has front matter that is a JSON object with the keys of the YAML, whose
// strings are those of the YAML.
func FuzzInstructions(f *testing.F) {
	for _, seed := range []string{head, "---\nname: demo\ndescription: >\n  a\n  b\nmetadata: {a: [1, ~, x: y]}\n---\n", "---\nname: demo\ndescription: \"\\u0000\\ud800\"\n---\n",
		"---\r\nname: demo\r\ndescription: d\r\n---\r\n", "---\nname: demo\ndescription: d\n\"a\\tb\": -0\n'': .5\n---\n", "---\n? [a]\n: b\n---\n"} {
		f.Add(seed)
	}
	top := f.TempDir()
	if err := os.Mkdir(filepath.Join(top, "demo"), 0o700); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(filepath.Join(top, "demo", skills.FileName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := skills.Load(top, "demo")
		if err != nil {
			return
		}
		var decoded map[string]any
		if err := json.Unmarshal(s.Frontmatter, &decoded); err != nil {
			t.Fatalf("%v: %s", err, s.Frontmatter)
		}
		head, _, err := frontmatter.Cut(text)
		if err != nil {
			t.Fatal(err)
		}
		root, err := frontmatter.Parse(head, frontmatter.Options{})
		if err != nil {
			t.Fatal(err)
		}
		count := 0
		for key, value := range root.Pairs() {
			count++
			got, is := decoded[key.Text].(string)
			if value.Kind == frontmatter.Scalar && is && got != strings.ToValidUTF8(value.Text, "\ufffd") {
				t.Errorf("%s is %q, want %q", key.Text, got, value.Text)
			}
		}
		if len(decoded) != count || s.Name != "demo" || s.Description == "" {
			t.Errorf("%d keys, want %d; name %q, description %q", len(decoded), count, s.Name, s.Description)
		}
	})
}
