package meter

// The plan says where a function is charged, how much, and where it is checked whether that was too much.
//
// A charge takes an amount off the fuel. A check calls the host if the fuel is below zero. A check costs more
// than a charge, as the compiler forgets there what it knew of the memory. What must hold is that no path
// through the module, however long, goes on for more than a little work without a charge, nor for much more
// without a check, and that the charges on a path are at least its work.
//
// Within a function, paths lead forward but for branches back to the beginning of a loop: every back branch
// is charged and checked. For any place in the body, the rest is the most that a path from there can cost up
// to its next charge or out of the function, and the way is the same up to its next check. Both are sums along
// straight code, the larger one where paths part, and zero in front of what ends them. So one walk from the
// end of the body to its beginning knows them for every place when it gets there, as all that leads forward
// lies behind it. Where an instruction would bring the rest above maxRest, a charge of that amount is placed
// in front of it, and a check too where it would bring the way above maxWay. So no path within a function
// costs more than maxRest, and one instruction, without a charge, and each charge covers the longest path to
// the next. A back branch covers what follows the loop's beginning, which the walk meets last.
//
// Where a path leaves a loop, another charge is placed, unless what follows is next to nothing: else each
// round of the loop would pay for it.
//
// Calls: a function that calls others is charged and checked where it begins, so no recursion and no tree of
// calls goes free. It is checked where it ends, too, and what lies behind a call is charged behind it: else the
// frames of a deep recursion, returning one after the other, would all do what was paid for when they began, and
// nobody would be asked. A function that calls no other and has a small rest, a short leaf, is paid for by its
// callers instead: direct ones know its rest and its way, and indirect ones take them to be maxLeaf and maxLeafWay
// more. A longer leaf is charged and checked where it begins. Imported functions are a constant to their callers, but
// for WASI's, which charge for themselves (see guard.go); their host charges for what they do by length.
//
// Instructions of variable length are charged and checked by helpers: see helper.go.
const (
	maxRest = 128
	maxLeaf = 32
	// maxLeafWay is how much a short leaf may do up to its first check besides what its callers pay for. A caller
	// by call_indirect assumes all of it, and looks at the fuel so much earlier.
	maxLeafWay = 128
	// maxWay is some microseconds.
	maxWay = 4096
	// maxTail is what a round of a loop may pay for what follows the loop.
	maxTail = 8
)

// costIndirect is what call_indirect costs besides a call: the check of the type, and a short leaf or an
// imported function, whichever it may turn out to call.
const costIndirect = max(maxLeaf, costHost) + 3

// place is what lies behind a place in a body.
type place struct {
	rest uint32 // the most that a path can cost up to its next charge
	way  uint32 // the same up to its next check
}

func (p place) or(other place) place {
	return place{rest: max(p.rest, other.rest), way: max(p.way, other.way)}
}

// charge places a charge, of the rest, and perhaps a check.
func (p *place) charge(check bool) charge {
	c := charge{amount: p.rest, check: check}
	p.rest = 0
	if check {
		p.way = 0
	}
	return c
}

// planner walks the steps of a body backwards.
type planner struct {
	ends  []endOf
	backs []back
}

// endOf is a block that the walk is in.
type endOf struct {
	after place // behind its end
	other place // of an if: at the beginning of its else, or behind its end if it has none
	loop  bool  // branches to it lead to its beginning
	backs int   // the last of them in planner.backs; 0: none
}

// back is a step that branches back. Its charge does not yet cover what follows the loop's beginning.
type back struct {
	step *step
	next int // the next one to the same loop; 0: none
}

// plan sets the charges of the steps and is the place at the function's beginning.
func (p *planner) plan(s *scan) place {
	p.ends, p.backs = p.ends[:0], append(p.backs[:0], back{})
	var at place
	for i := len(s.steps) - 1; i >= 0; i-- {
		step := &s.steps[i]
		leadsBack := false
		switch step.kind {
		case stepEnd:
			if step.exit && at.rest > maxTail {
				step.after = at.charge(false)
			}
			p.ends = append(p.ends, endOf{after: at, other: at, loop: step.loop})
			continue
		case stepElse:
			end := &p.ends[len(p.ends)-1]
			end.other, at = at, end.after
			continue
		case stepLoop, stepOpen, stepIf:
			at = p.open(step.kind, at)
		case stepCall, stepIndirect:
			if step.deep && at.rest > 0 {
				step.after = at.charge(false)
			}
		case stepBr, stepBrIf, stepBrTable, stepReturn:
			at, leadsBack = p.branch(s, step, at)
		case stepStop:
			at = place{}
		}
		at.rest += step.cost
		at.way += step.cost + step.extra
		if leadsBack || at.rest > maxRest || at.way > maxWay {
			step.before = at.charge(leadsBack || at.way > maxWay)
		}
	}
	return at
}

// open is the place at the beginning of a block, given the one behind the instruction that opens it.
func (p *planner) open(kind stepKind, at place) place {
	end := p.ends[len(p.ends)-1]
	p.ends = p.ends[:len(p.ends)-1]
	for i := end.backs; i != 0; i = p.backs[i].next {
		step := p.backs[i].step
		step.before.amount = max(step.before.amount, at.rest+step.cost)
	}
	if kind == stepIf {
		return at.or(end.other)
	}
	return at
}

// branch is the place behind a branch, at being the one behind it in the code, and whether it may lead back.
func (p *planner) branch(s *scan, step *step, at place) (place, bool) {
	switch step.kind {
	case stepBrIf:
		to, back := p.label(step, step.arg)
		return at.or(to), back
	case stepBrTable:
		n := s.labels[step.arg]
		var all place
		leadsBack := false
		for _, depth := range s.labels[step.arg+1 : step.arg+1+n] {
			to, back := p.label(step, depth)
			all, leadsBack = all.or(to), leadsBack || back
		}
		return all, leadsBack
	}
	return p.label(step, step.arg)
}

// label is the place that a branch leads to, or true if that is the beginning of a loop.
func (p *planner) label(step *step, depth uint32) (place, bool) {
	end := &p.ends[len(p.ends)-1-int(depth)]
	if !end.loop {
		return end.after, false
	}
	if p.backs[end.backs].step != step {
		p.backs = append(p.backs, back{step: step, next: end.backs})
		end.backs = len(p.backs) - 1
	}
	return place{}, true
}
