package linediff_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/sdk/linediff"
)

func ExampleCompare() {
	before := []string{"bread", "milk", "tea"}
	after := []string{"bread", "oats", "tea", "salt"}
	for _, op := range linediff.Compare(before, after) {
		lines := before[op.Old:]
		if op.Kind == linediff.Insert {
			lines = after[op.New:]
		}
		for _, line := range lines[:op.Count] {
			fmt.Printf("%c%s\n", op.Kind, line)
		}
	}
	// Output:
	//  bread
	// -milk
	// +oats
	//  tea
	// +salt
}

// FuzzCompare checks that the operations turn one text into the other. For short texts, it checks that no shorter sequence does.
func FuzzCompare(f *testing.F) {
	f.Add("", "")
	f.Add("abcabba", "cbabac")
	f.Add("ab", "aab")
	f.Add("a\n\nb", "a\n\na\n\nb")
	f.Fuzz(func(t *testing.T, old, new string) {
		before, after := strings.Split(old, ""), strings.Split(new, "")
		ops := linediff.Compare(before, after)
		edits := checkOperations(t, before, after, ops)
		if len(before)*len(after) > 10_000 {
			return
		}
		if want := len(before) + len(after) - 2*commonLines(before, after); edits != want {
			t.Errorf("%q, %q: %d edits, want %d: %v", before, after, edits, want, ops)
		}
	})
}

// checkOperations checks that operations turn one text into the other, and returns the number of lines that they delete or insert.
func checkOperations(t *testing.T, before, after []string, ops []linediff.Op) (edits int) {
	t.Helper()
	atOld, atNew := 0, 0
	for _, op := range ops {
		if op.Old != atOld || op.New != atNew || op.Count < 1 {
			t.Fatalf("%q, %q: %v is not the operation at %d, %d of %v", before, after, op, atOld, atNew, ops)
		}
		switch op.Kind {
		case linediff.Keep:
			if !slices.Equal(before[atOld:atOld+op.Count], after[atNew:atNew+op.Count]) {
				t.Fatalf("%q, %q: %v keeps different lines", before, after, op)
			}
			atOld, atNew = atOld+op.Count, atNew+op.Count
		case linediff.Delete:
			atOld, edits = atOld+op.Count, edits+op.Count
		case linediff.Insert:
			atNew, edits = atNew+op.Count, edits+op.Count
		}
	}
	if atOld != len(before) || atNew != len(after) {
		t.Fatalf("%q, %q: the operations end at %d, %d: %v", before, after, atOld, atNew, ops)
	}
	return edits
}

// commonLines returns the length of the longest common subsequence of two texts.
func commonLines(before, after []string) int {
	row := make([]int, len(after)+1)
	for _, line := range before {
		diagonal := 0
		for j, other := range after {
			above := row[j+1]
			if row[j+1] = max(above, row[j]); line == other {
				row[j+1] = diagonal + 1
			}
			diagonal = above
		}
	}
	return row[len(after)]
}

func TestCompareIsBounded(t *testing.T) {
	text := func(seed, factor int) []string {
		lines := make([]string, 100_000)
		for i := range lines {
			seed = (seed*factor + 12345) & 0x7fffffff
			lines[i] = fmt.Sprint(seed >> 16 % 26)
		}
		return lines
	}
	before, after := text(1, 1103515245), text(2, 69069)
	ops := linediff.Compare(before, after)
	// The minimum is far below: the search has ended at its bound.
	if edits := checkOperations(t, before, after, ops); edits != len(before)+len(after) {
		t.Errorf("%d lines are deleted or inserted, want all", edits)
	}
}
