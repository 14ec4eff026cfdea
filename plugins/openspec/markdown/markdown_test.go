package markdown_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
)

func TestFences(t *testing.T) {
	for name, test := range map[string]struct{ source, mask string }{
		"backticks":                    {"a\n```\n# b\n```\nc", ".###."},
		"tildes":                       {"~~~ md\n# b\n~~~\nc", "###."},
		"a longer fence holds another": {"````\n```\n# b\n```\n````\nc", "#####."},
		"the other kind ends none":     {"```\n~~~\n```\nc", "###."},
		"indented":                     {"  ```\nx\n   ``` \nc", "###."},
		"what follows ends none":       {"```\n``` x\n```\nc", "###."},
		"not closed":                   {"a\n```\nb\n", ".###"},
		"two are too few":              {"``\nb", ".."},
	} {
		text := markdown.Parse(test.source)
		var mask strings.Builder
		for i := range text.Lines {
			mask.WriteByte(map[bool]byte{true: '#', false: '.'}[text.Fenced(i)])
		}
		if mask.String() != test.mask {
			t.Errorf("%s: got %s, want %s", name, &mask, test.mask)
		}
	}
}

func TestHeader(t *testing.T) {
	for line, want := range map[string]int{
		"# a": 1, "###### a": 6, "####### a": 0, "#a": 0, " # a": 0, "#": 0, "# ": 0, "#\ta": 1, "#\u00a0a": 1, "##  a  ": 2, "#  ": 1, "# a\u2028": 0, "# \u2028": 0, "#\u2028a": 1,
	} {
		if level, _, _ := markdown.Parse(line).Header(0); level != want {
			t.Errorf("%q: level %d, want %d", line, level, want)
		}
	}
}

func TestLineWithoutTitleEndsSection(t *testing.T) {
	sections := markdown.Parse("## a\nx\n# \ny\n### b\nz\n").Sections()
	if len(sections) != 1 || sections[0].Content() != "x" || len(sections[0].Children) != 1 || sections[0].Children[0].Content() != "z" {
		t.Errorf("%+v", sections)
	}
}

func TestIndented(t *testing.T) {
	for line, want := range map[string]int{"# a": 1, "   ## a": 2, "    # a": 0, "#": 1, "#a": 0, "#\ta": 1, "#\u00a0a": 0, "####### a": 0, "": 0} {
		if level, _ := markdown.Indented(line); level != want {
			t.Errorf("%q: level %d, want %d", line, level, want)
		}
	}
}

func TestLineEndsAndByteOrderMark(t *testing.T) {
	if got := markdown.Normalize("\uFEFFa\r\nb\rc\n"); got != "a\nb\nc\n" {
		t.Errorf("got %q", got)
	}
}

func TestSections(t *testing.T) {
	text := markdown.Parse("# t\n## Purpose\np\n### Sub\nq\n\n## Other\n```\n## No\n```\n#### Deep\nd\n")
	var outline []string
	var walk func(prefix string, all []*markdown.Section)
	walk = func(prefix string, all []*markdown.Section) {
		for _, one := range all {
			outline = append(outline, prefix+one.Title)
			walk(prefix+"-", one.Children)
		}
	}
	walk("", text.Sections())
	if diff := cmp.Diff([]string{"t", "-Purpose", "--Sub", "-Other", "--Deep"}, outline); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := markdown.Find(text.Sections(), "purpose").Content(); got != "p\n### Sub\nq" {
		t.Errorf("the section has the content %q", got)
	}
	if markdown.Find(text.Sections(), "No") != nil {
		t.Error("a header in a fence was found")
	}
}

func TestLengthIsInUTF16(t *testing.T) {
	if got := markdown.Length("aé😀"); got != 4 {
		t.Errorf("got %d", got)
	}
}

// FuzzParse checks that no line is lost, and that all sections are within the text.
func FuzzParse(f *testing.F) {
	f.Add("# a\n```\n# b\n")
	f.Add("\uFEFF## x\r\n### y\r~~~")
	f.Fuzz(func(t *testing.T, source string) {
		text := markdown.Parse(source)
		if text.String() != markdown.Normalize(source) {
			t.Errorf("%q became %q", source, text)
		}
		for _, section := range text.Sections() {
			if !strings.Contains(text.String(), section.Body.String()) {
				t.Errorf("%q is not in %q", section.Body, source)
			}
		}
	})
}
