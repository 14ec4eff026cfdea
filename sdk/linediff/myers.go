package linediff

import "slices"

// maxSteps limits the steps for comparing two texts. Texts that differ in a few thousand lines need fewer steps. After
// maxSteps, regions that are not compared yet count as completely different.
const maxSteps = 20_000_000

// comparison finds a shortest sequence of operations that turns the old text into the new text. Numbers represent the
// lines, and equal lines have equal numbers. The algorithm is the linear-space variant of Myers, "An O(ND) Difference
// Algorithm and Its Variations", 1986.
type comparison struct {
	old, new []int
	ops      []Op
	steps    int
	// forward and backward hold the furthest line of the old text that a path reaches on each diagonal. The paths in
	// forward begin at the start of a region, those in backward at its end. The middle element of each slice is
	// diagonal 0.
	forward, backward []int
}

// visit adds the operations for one region: the lines from oldLow to oldHigh of the old text, and those from newLow to
// newHigh of the new text.
func (c *comparison) visit(oldLow, oldHigh, newLow, newHigh int) {
	prefix := 0
	for oldLow+prefix < oldHigh && newLow+prefix < newHigh && c.old[oldLow+prefix] == c.new[newLow+prefix] {
		prefix++
	}
	c.add(Keep, oldLow, newLow, prefix)
	oldLow, newLow = oldLow+prefix, newLow+prefix
	suffix := 0
	for oldLow < oldHigh-suffix && newLow < newHigh-suffix && c.old[oldHigh-suffix-1] == c.new[newHigh-suffix-1] {
		suffix++
	}
	oldHigh, newHigh = oldHigh-suffix, newHigh-suffix
	oldSplit, newSplit, found := 0, 0, false
	if oldLow < oldHigh && newLow < newHigh {
		oldSplit, newSplit, found = c.middle(oldLow, oldHigh, newLow, newHigh)
	}
	if found {
		c.visit(oldLow, oldSplit, newLow, newSplit)
		c.visit(oldSplit, oldHigh, newSplit, newHigh)
	} else {
		c.add(Delete, oldLow, newLow, oldHigh-oldLow)
		c.add(Insert, oldHigh, newLow, newHigh-newLow)
	}
	c.add(Keep, oldHigh, newHigh, suffix)
}

// add appends an operation. If the last operation and the new operation both keep lines, add joins the two.
func (c *comparison) add(kind Kind, old, new, count int) {
	last := len(c.ops) - 1
	switch {
	case count == 0:
	case kind == Keep && last >= 0 && c.ops[last].Kind == Keep:
		c.ops[last].Count += count
	default:
		c.ops = append(c.ops, Op{kind, old, new, count})
	}
}

// middle returns a point in the middle of a shortest path through a region. It searches from both ends of the region
// until the paths meet. The result found is false if the search exceeds maxSteps.
func (c *comparison) middle(oldLow, oldHigh, newLow, newHigh int) (oldSplit, newSplit int, found bool) {
	old, new := c.old[oldLow:oldHigh], c.new[newLow:newHigh]
	delta := len(old) - len(new)
	zero := (len(old)+len(new)+1)/2 + 2
	if len(c.forward) < 2*zero {
		c.forward, c.backward = make([]int, 2*zero), make([]int, 2*zero)
	}
	forward, backward := c.forward, c.backward
	forward[zero+1], backward[zero+1] = 0, 0
	for distance := 0; distance < zero-1; distance++ {
		if c.steps > maxSteps {
			return 0, 0, false
		}
		for k := distance; k >= -distance; k -= 2 {
			x := furthest(forward, zero, k, distance)
			startX, startY := x, x-k
			for x < len(old) && x-k < len(new) && old[x] == new[x-k] {
				x++
			}
			c.steps += 1 + x - startX
			forward[zero+k] = x
			if other := delta - k; delta&1 != 0 && -distance < other && other < distance && x+backward[zero+other] >= len(old) {
				return oldLow + startX, newLow + startY, true
			}
		}
		for k := distance; k >= -distance; k -= 2 {
			x := furthest(backward, zero, k, distance)
			start := x
			for x < len(old) && x-k < len(new) && old[len(old)-1-x] == new[len(new)-1-x+k] {
				x++
			}
			c.steps += 1 + x - start
			backward[zero+k] = x
			if other := delta - k; delta&1 == 0 && -distance <= other && other <= distance && x+forward[zero+other] >= len(old) {
				return oldHigh - x, newHigh - x + k, true
			}
		}
	}
	return 0, 0, false
}

