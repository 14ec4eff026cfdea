package scenario

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/scratch"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
)

// FuzzBlock checks that a recorded string is read as it was.
func FuzzBlock(f *testing.F) {
	for _, text := range []string{"", "a", "a\nb", "\n\n", "a\r\nb\\\n", "\"\"\"\n'''\"", "\x00\n\u202e\U000e0001\n", "$${project}\n${x"} {
		f.Add(text)
	}
	d, err := scratch.New("")
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { d.Close() })
	p := newPlaces(d, "it")
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) || len(text) > 1<<16 {
			return
		}
		doc, ps := tomlfile.Parse("it", []byte("a = "+block(text)+"\n"))
		if ps.Err() != nil {
			t.Fatal(ps)
		}
		if got := doc.Root().String("a"); got != text {
			t.Errorf("%q is read as %q", text, got)
		}
		if strings.Contains(text, d.Project()[:4]) {
			return // a path may overlap with the text around it
		}
		if got := p.expand(p.insert(text)); got != text {
			t.Errorf("%q is expanded to %q", text, got)
		}
	})
}

func TestDiffShowsWhereLongLinesDiffer(t *testing.T) {
	long := strings.Repeat("x", 1000)
	got := strings.Join(diff(long+"a", long+"b"), "\n")
	if !strings.HasSuffix(strings.Split(got, "\n")[0], "xxb") || !strings.HasSuffix(got, "xxa") || len(got) > 200 {
		t.Errorf("got %s", got)
	}
}

func TestDiffBoundsLines(t *testing.T) {
	got := diff(strings.Repeat("a\n", 1000), strings.Repeat("b\n", 1000))
	if len(got) > 2*(maxLines+1)+2*around || got[maxLines] != "- … 980 more lines" {
		t.Errorf("got %d lines: %q", len(got), got)
	}
}

func TestDiffShowsEachDifference(t *testing.T) {
	got := diff("a\n1\n2\n3\n4\n5\nB\nc", "a\n0\n1\n2\n3\n4\n5\nb\nc")
	if want := []string{"  a", "- 0", "  1", "  2", "  …", "  4", "  5", "- b", "+ B", "  c"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := diff(strings.Repeat("a\nb\n", 100), strings.Repeat("a\n", 100)); len(got) > maxDiff+maxLines {
		t.Errorf("got %d lines", len(got))
	}
}
