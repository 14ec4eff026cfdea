package unified_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/sdk/unified"
)

func TestDiff(t *testing.T) {
	lines := func(from, to int) string {
		var all []string
		for i := from; i <= to; i++ {
			all = append(all, strconv.Itoa(i))
		}
		return strings.Join(all, "\n")
	}
	for name, test := range map[string]struct{ before, after, want string }{
		"the same":        {"a\nb", "a\nb", ""},
		"a line replaced": {"a\nb\nc", "a\nx\nc", "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c"},
		"two hunks":       {lines(1, 20), strings.Replace(lines(2, 20), "19", "x", 1), "@@ -1,5 +1,4 @@\n-1\n 2\n 3\n 4\n 5\n@@ -15,6 +14,6 @@\n 15\n 16\n 17\n 18\n-19\n+x\n 20"},
		"one of many":     {lines(1, 9), lines(1, 4) + "\n" + lines(6, 9), "@@ -1,9 +1,8 @@\n 1\n 2\n 3\n 4\n-5\n 6\n 7\n 8\n 9"},
	} {
		got, ok := unified.Diff(test.before, test.after)
		if diff := cmp.Diff(test.want, got); !ok || diff != "" {
			t.Errorf("%s: %t (-want +got)\n%s", name, ok, diff)
		}
	}
	if _, ok := unified.Diff(strings.Repeat("a\n", 2001), strings.Repeat("b\n", 2000)); ok {
		t.Error("Diff compared texts with 4,001 edits")
	}
}

// TestDiffAgreesWithOpenSpec compares Diff with the function that openspec 1.13.2 calls, which uses jsdiff 9.0.0. The
// pairs are those for which sdk/linediff returns other edits.
func TestDiffAgreesWithOpenSpec(t *testing.T) {
	raw, err := os.ReadFile("testdata/jsdiff.json")
	if err != nil {
		t.Fatal(err)
	}
	var pairs []struct{ Before, After, Hunks string }
	if err := json.Unmarshal(raw, &pairs); err != nil || len(pairs) < 10 {
		t.Fatalf("%d pairs, %v", len(pairs), err)
	}
	for _, pair := range pairs {
		got, ok := unified.Diff(pair.Before, pair.After)
		if diff := cmp.Diff(pair.Hunks, strings.TrimRight(got, " \n")); !ok || diff != "" {
			t.Errorf("%q, %q: %t (-want +got)\n%s", pair.Before, pair.After, ok, diff)
		}
	}
}

// TestPatchAgreesWithJsdiff compares Patch with createTwoFilesPatch of jsdiff 8.0.4.
func TestPatchAgreesWithJsdiff(t *testing.T) {
	raw, err := os.ReadFile("testdata/patches.json")
	if err != nil {
		t.Fatal(err)
	}
	var all [][3]string
	if err := json.Unmarshal(raw, &all); err != nil || len(all) < 100 {
		t.Fatalf("%d patches, %v", len(all), err)
	}
	for _, c := range all {
		if diff := cmp.Diff(c[2], unified.Patch("f", "original", "modified", c[0], c[1])); diff != "" {
			t.Errorf("%q, %q: (-want +got)\n%s", c[0], c[1], diff)
		}
	}
}

func TestPatchOfManyEditsIsOneChange(t *testing.T) {
	before, after := "same\n"+strings.Repeat("a\n", 3000)+"end", "same\n"+strings.Repeat("b\n", 3000)+"end"
	want := "Index: f\n" + strings.Repeat("=", 67) + "\n--- f\tx\n+++ f\ty\n@@ -1,3002 +1,3002 @@\n same\n" +
		strings.Repeat("-a\n", 3000) + strings.Repeat("+b\n", 3000) + " end\n\\ No newline at end of file\n"
	if got := unified.Patch("f", "x", "y", before, after); got != want {
		t.Errorf("got %d bytes, want %d: %.200s", len(got), len(want), got)
	}
}

// FuzzDiff checks that applying the hunks to the first text returns the second text.
func FuzzDiff(f *testing.F) {
	f.Add("a\nb\nc", "a\nc\nd")
	f.Add("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11", "1\nx\n3\n4\n5\n6\n7\n8\n9\n10\ny")
	f.Fuzz(func(t *testing.T, before, after string) {
		hunks, ok := unified.Diff(before, after)
		if !ok {
			return
		}
		if got, err := patch(before, hunks); err != nil || got != after {
			t.Errorf("%q and %q give %q, which gives %q, %v", before, after, hunks, got, err)
		}
	})
}

func patch(before, hunks string) (string, error) {
	old := strings.Split(before, "\n")
	if hunks == "" {
		return before, nil
	}
	var out []string
	at := 0
	for line := range strings.SplitSeq(hunks, "\n") {
		var start, count, to, n int
		if _, err := fmt.Sscanf(line, "@@ -%d,%d +%d,%d @@", &start, &count, &to, &n); err == nil && strings.HasPrefix(line, "@@") {
			if count > 0 {
				start--
			}
			out = append(out, old[at:start]...)
			at = start
			continue
		}
		switch {
		case strings.HasPrefix(line, "+"):
			out = append(out, line[1:])
		case line == "" || at >= len(old) || line[1:] != old[at]:
			return "", fmt.Errorf("line %d is not %q", at, line)
		default:
			if line[0] == ' ' {
				out = append(out, old[at])
			}
			at++
		}
	}
	return strings.Join(append(out, old[at:]...), "\n"), nil
}