// furthest returns the line at which a path continues on diagonal k after one more deletion or insertion.
func furthest(ends []int, zero, k, distance int) int {
	if k == -distance || k != distance && ends[zero+k-1] < ends[zero+k+1] {
		return ends[zero+k+1]
	}
	return ends[zero+k-1] + 1
}

// slideInsertions moves each insertion down as far as the lines allow, even past deletions, and joins insertions that
// become adjacent. The diff then shows an inserted paragraph as one insertion after the preceding paragraph, and a
// replacement as a deletion followed by an insertion. slideInsertions stops after maxSteps; the operations are valid
// after each step.
func (c *comparison) slideInsertions() {
	c.joinDeletions()
	for at := 0; at < len(c.ops); at++ {
		if c.ops[at].Kind == Insert {
			at = c.slideDown(c.slideUp(at))
		}
	}
}

// joinDeletions joins the deletions between two runs of kept lines, and moves them after the insertions between the
// same runs.
func (c *comparison) joinDeletions() {
	joined := make([]Op, 0, len(c.ops))
	for start := 0; start < len(c.ops); {
		if c.ops[start].Kind == Keep {
			joined = append(joined, c.ops[start])
			start++
			continue
		}
		deletion := Op{Delete, c.ops[start].Old, c.ops[start].New, 0}
		for ; start < len(c.ops) && c.ops[start].Kind != Keep; start++ {
			this := c.ops[start]
			if this.Kind == Delete {
				deletion.Count += this.Count
				continue
			}
			this.Old = deletion.Old
			deletion.New += this.Count
			joined = append(joined, this)
		}
		if deletion.Count > 0 {
			joined = append(joined, deletion)
		}
	}
	c.ops = joined
}

// slideUp moves the insertion at the index "at" up as far as possible, and returns the new index of the insertion.
func (c *comparison) slideUp(at int) int {
	for at > 0 && c.spend() {
		this, above := &c.ops[at], &c.ops[at-1]
		switch above.Kind {
		case Insert:
			above.Count += this.Count
			c.ops = slices.Delete(c.ops, at, at+1)
			at--
		case Delete:
			c.swap(at - 1)
			at--
		default:
			shift := 0
			for shift < min(above.Count, this.Count) && c.old[above.Old+above.Count-1-shift] == c.new[this.New+this.Count-1-shift] {
				shift++
			}
			if shift == 0 {
				return at
			}
			c.steps += shift
			this.Old, this.New = this.Old-shift, this.New-shift
			above.Count -= shift
			below := Op{Keep, this.Old, this.New + this.Count, shift}
			if at+1 < len(c.ops) && c.ops[at+1].Kind == Keep {
				below.Count += c.ops[at+1].Count
				c.ops[at+1] = below
			} else {
				c.ops = slices.Insert(c.ops, at+1, below)
			}
			if c.ops[at-1].Count == 0 {
				c.ops = slices.Delete(c.ops, at-1, at)
				at--
			}
		}
	}
	return at
}

// slideDown moves the insertion at the index "at" down as far as possible, and returns the new index of the insertion.
func (c *comparison) slideDown(at int) int {
	for at+1 < len(c.ops) && c.spend() {
		this, below := &c.ops[at], &c.ops[at+1]
		switch below.Kind {
		case Insert:
			this.Count += below.Count
			c.ops = slices.Delete(c.ops, at+1, at+2)
		case Delete:
			c.swap(at)
			at++
		default:
			shift := 0
			for shift < min(below.Count, this.Count) && c.old[below.Old+shift] == c.new[this.New+shift] {
				shift++
			}
			if shift == 0 {
				return at
			}
			c.steps += shift
			above := Op{Keep, this.Old, this.New, shift}
			this.Old, this.New = this.Old+shift, this.New+shift
			below.Old, below.New, below.Count = below.Old+shift, below.New+shift, below.Count-shift
			if below.Count == 0 {
				c.ops = slices.Delete(c.ops, at+1, at+2)
			}
			if at > 0 && c.ops[at-1].Kind == Keep {
				c.ops[at-1].Count += shift
			} else {
				c.ops = slices.Insert(c.ops, at, above)
				at++
			}
		}
	}
	return at
}

// swap exchanges the deletion and the insertion at the indexes at and at + 1.
func (c *comparison) swap(at int) {
	first, second := c.ops[at], c.ops[at+1]
	second.Old, second.New = first.Old, first.New
	if second.Kind == Delete {
		first.Old += second.Count
	} else {
		first.New += second.Count
	}
	c.ops[at], c.ops[at+1] = second, first
}

// spend adds the cost of sliding an insertion by one line, which may move all operations. It reports whether another
// step is allowed.
func (c *comparison) spend() bool {
	c.steps += 1 + len(c.ops)/64
	return c.steps <= 2*maxSteps
}
