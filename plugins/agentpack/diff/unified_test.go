package diff_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/diff"
)

func TestUnified(t *testing.T) {
	const head = "--- a/f.md\n+++ b/f.md\n"
	tests := []struct{ name, before, after, want string }{
		{"a new file with one line", "", "a\n", head + "@@ -0,0 +1 @@\n+a\n"},
		{"a new file with several lines", "", "a\nb\n", head + "@@ -0,0 +1,2 @@\n+a\n+b\n"},
		{"a line changes", "a\nb\nc\n", "a\nB\nc\n", head + "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"},
		{"no final newline", "a", "b", head + "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n"},
		{"the file is emptied", "a\n", "", head + "@@ -1 +0,0 @@\n-a\n"},
		{"three context lines around a change", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\n5\n6\n7\n8\nx\n", head + "@@ -6,4 +6,4 @@\n 6\n 7\n 8\n-9\n+x\n"},
		{"nothing changes", "a\n", "a\n", ""},
		{"two empty texts", "", "", ""},
		{"only the last newline", "a", "a\n", head + "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		{"only line ends", "a\r\nb\r\n", "a\nb\r\n", head + "@@ -1,2 +1,2 @@\n-a\r\n+a\n b\r\n"},
		{"a carriage return does not end a line", "a\rb\n", "a\rc\n", head + "@@ -1 +1 @@\n-a\rb\n+a\rc\n"},
		{
			"hunks after one that deletes and inserts", "a\nb\n1\n2\n3\n4\n5\n6\n7\n8\n9\n", "x\ny\nz\n1\n2\n3\n4\n5\n6\n7\n8\n",
			head + "@@ -1,5 +1,6 @@\n-a\n-b\n+x\n+y\n+z\n 1\n 2\n 3\n@@ -8,4 +9,3 @@\n 6\n 7\n 8\n-9\n",
		},
		{"six lines between changes are shown", "a\n1\n2\n3\n4\n5\n6\nb\n", "1\n2\n3\n4\n5\n6\n", head + "@@ -1,8 +1,6 @@\n-a\n 1\n 2\n 3\n 4\n 5\n 6\n-b\n"},
		{"a repeated paragraph", "a\n\nb\n", "a\n\na\n\nb\n", head + "@@ -1,3 +1,5 @@\n a\n \n+a\n+\n b\n"},
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

// TestUnifiedQuotesNames checks that a name with special characters is quoted as git quotes it, and that other names
// are not quoted.
func TestUnifiedQuotesNames(t *testing.T) {
	for name, want := range map[string]string{
		"d/f.md": "a/d/f.md", "a b": "a/a b", "é": "a/é", "a\nb": `"a/a\012b"`, `a"b`: `"a/a\"b"`, `a\b`: `"a/a\\b"`, "a\tb\x7f": `"a/a\011b\177"`,
	} {
		got, err := diff.Unified(name, nil, []byte("x\n"))
		if first, _, _ := strings.Cut(got, "\n"); err != nil || first != "--- "+want {
			t.Errorf("%q: got %q, %v", name, first, err)
		}
	}
}

// TestUnifiedOfUnlikeTexts checks that Unified returns a longer, valid diff if a shortest diff would take too many
// steps.
func TestUnifiedOfUnlikeTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		var lines strings.Builder
		for range 12_000 {
			lines.WriteString(string(rune('a'+r.IntN(26))) + "\n")
		}
		return lines.String()
	}
	before, after := text(), text()
	got, err := diff.Unified("f", []byte(before), []byte(after))
	if err != nil {
		t.Fatal(err)
	}
	requireExact(t, got, before, after)
}

func TestUnifiedRefuses(t *testing.T) {
	for want, texts := range map[string][2]string{
		"UTF-8":       {"a", "\xff"},
		"larger than": {strings.Repeat("a\n", 40_000), strings.Repeat("b\n", 40_000)},
		"lines":       {strings.Repeat("\n", 600_000), strings.Repeat("\n", 600_001)},
	} {
		if got, err := diff.Unified("f", []byte(texts[0]), []byte(texts[1])); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %.40q, %v, want %q", got, err, want)
		}
	}
}

// FuzzUnified checks that the diff turns before into after, and that each hunk applies at the line that the hunk
// states.
func FuzzUnified(f *testing.F) {
	f.Add("a\nb\nc", "a\nc\n")
	f.Add("", "x")
	f.Add("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "2\n3\n4\n5\n6\n7\n8\n9\n0\n")
	f.Add("a\r\n", "a\n")
	for seed := range uint64(30) {
		before, after := randomPair(seed)
		f.Add(before, after)
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		patch, err := diff.Unified("f", []byte(before), []byte(after))
		if err != nil {
			return
		}
		if (patch == "") != (before == after) {
			t.Errorf("%q to %q: got %q", before, after, patch)
		}
		requireExact(t, patch, before, after)
		// Apply accepts a patch only if one line begins with "--- " and one with "+++ ", which are the two lines of the
		// header. A removed line that begins with "-- ", or an added line that begins with "++ ", looks like a further
		// header line.
		if patch == "" || strings.Count(patch, "\n--- ")+strings.Count(patch, "\n+++ ") > 1 {
			return
		}
		if got, err := diff.Apply("f", []byte(before), []byte(patch)); err != nil || string(got) != after {
			t.Errorf("%q to %q: got %q, %v by %q", before, after, got, err, patch)
		}
	})
}
