package yamldoc_test

import (
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/yamldoc"
)

func TestParseFrontMatter(t *testing.T) {
	tests := []struct{ name, text, want, fault string }{
		{"keys and values", "---\nname: a\n---\nbody", "a", ""},
		{"line ends of Windows", "---\r\nname: a\r\n---\r\nbody", "a", ""},
		{"end of file after the dashes", "---\nname: a\n---", "a", ""},
		{"dashes in a value", "---\nname: '---'\n---\n", "---", ""},
		{"no front matter", "# a\n", "", "does not begin"},
		{"nothing", "", "", "does not begin"},
		{"a blank before the dashes", " ---\nname: a\n---\n", "", "does not begin"},
		{"four dashes", "----\nname: a\n---\n", "", "does not begin"},
		{"no end", "---\nname: a\n", "", "is not terminated"},
		{"a list", "---\n- a\n---\n", "", "must be a map, not a list"},
		{"empty", "---\n---\n", "", "must be a map, not nothing"},
		{"not YAML", "---\n[\n---\n", "", ""},
		{"not UTF-8", "---\nname: \xff\n---\n", "", "UTF-8"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			values, err := yamldoc.ParseFrontMatter([]byte(test.text))
			if test.want == "" {
				if err == nil || !strings.Contains(err.Error(), test.fault) {
					t.Errorf("got %v, want %q", err, test.fault)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got, err := values["name"].AsString(); got != test.want || err != nil {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

// FuzzParseFrontMatter checks that ParseFrontMatter accepts only front matter between two lines "---".
func FuzzParseFrontMatter(f *testing.F) {
	f.Add("---\nname: a\ndescription: b\n---\n# a\n")
	f.Add("---\r\nname: &a a\r\nx: *a\r\n---\r\n")
	f.Add("---\n{}\n---")
	f.Fuzz(func(t *testing.T, text string) {
		values, err := yamldoc.ParseFrontMatter([]byte(text))
		if err == nil && (!strings.HasPrefix(text, "---") || strings.Count(text, "---") < 2) {
			t.Errorf("%q: got %v", text, values)
		}
	})
}
