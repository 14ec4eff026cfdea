package hunks

import (
	"bytes"
	"fmt"
)

const (
	maxHeading = 80 // bytes of the line that names the function of a hunk
	tailBlock  = 1024
)

// Write appends the hunks between two contents, with a number of context lines, to out. It appends nothing if they are equal.
func Write(out *bytes.Buffer, before, after []byte, context int) {
	if context == 0 {
		before, after = trimTail(before, after)
	}
	a, b := newTexts(before, after)
	compare(a, b)
	w := writer{out: out, a: a, b: b, context: context}
	w.hunks()
}

// trimTail removes blocks that are equal at the ends, as git does where no context is needed.
func trimTail(a, b []byte) ([]byte, []byte) {
	trimmed := 0
	for trimmed+tailBlock <= min(len(a), len(b)) &&
		bytes.Equal(a[len(a)-trimmed-tailBlock:len(a)-trimmed], b[len(b)-trimmed-tailBlock:len(b)-trimmed]) {
		trimmed += tailBlock
	}
	tail := a[len(a)-trimmed:]
	if at := bytes.IndexByte(tail, '\n'); at >= 0 {
		trimmed -= at + 1
	} else {
		trimmed = 0
	}
	return a[:len(a)-trimmed], b[:len(b)-trimmed]
}

// change is a run of deleted lines, a run of inserted lines, or both at one place.
type change struct{ a, aEnd, b, bEnd int }

type writer struct {
	out     *bytes.Buffer
	a, b    *text
	context int
	heading []byte // last line that begins like a function
	seen    int    // lines of a that were searched for a heading
}

func (w *writer) changes() []change {
	var all []change
	for i, j := 0, 0; i < len(w.a.lines) || j < len(w.b.lines); i, j = i+1, j+1 {
		c := change{a: i, b: j}
		for w.a.changed[i] {
			i++
		}
		for w.b.changed[j] {
			j++
		}
		if c.aEnd, c.bEnd = i, j; c.a < i || c.b < j {
			all = append(all, c)
		}
	}
	return all
}

// hunks writes the changes. Those with at most twice the context between them share a hunk.
func (w *writer) hunks() {
	all := w.changes()
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].a-all[n-1].aEnd <= 2*w.context {
			n++
		}
		w.hunk(all[:n])
		all = all[n:]
	}
}

func (w *writer) hunk(changes []change) {
	first, last := changes[0], changes[len(changes)-1]
	before := min(w.context, first.a, first.b)
	after := min(w.context, len(w.a.lines)-last.aEnd, len(w.b.lines)-last.bEnd)
	a, b := first.a-before, first.b-before
	w.out.WriteString("@@ -")
	w.span(a, last.aEnd+after)
	w.out.WriteString(" +")
	w.span(b, last.bEnd+after)
	w.out.WriteString(" @@")
	if w.findHeading(a); len(w.heading) > 0 {
		w.out.WriteByte(' ')
		w.out.Write(w.heading)
	}
	w.out.WriteByte('\n')
	for _, c := range changes {
		w.lines(' ', w.b.lines[b:c.b])
		w.lines('-', w.a.lines[c.a:c.aEnd])
		w.lines('+', w.b.lines[c.b:c.bEnd])
		b = c.bEnd
	}
	w.lines(' ', w.b.lines[b:b+after])
}

// span writes the number of the first line and of lines; for no lines the number of the line before.
func (w *writer) span(from, to int) {
	switch to - from {
	case 0:
		fmt.Fprintf(w.out, "%d,0", from)
	case 1:
		fmt.Fprintf(w.out, "%d", from+1)
	default:
		fmt.Fprintf(w.out, "%d,%d", from+1, to-from)
	}
}

func (w *writer) lines(mark byte, lines [][]byte) {
	for _, line := range lines {
		w.out.WriteByte(mark)
		w.out.Write(line)
		if line[len(line)-1] != '\n' {
			w.out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}

// findHeading sets the heading of a hunk that begins at a line: the last line before it that begins with a letter, "_" or "$". Without one,
// the heading of the hunk before applies.
func (w *writer) findHeading(before int) {
	for i := before - 1; i >= w.seen; i-- {
		line := w.a.lines[i]
		if c := line[0]; c != '_' && c != '$' && (c|0x20 < 'a' || c|0x20 > 'z') {
			continue
		}
		line = line[:min(len(line), maxHeading)]
		for len(line) > 0 && isSpace(line[len(line)-1]) {
			line = line[:len(line)-1]
		}
		w.heading = line
		break
	}
	w.seen = max(before, 0)
}
