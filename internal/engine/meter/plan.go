package meter

// The plan decides where the code of a function charges fuel, how much, and where it checks the fuel.
//
// A charge subtracts an amount from the fuel. A check calls the host if the fuel is below zero. A check costs more than a
// charge, because the compiler must reload what it knows of the memory after the call. The plan guarantees that on every
// path, however long, the work between two charges and between two checks is bounded, and that the sum of the charges is
// at least the work.
//
// Within a function, all edges lead forward except branches back to the beginning of a loop. Every back branch charges and
// checks. For each point of the body, the uncharged cost is the maximum cost of a path from there to its next charge or out
// of the function; the unchecked cost is the same up to its next check. Both are sums along straight code and maxima where
// paths diverge, and are zero in front of a charge or check. So one walk from the end of the body to its beginning computes
// them for every point, since all forward edges lead to points visited before. In front of an instruction that would raise
// the uncharged cost above maxUncharged, a charge of that amount is placed, which also checks if the unchecked cost would
// exceed maxUnchecked. So every charge covers the most expensive path to the next one, and no path costs more than
// maxUncharged and one instruction without a charge. A back branch also pays for what follows the beginning of its loop,
// which the walk reaches last.
//
// Where a path leaves a loop another charge is placed, unless what follows is cheap: otherwise every iteration would pay for
// the code after the loop.
//
// Calls: a function that calls others charges and checks at its beginning, so no recursion and no tree of calls is free. It
// also checks at its end, and what follows a call is charged after the call: otherwise the returning frames of a deep
// recursion would do work that was charged when they were entered, without any check. A short leaf, which calls nothing and
// is cheap, is paid for by its callers: direct callers know its cost; indirect callers assume maxLeafCost and
// maxLeafUnchecked more. A longer leaf charges and checks at its beginning. Imported functions cost their callers a
// constant, except WASI's, whose guards charge (see guard.go); the host charges for work of variable length.
//
// Instructions of variable length charge and check in helpers (see helper.go).
const (
	maxUncharged = 128
	maxLeafCost  = 32
	// maxLeafUnchecked bounds the unchecked cost of a short leaf in addition to the cost that its callers pay for. The
	// caller of a call_indirect assumes this maximum, so it checks that much earlier.
	maxLeafUnchecked = 128
	// maxUnchecked is several microseconds of work.
	maxUnchecked = 4096
	// maxTail is the cost of code after a loop that each iteration may pay for.
	maxTail = 8
)

// costIndirect is the cost of call_indirect beyond a call: the type check, and the most expensive short leaf or imported
// function that it may call.
const costIndirect = max(maxLeafCost, costHost) + 3

// pathCost describes the paths from a point in a body.
type pathCost struct {
	uncharged uint32 // maximum cost of a path up to its next charge
	unchecked uint32 // maximum cost of a path up to its next check
}

func (p pathCost) max(other pathCost) pathCost {
	return pathCost{uncharged: max(p.uncharged, other.uncharged), unchecked: max(p.unchecked, other.unchecked)}
}

// charge returns a charge of the uncharged cost, and sets the costs to those in front of the charge.
func (p *pathCost) charge(check bool) charge {
	c := charge{amount: p.uncharged, check: check}
	p.uncharged = 0
	if check {
		p.unchecked = 0
	}
	return c
}

// planner walks the steps of a body backwards.
type planner struct {
	blocks []openBlock
	backs  []backBranch
}

// openBlock is a block that the backward walk has entered, at its end.
type openBlock struct {
	after pathCost // cost after its end
	other pathCost // for an if: cost at the beginning of its else, or after its end if it has no else
	loop  bool     // branches to it are back branches
	backs int      // first of these back branches in planner.backs; 0: none
}

// backBranch is a step that branches back. Its charge does not yet cover what follows the beginning of the loop.
type backBranch struct {
	step *step
	next int // the next back branch to the same loop; 0: none
}

// plan sets the charges of the steps and returns the cost at the beginning of the function.
func (p *planner) plan(s *scan) pathCost {
	p.blocks, p.backs = p.blocks[:0], append(p.backs[:0], backBranch{})
	var at pathCost
	for i := len(s.steps) - 1; i >= 0; i-- {
		step := &s.steps[i]
		isBackBranch := false
		switch step.kind {
		case stepEnd:
			if step.exit && at.uncharged > maxTail {
				step.after = at.charge(false)
			}
			p.blocks = append(p.blocks, openBlock{after: at, other: at, loop: step.loop})
			continue
		case stepElse:
			end := &p.blocks[len(p.blocks)-1]
			end.other, at = at, end.after
			continue
		case stepLoop, stepOpen, stepIf:
			at = p.open(step.kind, at)
		case stepCall, stepIndirect:
			if step.deep && at.uncharged > 0 {
				step.after = at.charge(false)
			}
		case stepBr, stepBrIf, stepBrTable, stepReturn:
			at, isBackBranch = p.branch(s, step, at)
		case stepStop:
			at = pathCost{}
		}
		at.uncharged += step.cost
		at.unchecked += step.cost + step.extra
		if isBackBranch || at.uncharged > maxUncharged || at.unchecked > maxUnchecked {
			step.before = at.charge(isBackBranch || at.unchecked > maxUnchecked)
		}
	}
	return at
}

// open returns the cost in front of a block, given the cost after the instruction that opens it.
func (p *planner) open(kind stepKind, at pathCost) pathCost {
	end := p.blocks[len(p.blocks)-1]
	p.blocks = p.blocks[:len(p.blocks)-1]
	for i := end.backs; i != 0; i = p.backs[i].next {
		step := p.backs[i].step
		step.before.amount = max(step.before.amount, at.uncharged+step.cost)
	}
	if kind == stepIf {
		return at.max(end.other)
	}
	return at
}

// branch returns the cost after a branch instruction, and whether the instruction may branch back. at is the cost of
// the code that follows the instruction.
func (p *planner) branch(s *scan, step *step, at pathCost) (pathCost, bool) {
	switch step.kind {
	case stepBrIf:
		to, isBack := p.label(step, step.arg)
		return at.max(to), isBack
	case stepBrTable:
		n := s.labels[step.arg]
		var all pathCost
		isBackBranch := false
		for _, depth := range s.labels[step.arg+1 : step.arg+1+n] {
			to, isBack := p.label(step, depth)
			all, isBackBranch = all.max(to), isBackBranch || isBack
		}
		return all, isBackBranch
	}
	return p.label(step, step.arg)
}

// label returns the cost at the target of a branch, or true if the target is the beginning of a loop.
func (p *planner) label(step *step, depth uint32) (pathCost, bool) {
	end := &p.blocks[len(p.blocks)-1-int(depth)]
	if !end.loop {
		return end.after, false
	}
	if p.backs[end.backs].step != step {
		p.backs = append(p.backs, backBranch{step: step, next: end.backs})
		end.backs = len(p.backs) - 1
	}
	return pathCost{}, true
}
