package hunks

const (
	maxSlide  = 100 // lines by which the indent heuristic moves a group at most
	maxIndent = 200
	maxBlanks = 20
)

// group is a run of changed lines, possibly empty, between two lines that did not change. Groups of both texts correspond by number.
type group struct {
	text       *text
	start, end int
}

func firstGroup(t *text) *group {
	g := &group{text: t}
	g.grow()
	return g
}

func (g *group) grow() {
	for g.end < len(g.text.lines) && g.text.changed[g.end] {
		g.end++
	}
}

// next moves to the next group. It returns false if there is none.
func (g *group) next() bool {
	if g.end == len(g.text.lines) {
		return false
	}
	g.start = g.end + 1
	g.end = g.start
	g.grow()
	return true
}

func (g *group) previous() {
	g.end = g.start - 1
	for g.start = g.end; g.text.isChanged(g.start - 1); {
		g.start--
	}
}

// slideUp moves the group up by one line, if the lines allow that, and merges it with the group that it meets.
func (g *group) slideUp() bool {
	if g.start == 0 || g.text.ids[g.start-1] != g.text.ids[g.end-1] {
		return false
	}
	g.start, g.end = g.start-1, g.end-1
	g.text.changed[g.start], g.text.changed[g.end] = true, false
	for g.text.isChanged(g.start - 1) {
		g.start--
	}
	return true
}

func (g *group) slideDown() bool {
	if g.end == len(g.text.lines) || g.text.ids[g.start] != g.text.ids[g.end] {
		return false
	}
	g.text.changed[g.start], g.text.changed[g.end] = false, true
	g.start, g.end = g.start+1, g.end+1
	g.grow()
	return true
}

// compact moves each group of t, among the places that are equivalent, to the last one that lines up with a group of the other text, and
// otherwise to the one that the indent heuristic prefers.
func compact(t, other *text) {
	g, o := firstGroup(t), firstGroup(other)
	for {
		if g.start < g.end {
			place(g, o)
		}
		if !g.next() {
			return
		}
		o.next()
	}
}

func place(g, o *group) {
	var size, highest int
	var aligned bool
	for {
		size = g.end - g.start
		for g.slideUp() {
			o.previous()
		}
		highest = g.end
		aligned = o.start < o.end
		for g.slideDown() {
			o.next()
			aligned = aligned || o.start < o.end
		}
		if g.end-g.start == size { // otherwise the group has merged with another one
			break
		}
	}
	switch {
	case g.end == highest:
	case aligned:
		for o.start == o.end {
			g.slideUp()
			o.previous()
		}
	default:
		for best := bestEnd(g, highest, size); g.end > best; {
			g.slideUp()
			o.previous()
		}
	}
}

// bestEnd returns the end at which the indent heuristic places a group.
func bestEnd(g *group, highest, size int) int {
	best := -1
	var least score
	for end := max(highest, g.end-size-1, g.end-maxSlide); end <= g.end; end++ {
		var s score
		s.add(g.text, end)
		s.add(g.text, end-size)
		if best < 0 || s.compare(least) <= 0 {
			best, least = end, s
		}
	}
	return best
}

// score rates the places at which a group separates lines; less is better.
type score struct{ indent, penalty int }

func (s score) compare(other score) int {
	order := 0
	switch {
	case s.indent > other.indent:
		order = 1
	case s.indent < other.indent:
		order = -1
	}
	return 60*order + s.penalty - other.penalty
}

// add adds the score of a separation before a line.
func (s *score) add(t *text, at int) {
	own, isEnd := -1, at >= len(t.lines)
	if !isEnd {
		own = indentOf(t.lines[at])
	}
	blanksBefore, before := t.nextIndent(at, -1)
	blanksAfter, after := t.nextIndent(at, 1)
	if before < 0 && blanksBefore == 0 {
		s.penalty++
	}
	if isEnd {
		s.penalty += 21
	}
	blanks, indent := 0, own
	if own < 0 {
		blanks, indent = 1+blanksAfter, after
	}
	s.penalty += -30*(blanksBefore+blanks) + 6*blanks
	s.indent += indent
	if indent < 0 || before < 0 {
		return
	}
	pick := func(without, with int) int {
		if blanksBefore+blanks > 0 {
			return with
		}
		return without
	}
	switch {
	case indent > before:
		s.penalty += pick(-4, 10)
	case indent == before:
	case after > indent:
		s.penalty += pick(24, 17)
	default:
		s.penalty += pick(23, 17)
	}
}

// nextIndent returns the indentation of the next line in a direction that is not blank, and the number of blank lines before it. The
// indentation is -1 if there is no such line.
func (t *text) nextIndent(at, step int) (blanks, indent int) {
	for at += step; at >= 0 && at < len(t.lines); at += step {
		if indent := indentOf(t.lines[at]); indent >= 0 {
			return blanks, indent
		}
		if blanks++; blanks == maxBlanks {
			return blanks, 0
		}
	}
	return blanks, -1
}

// indentOf returns the width of a line's indentation; -1 if the line is blank.
func indentOf(line []byte) int {
	width := 0
	for _, c := range line {
		switch {
		case !isSpace(c):
			return width
		case c == ' ':
			width++
		case c == '\t':
			width += 8 - width%8
		}
		if width >= maxIndent {
			return maxIndent
		}
	}
	return -1
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
