package hunks

import "math"

const (
	snakeLength = 20  // equal lines in a row that count as a good path
	heuristic   = 256 // cost from which a good path ends the search for the best one
	minCost     = 256 // least bound of the cost
	goodness    = 4   // factor of the cost by which a path must have advanced to be good
)

// side is the part of a text that the search compares.
type side struct {
	text *text
	at   []int // index of each line in the text
	ids  []int
}

func (s *side) mark(from, to int) {
	for _, at := range s.at[from:to] {
		s.text.changed[at] = true
	}
}

// search finds a shortest edit script by the linear-space variant of Myers' algorithm: paths that start at both ends of a box meet in the
// middle of a shortest path, which divides the box. If the cost exceeds a bound, the path that has advanced most divides the box instead.
type search struct {
	a, b              *side
	forward, backward []int // furthest line of a for each diagonal, which is the difference of the lines of a and b, plus offset
	offset            int
	maxCost           int
}

// box is a part of both sides, from a0 to a1 and from b0 to b1.
type box struct{ a0, a1, b0, b1 int }

func (s *search) run() {
	diagonals := len(s.a.ids) + len(s.b.ids) + 3
	s.forward, s.backward = make([]int, diagonals), make([]int, diagonals)
	s.offset = len(s.b.ids) + 1
	s.maxCost = max(root(diagonals), minCost)
	s.divide(box{0, len(s.a.ids), 0, len(s.b.ids)}, false)
}

func (s *search) equal(i, j int) bool { return s.a.ids[i] == s.b.ids[j] }

// divide marks the changed lines of a box. If exact is set, the cost has no bound.
func (s *search) divide(x box, exact bool) {
	for {
		for x.a0 < x.a1 && x.b0 < x.b1 && s.equal(x.a0, x.b0) {
			x.a0, x.b0 = x.a0+1, x.b0+1
		}
		for x.a0 < x.a1 && x.b0 < x.b1 && s.equal(x.a1-1, x.b1-1) {
			x.a1, x.b1 = x.a1-1, x.b1-1
		}
		if x.a0 == x.a1 || x.b0 == x.b1 {
			s.a.mark(x.a0, x.a1)
			s.b.mark(x.b0, x.b1)
			return
		}
		p := s.split(x, exact)
		s.divide(box{x.a0, p.i, x.b0, p.j}, p.exactBefore)
		x, exact = box{p.i, x.a1, p.j, x.b1}, p.exactAfter
	}
}

// split is a point that divides a box.
type split struct {
	i, j                    int
	exactBefore, exactAfter bool // whether the part before or after the point is to be searched without a bound
}

// frontier are the diagonals that paths from one end of a box have reached.
type frontier struct {
	reach    []int
	middle   int // diagonal of the corner
	low, top int
}

func (s *search) split(x box, exact bool) split {
	lowest, highest := x.a0-x.b1, x.a1-x.b0
	f := frontier{s.forward, x.a0 - x.b0, x.a0 - x.b0, x.a0 - x.b0}
	b := frontier{s.backward, x.a1 - x.b1, x.a1 - x.b1, x.a1 - x.b1}
	odd := (f.middle-b.middle)&1 != 0
	f.reach[f.middle+s.offset], b.reach[b.middle+s.offset] = x.a0, x.a1
	for cost := 1; ; cost++ {
		f.widen(lowest, highest, s.offset, -1)
		good := false
		for d := f.top; d >= f.low; d -= 2 {
			at := d + s.offset
			i := max(f.reach[at-1]+1, f.reach[at+1])
			start, j := i, i-d
			for i < x.a1 && j < x.b1 && s.equal(i, j) {
				i, j = i+1, j+1
			}
			good = good || i-start > snakeLength
			f.reach[at] = i
			if odd && b.low <= d && d <= b.top && b.reach[at] <= i {
				return split{i, j, true, true}
			}
		}
		b.widen(lowest, highest, s.offset, math.MaxInt)
		for d := b.top; d >= b.low; d -= 2 {
			at := d + s.offset
			i := min(b.reach[at-1], b.reach[at+1]-1)
			start, j := i, i-d
			for i > x.a0 && j > x.b0 && s.equal(i-1, j-1) {
				i, j = i-1, j-1
			}
			good = good || start-i > snakeLength
			b.reach[at] = i
			if !odd && f.low <= d && d <= f.top && i <= f.reach[at] {
				return split{i, j, true, true}
			}
		}
		if exact {
			continue
		}
		if good && cost > heuristic {
			if p, ok := s.goodForward(x, f, cost); ok {
				return p
			}
			if p, ok := s.goodBackward(x, b, cost); ok {
				return p
			}
		}
		if cost >= s.maxCost {
			return s.furthest(x, f, b)
		}
	}
}

