package meter

import (
	"os"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testcache"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter/wasm"
)

// paths verifies the plan of a function independently of the planner. It follows the paths of the control flow graph forward, whereas the
// planner walks over nested blocks backward.
type paths struct {
	t       *testing.T
	s       *scan
	matches []int          // for the step that opens a block and for its else: the index of the step that ends the block
	elses   []int          // for each if: the index of its else; 0 if it has no else
	labels  [][]int        // for each step: the blocks that enclose it
	seen    map[[2]int]int // for each step and kind of end: the maximum cost of a path that begins before the step; -1 while it is computed
	longest [2]int
}

// Kinds of ends of a path.
const (
	byCharge = iota
	byCheck
)

func follow(t *testing.T, s *scan) *paths {
	p := &paths{t: t, s: s, matches: make([]int, len(s.steps)), elses: make([]int, len(s.steps)), labels: make([][]int, len(s.steps)), seen: map[[2]int]int{}}
	open := []int{-1}
	for i, step := range s.steps {
		p.labels[i] = append([]int(nil), open...)
		switch step.kind {
		case stepOpen, stepLoop, stepIf:
			open = append(open, i)
		case stepElse:
			p.elses[open[len(open)-1]] = i
		case stepEnd:
			if from := open[len(open)-1]; from >= 0 {
				p.matches[from] = i
				p.matches[p.elses[from]] = i
			}
			open = open[:len(open)-1]
		}
	}
	return p
}

// front returns the maximum cost of a path that begins before step i. by is the kind of the path's end.
func (p *paths) front(i, by int) int {
	if i >= len(p.s.steps) || ends(p.s.steps[i].before, by) {
		return 0
	}
	key := [2]int{i, by}
	n, ok := p.seen[key]
	if n < 0 {
		p.t.Fatalf("step %d is on a cycle without a charge or check", i)
	}
	if !ok {
		p.seen[key] = -1
		n = p.through(i, by)
		p.seen[key] = n
	}
	return n
}

func ends(c charge, by int) bool {
	return by == byCharge && c.amount > 0 || by == byCheck && c.check
}

func (p *paths) behind(i, by int) int {
	if ends(p.s.steps[i].after, by) {
		return 0
	}
	return p.front(i+1, by)
}

// check verifies that every charge pays for the most expensive path to the next charge.
func (p *paths) check() {
	for i := range p.s.steps {
		step := &p.s.steps[i]
		for by := range p.longest {
			way := p.through(i, by)
			p.longest[by] = max(p.longest[by], way)
			if by == byCharge && step.before.amount > 0 && way > int(step.before.amount) {
				p.t.Errorf("step %d: a charge of %d in front of a path that costs %d", i, step.before.amount, way)
			}
		}
		if way := p.behind(i, byCharge); step.deep && way > 0 {
			p.t.Errorf("step %d: the code after a call costs %d, which was charged before it", i, way)
		}
		if way := p.front(i+1, byCharge); step.after.amount > 0 && way > int(step.after.amount) {
			p.t.Errorf("step %d: a charge of %d in front of a path that costs %d", i, step.after.amount, way)
		}
	}
}

// through returns the maximum cost of a path that begins with step i. by is the kind of the path's end.
func (p *paths) through(i, by int) int {
	step := &p.s.steps[i]
	most := 0
	to := func(depth uint32) {
		switch at := p.labels[i][len(p.labels[i])-1-int(depth)]; {
		case at < 0:
		case p.s.steps[at].kind == stepLoop:
			most = max(most, p.behind(at, by))
		default:
			most = max(most, p.behind(p.matches[at], by))
		}
	}
	switch step.kind {
	case stepStop:
	case stepBr, stepReturn:
		to(step.arg)
	case stepBrTable:
		for _, depth := range p.s.labels[step.arg+1:][:p.s.labels[step.arg]] {
			to(depth)
		}
	case stepElse:
		most = p.behind(p.matches[i], by)
	case stepBrIf:
		to(step.arg)
		most = max(most, p.behind(i, by))
	case stepIf:
		most = p.behind(i, by)
		if other := p.elses[i]; other > 0 {
			most = max(most, p.behind(other, by))
		} else {
			most = max(most, p.behind(p.matches[i], by))
		}
	default:
		most = p.behind(i, by)
	}
	if by == byCheck {
		most += int(step.extra)
	}
	return most + int(step.cost)
}

func TestEveryPathIsCharged(t *testing.T) {
	testenv.NotShort(t, "reads a module of a Go program")
	module, err := os.ReadFile(testcache.Must(testcache.Module("../testdata/guest")))
	if err != nil {
		t.Fatal(err)
	}
	c := DefaultConfig()
	m, err := wasm.Decode(module, c.Bounds)
	if err != nil {
		t.Fatal(err)
	}
	w := newRewriter(m, c)
	if err := w.analyze(); err != nil {
		t.Fatal(err)
	}
	var functions, steps int
	for i, body := range m.Bodies {
		index := m.Imported.Funcs + uint32(i)
		if err := w.scan.read(body, m.FuncType(index)); err != nil {
			t.Fatal(err)
		}
		begin := w.planner.plan(&w.scan)
		p := follow(t, &w.scan)
		if n := p.front(0, byCharge); n > int(begin.uncharged) {
			t.Errorf("function %d: its beginning is charged %d but costs %d", index, begin.uncharged, n)
		}
		p.check()
		if p.longest[byCharge] > 128+250 || p.longest[byCheck] > 4096+250+128 {
			t.Errorf("function %d: a path of cost %d without a charge, or of cost %d without a check", index, p.longest[byCharge], p.longest[byCheck])
		}
		functions++
		steps += len(w.scan.steps)
	}
	if functions < 1000 || steps < 100_000 {
		t.Errorf("only %d functions and %d steps", functions, steps)
	}
}
