package render_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/render"
)

func TestJoinSections(t *testing.T) {
	if got := render.JoinSections([]render.Section{{"a", "one"}}); got != "one" {
		t.Errorf("a single section must not have markers: got %q", got)
	}
	got := render.JoinSections([]render.Section{{"a", "one\n"}, {"b", "two"}})
	want := "<!-- agentpack:module=a -->\none\n<!-- /agentpack -->\n\n---\n\n<!-- agentpack:module=b -->\ntwo\n<!-- /agentpack -->"
	if got != want {
		t.Errorf("two sections: got %q, want %q", got, want)
	}
}

func TestParseSections(t *testing.T) {
	const start, end = "<!-- agentpack:module=", "<!-- /agentpack -->"
	tests := []struct {
		name, text string
		want       []render.Section
		fault      string
	}{
		{"blanks around a marker", "  " + start + "a -->  \nA\n   " + end + "\n", []render.Section{{"a", "A\n"}}, ""},
		{"line ends are kept", start + "a -->\r\nA\r\nB\r\n" + end, []render.Section{{"a", "A\r\nB\r\n"}}, ""},
		{"text outside of sections is dropped", "x\n" + start + "a -->\nA\n" + end + "\ny\n", []render.Section{{"a", "A\n"}}, ""},
		{"an empty section", end + "\n" + start + "a -->\n" + end + "\n", []render.Section{{"a", ""}}, ""},
		{"a marker with a blank id is text", start + "  -->\nA\n", nil, ""},
		{"a marker within a line is text", "see " + start + "a -->\n", nil, ""},
		{"a nested section", start + "a -->\n" + start + "b -->\n" + end, nil, "nested in"},
		{"an unterminated section", start + "a -->\nA\n", nil, "not terminated"},
		{"two sections of one module", start + "a -->\n" + end + "\n" + start + "a -->\n" + end, nil, "two sections"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := render.ParseSections(test.text)
			if test.fault != "" {
				if err == nil || !strings.Contains(err.Error(), test.fault) {
					t.Fatalf("got %v, want %q", err, test.fault)
				}
				return
			}
			if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got)\n%s", err, diff)
			}
		})
	}
}

// FuzzParseSections checks that ParseSections returns the sections that JoinSections has joined, for any content of
// modules.
func FuzzParseSections(f *testing.F) {
	f.Add("# A\n", "# B")
	f.Add("", "\r\n")
	f.Add("<!-- agentpack:module=a -->", "<!-- /agentpack -->\n")
	f.Fuzz(func(t *testing.T, a, b string) {
		sections, err := render.ParseSections(a)
		for _, section := range sections {
			if section.Module == "" || !strings.Contains(a, section.Content) {
				t.Fatalf("%q has no section %q", a, section)
			}
		}
		_, err2 := render.ParseSections(b)
		if err != nil || err2 != nil || len(sections) > 0 || strings.Contains(a+b, "agentpack") {
			return
		}
		ended := func(text string) string {
			if strings.HasSuffix(text, "\n") {
				return text
			}
			return text + "\n"
		}
		got, err := render.ParseSections(render.JoinSections([]render.Section{{"a", a}, {"b:c", b}}))
		if diff := cmp.Diff([]render.Section{{"a", ended(a)}, {"b:c", ended(b)}}, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got)\n%s", err, diff)
		}
	})
}
