package unified

import (
	"math"
	"slices"
)

// edit is one line of a comparison. The line is kept (' '), removed ('-') or added ('+').
type edit struct {
	kind byte
	line string
}

// compare returns a shortest sequence of edits that turns before into after. It uses the greedy algorithm of E. W. Myers ("An O(ND) Difference
// Algorithm and Its Variations", 1986), with two rules of jsdiff that decide between sequences of the same length: a path does not leave
// the grid, and once a path has reached an edge of the grid, diagonals beyond that edge are not considered.
func compare(before, after []string) (edits []edit, ok bool) {
	s := search{before: before, after: after, low: math.MinInt32, high: math.MaxInt32}
	if s.extend(0, 0) {
		return s.walkBack(), true
	}
	for d := 1; d <= min(len(before)+len(after), MaxEdits); d++ {
		if s.step(d) {
			return s.walkBack(), true
		}
	}
	return nil, false
}

// search is the state of a comparison.
type search struct {
	before, after []string
	trace         []row // paths after each number of edits
	current       row
	low, high     int // the diagonals to consider
}

// row has, for the diagonals from first on in steps of two, how many lines of before the furthest path has consumed; absent if there is no path.
type row struct {
	first int
	x     []int32
}

const absent = -1

func (r row) at(k int) int {
	if i := k - r.first; i >= 0 && i%2 == 0 && i/2 < len(r.x) {
		return int(r.x[i/2])
	}
	return absent
}

// step adds an edit to all paths, and reports whether one of them has reached the end of both texts.
func (s *search) step(d int) bool {
	s.trace = append(s.trace, s.current)
	previous := s.current
	first := max(s.low, -d)
	s.current = row{first: first}
	for k := first; k <= min(s.high, d); k += 2 {
		x, kind := s.branch(previous, k)
		if kind == 0 {
			s.current.x = append(s.current.x, absent)
			continue
		}
		if s.extend(k, x) {
			return true
		}
	}
	return false
}

// branch returns where a path to the diagonal k begins, and the kind of the edit that leads there: '-', '+', or 0 if there is none.
func (s *search) branch(previous row, k int) (x int, kind byte) {
	removed, added := previous.at(k-1), previous.at(k+1)
	canRemove := removed != absent && removed < len(s.before)
	canAdd := added != absent && added-k-1 >= 0 && added-k-1 < len(s.after)
	switch {
	case canAdd && (!canRemove || removed < added):
		return added, '+'
	case canRemove:
		return removed + 1, '-'
	}
	return 0, 0
}

// extend appends a path on the diagonal k, which begins at x, and follows the lines that both texts have in common.
func (s *search) extend(k, x int) (end bool) {
	y := x - k
	for x < len(s.before) && y < len(s.after) && s.before[x] == s.after[y] {
		x, y = x+1, y+1
	}
	s.current.x = append(s.current.x, int32(x))
	if x >= len(s.before) && y >= len(s.after) {
		return true
	}
	if x >= len(s.before) {
		s.high = min(s.high, k-1)
	}
	if y >= len(s.after) {
		s.low = max(s.low, k+1)
	}
	return false
}

// walkBack returns the edits of the path that has reached the end.
func (s *search) walkBack() []edit {
	var edits []edit // in reverse
	x, y := len(s.before), len(s.after)
	keep := func(to int) {
		for x > to {
			x, y = x-1, y-1
			edits = append(edits, edit{' ', s.before[x]})
		}
	}
	for _, previous := range slices.Backward(s.trace) {
		from, kind := s.branch(previous, x-y)
		keep(from)
		if kind == '+' {
			y--
			edits = append(edits, edit{kind, s.after[y]})
		} else {
			x--
			edits = append(edits, edit{kind, s.before[x]})
		}
	}
	keep(0)
	slices.Reverse(edits)
	return edits
}
