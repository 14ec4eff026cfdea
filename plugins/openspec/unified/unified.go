// Package unified compares two texts line by line, and returns the hunks of a unified diff.
//
//	hunks, ok := unified.Diff(before, after)
//
// The hunks are those that the openspec command line prints, byte for byte. Of several shortest sequences of edits, it
// chooses other ones than git and sdk/linediff do.
package unified

import (
	"fmt"
	"slices"
	"strings"
)

// context is the number of unchanged lines that a hunk shows before and after changed lines.
const context = 4

// maxEdits is the maximum number of removed and added lines, because time and memory grow with the square of that
// number.
const maxEdits = 1000

// edit is one line of a comparison. The line is kept (' '), removed ('-') or added ('+').
type edit struct {
	kind byte
	line string
}

// Diff returns the hunks that turn before into after, without file names; "" if the texts are equal. The result ok is
// false if more than maxEdits lines differ.
func Diff(before, after string) (hunks string, ok bool) {
	edits, ok := compare(strings.Split(before, "\n"), strings.Split(after, "\n"))
	if !ok {
		return "", false
	}
	return strings.Join(format(edits), "\n"), true
}

// compare returns a shortest sequence of edits that turns before into after. It uses the greedy algorithm of E. W.
// Myers ("An O(ND) Difference Algorithm and Its Variations", 1986).
func compare(before, after []string) (edits []edit, ok bool) {
	limit := min(len(before)+len(after), maxEdits)
	furthest := make([]int, 2*limit+3) // the furthest index in before on each diagonal; diagonal 0 is at the index middle
	middle := limit + 1
	var trace [][]int
	for d := 0; d <= limit; d++ {
		trace = append(trace, append([]int(nil), furthest[middle-d:middle+d+1]...))
		for k := -d; k <= d; k += 2 {
			x := 0
			if k == -d || k != d && furthest[middle+k-1] < furthest[middle+k+1] {
				x = furthest[middle+k+1]
			} else {
				x = furthest[middle+k-1] + 1
			}
			y := x - k
			for x < len(before) && y < len(after) && before[x] == after[y] {
				x, y = x+1, y+1
			}
			furthest[middle+k] = x
			if x >= len(before) && y >= len(after) {
				return walkBack(trace, before, after), true
			}
		}
	}
	return nil, false
}

// walkBack computes the edits from trace, which holds the furthest indexes before each step.
func walkBack(trace [][]int, before, after []string) []edit {
	var edits []edit // in reverse
	x, y := len(before), len(after)
	for d := len(trace) - 1; d >= 0; d-- {
		at := func(k int) int { return trace[d][k+d] } // returns the furthest index on diagonal k before step d
		k := x - y
		down := k == -d || k != d && d > 0 && at(k-1) < at(k+1)
		previous := k - 1
		if down {
			previous = k + 1
		}
		fromX, fromY := 0, 0
		if d > 0 {
			fromX = at(previous)
			fromY = fromX - previous
		}
		for x > fromX && y > fromY {
			x, y = x-1, y-1
			edits = append(edits, edit{' ', before[x]})
		}
		if d == 0 {
			break
		}
		if down {
			y--
			edits = append(edits, edit{'+', after[y]})
		} else {
			x--
			edits = append(edits, edit{'-', before[x]})
		}
	}
	slices.Reverse(edits)
	return edits
}

// format returns the hunks of a diff as text.
func format(edits []edit) []string {
	var out []string
	oldLine, newLine := 1, 1
	for i := 0; i < len(edits); {
		next := nextChange(edits, i)
		if next == len(edits) {
			break
		}
		start := max(i, next-context)
		oldLine, newLine = oldLine+start-i, newLine+start-i
		end := hunkEnd(edits, next)
		header := len(out)
		out = append(out, "")
		olds, news := 0, 0
		for _, one := range ordered(edits[start:end]) {
			out = append(out, string(one.kind)+one.line)
			if one.kind != '+' {
				olds++
			}
			if one.kind != '-' {
				news++
			}
		}
		out[header] = fmt.Sprintf("@@ -%s +%s @@", place(oldLine, olds), place(newLine, news))
		oldLine, newLine = oldLine+olds, newLine+news
		i = end
	}
	return out
}

func nextChange(edits []edit, from int) int {
	for from < len(edits) && edits[from].kind == ' ' {
		from++
	}
	return from
}

// hunkEnd returns the end of the hunk whose first change is at the index "from". Changes with few lines between them
// share a hunk.
func hunkEnd(edits []edit, from int) int {
	for {
		last := from
		for last < len(edits) && edits[last].kind != ' ' {
			last++
		}
		next := nextChange(edits, last)
		if next == len(edits) || next-last > 2*context {
			return min(last+context, len(edits))
		}
		from = next
	}
}

// ordered puts the removed lines before the added lines in each run of changed lines.
func ordered(edits []edit) []edit {
	var out, added []edit
	for _, one := range edits {
		switch one.kind {
		case '+':
			added = append(added, one)
			continue
		case ' ':
			out, added = append(out, added...), nil
		}
		out = append(out, one)
	}
	return append(out, added...)
}

// place formats the line range of a hunk. For an empty range it names the preceding line.
func place(line, count int) string {
	if count == 0 {
		line--
	}
	return fmt.Sprintf("%d,%d", line, count)
}