// widen adds a diagonal at each end of a frontier, unless that is outside of the box. The value unset marks diagonals without a path.
func (f *frontier) widen(lowest, highest, offset, unset int) {
	if f.low > lowest {
		f.low--
		f.reach[f.low-1+offset] = unset
	} else {
		f.low++
	}
	if f.top < highest {
		f.top++
		f.reach[f.top+1+offset] = unset
	} else {
		f.top--
	}
}

func distance(a, b int) int { return max(a-b, b-a) }

// goodForward returns the end of the best path from the start that has advanced much more than it cost, and ends in equal lines.
func (s *search) goodForward(x box, f frontier, cost int) (p split, ok bool) {
	best := 0
	for d := f.top; d >= f.low; d -= 2 {
		i := f.reach[d+s.offset]
		j := i - d
		value := (i - x.a0) + (j - x.b0) - distance(d, f.middle)
		if value <= goodness*cost || value <= best || i < x.a0+snakeLength || i >= x.a1 || j < x.b0+snakeLength || j >= x.b1 {
			continue
		}
		n := 1
		for n <= snakeLength && s.equal(i-n, j-n) {
			n++
		}
		if n > snakeLength {
			best, p = value, split{i, j, true, false}
		}
	}
	return p, best > 0
}

// goodBackward is goodForward for the paths from the end.
func (s *search) goodBackward(x box, b frontier, cost int) (p split, ok bool) {
	best := 0
	for d := b.top; d >= b.low; d -= 2 {
		i := b.reach[d+s.offset]
		j := i - d
		value := (x.a1 - i) + (x.b1 - j) - distance(d, b.middle)
		if value <= goodness*cost || value <= best || i <= x.a0 || i > x.a1-snakeLength || j <= x.b0 || j > x.b1-snakeLength {
			continue
		}
		n := 0
		for n < snakeLength && s.equal(i+n, j+n) {
			n++
		}
		if n == snakeLength {
			best, p = value, split{i, j, false, true}
		}
	}
	return p, best > 0
}

// furthest returns the end of the path that has advanced most.
func (s *search) furthest(x box, f, b frontier) split {
	forward, forwardI := -1, -1
	for d := f.top; d >= f.low; d -= 2 {
		i := min(f.reach[d+s.offset], x.a1)
		j := i - d
		if j > x.b1 {
			i, j = x.b1+d, x.b1
		}
		if i+j > forward {
			forward, forwardI = i+j, i
		}
	}
	backward, backwardI := math.MaxInt, math.MaxInt
	for d := b.top; d >= b.low; d -= 2 {
		i := max(b.reach[d+s.offset], x.a0)
		j := i - d
		if j < x.b0 {
			i, j = x.b0+d, x.b0
		}
		if i+j < backward {
			backward, backwardI = i+j, i
		}
	}
	if x.a1+x.b1-backward < forward-(x.a0+x.b0) {
		return split{forwardI, forward - forwardI, true, false}
	}
	return split{backwardI, backward - backwardI, false, true}
}
