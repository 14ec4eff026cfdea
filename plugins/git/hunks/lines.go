// Package hunks writes the changes of a text in git's unified format. Start with Write. Of several shortest lists of changes it chooses the
// one that git diff shows by default: it searches in the same order, with the same bounds, and moves changes by the same rules (the indent
// heuristic), which are described in git-diff(1) and in E. Myers, "An O(ND) Difference Algorithm and Its Variations".
package hunks

import "bytes"

// text is one side of a comparison.
type text struct {
	lines   [][]byte // lines with their line feeds
	ids     []int    // number of each line; equal lines have equal numbers
	changed []bool   // whether a line is deleted or inserted; the element after the last line is a sentinel
}

// newTexts splits two contents into lines.
func newTexts(before, after []byte) (*text, *text) {
	numbers := map[string]int{}
	number := func(content []byte) *text {
		t := &text{lines: bytes.SplitAfter(content, []byte("\n"))}
		if last := len(t.lines) - 1; len(t.lines[last]) == 0 {
			t.lines = t.lines[:last]
		}
		t.ids = make([]int, len(t.lines))
		for i, line := range t.lines {
			id, ok := numbers[string(line)]
			if !ok {
				id = len(numbers)
				numbers[string(line)] = id
			}
			t.ids[i] = id
		}
		t.changed = make([]bool, len(t.lines)+1)
		return t
	}
	return number(before), number(after)
}

func (t *text) isChanged(i int) bool { return i >= 0 && t.changed[i] }

// compare marks the lines that differ.
func compare(a, b *text) {
	start, endA, endB := 0, len(a.ids), len(b.ids)
	for start < endA && start < endB && a.ids[start] == b.ids[start] {
		start++
	}
	for endA > start && endB > start && a.ids[endA-1] == b.ids[endB-1] {
		endA, endB = endA-1, endB-1
	}
	countA, countB := a.counts(), b.counts()
	s := &search{
		a: a.candidates(start, endA, countB),
		b: b.candidates(start, endB, countA),
	}
	s.run()
	compact(a, b)
	compact(b, a)
}

// counts returns the number of lines with each id.
func (t *text) counts() map[int]int {
	counts := make(map[int]int, len(t.ids))
	for _, id := range t.ids {
		counts[id]++
	}
	return counts
}

// root returns a power of two near the square root of n.
func root(n int) int {
	r := 1
	for ; n > 0; n >>= 2 {
		r <<= 1
	}
	return r
}

const (
	maxFrequent = 1024 // lines that occur so often on the other side may be left out of the search
	window      = 100  // lines around a frequent line that decide whether it is left out
)

// Kinds of lines by the number of equal lines on the other side.
const (
	unmatched byte = iota
	matched
	frequent
)

// candidates returns the lines that the search compares. Lines without a match, and frequent lines among such lines, are changed in any case.
func (t *text) candidates(start, end int, others map[int]int) *side {
	limit := min(root(len(t.ids)), maxFrequent)
	kinds := make([]byte, end-start)
	for i := range kinds {
		switch n := others[t.ids[start+i]]; {
		case n >= limit:
			kinds[i] = frequent
		case n > 0:
			kinds[i] = matched
		}
	}
	s := &side{text: t}
	for i, kind := range kinds {
		if kind == matched || kind == frequent && !isNoise(kinds, i) {
			s.at = append(s.at, start+i)
			s.ids = append(s.ids, t.ids[start+i])
		} else {
			t.changed[start+i] = true
		}
	}
	return s
}

// isNoise reports whether a frequent line is in the middle of a run that consists mostly of lines without a match.
func isNoise(kinds []byte, i int) bool {
	run := func(step int) (without, many int) {
		for n := 1; n <= window; n++ {
			at := i + n*step
			if at < 0 || at >= len(kinds) || kinds[at] == matched {
				break
			}
			if kinds[at] == unmatched {
				without++
			} else {
				many++
			}
		}
		return without, many
	}
	before, manyBefore := run(-1)
	if before == 0 {
		return false
	}
	after, manyAfter := run(1)
	if after == 0 {
		return false
	}
	many := manyBefore + manyAfter + 2
	return many*4 < many+before+after
}
