package diff_test

import (
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/diff"
)

func TestUnified(t *testing.T) {
	const head = "--- a/f.md\n+++ b/f.md\n"
	tests := []struct{ name, before, after, want string }{
		{"a new file of a line", "", "a\n", head + "@@ -0,0 +1 @@\n+a\n"},
		{"a new file of lines", "", "a\nb\n", head + "@@ -0,0 +1,2 @@\n+a\n+b\n"},
		{"a line changes", "a\nb\nc\n", "a\nB\nc\n", head + "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"},
		{"the last line has no end", "a", "b", head + "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n"},
		{"the file is emptied", "a\n", "", head + "@@ -1 +0,0 @@\n-a\n"},
		{"three lines around a change", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\n5\n6\n7\n8\nx\n", head + "@@ -6,4 +6,4 @@\n 6\n 7\n 8\n-9\n+x\n"},
		{"nothing changes", "a\n", "a\n", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := diff.Unified("f.md", []byte(test.before), []byte(test.after))
			if err != nil || got != test.want {
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			}
		})
	}
}

func TestUnifiedRefuses(t *testing.T) {
	for want, texts := range map[string][2]string{
		"UTF-8":       {"a", "\xff"},
		"larger than": {strings.Repeat("a\n", 40_000), strings.Repeat("b\n", 40_000)},
	} {
		if got, err := diff.Unified("f", []byte(texts[0]), []byte(texts[1])); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %.40q, %v, want %q", got, err, want)
		}
	}
}

// FuzzUnified: applying the diff to before gives after.
func FuzzUnified(f *testing.F) {
	f.Add("a\nb\nc", "a\nc\n")
	f.Add("", "x")
	f.Add("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "2\n3\n4\n5\n6\n7\n8\n9\n0\n")
	f.Add("a\r\n", "a\n")
	f.Fuzz(func(t *testing.T, before, after string) {
		patch, err := diff.Unified("f", []byte(before), []byte(after))
		// Apply accepts only one line each that begins with --- and +++.
		if err != nil || patch == "" || strings.Count(patch, "\n---")+strings.Count(patch, "\n+++") > 1 {
			return
		}
		got, err := diff.Apply("f", []byte(before), []byte(patch))
		if err != nil || string(got) != after {
			t.Errorf("%q to %q: got %q, %v by %q", before, after, got, err, patch)
		}
	})
}
