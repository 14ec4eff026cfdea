package meter

// The plan decides where the code of a function charges fuel, how much it charges, and where it checks the fuel.
//
// A charge subtracts an amount from the fuel. A check calls the host if the fuel is below zero. A check costs more than a charge, because
// after the call the compiler must reload what it knows of the memory. The plan guarantees three properties of every path, however long:
// the work between two charges is bounded, the work between two checks is bounded, and the sum of the charges is at least the work.
//
// Within a function, all edges of the control flow lead forward, except branches back to the beginning of a loop. Every back branch
// charges and checks. The uncharged cost of a point in the body is the maximum cost of a path from that point to the path's next charge or
// out of the function. The unchecked cost is the corresponding maximum up to the next check. Along straight code these costs add up;
// where paths diverge, the maximum counts; in front of a charge or check, the cost is zero. Since all forward edges lead to later points,
// one walk from the end of the body to its beginning computes both costs for every point.
//
// If an instruction raises the uncharged cost above maxUncharged, a charge of that cost is placed in front of the instruction. The charge
// also checks if the unchecked cost exceeds maxUnchecked. So every charge pays for the most expensive path to the next charge, and no path
// costs more than maxUncharged and one instruction without a charge. A back branch also pays for the code that follows the beginning of its
// loop, which the walk reaches last.
//
// Another charge is placed where a path leaves a loop, unless the code after the loop is cheap: otherwise every iteration would pay for
// that code.
//
// A function that calls other functions charges and checks at its beginning, so no recursion and no tree of calls is free. Such a function
// also checks at its end, and the code that follows a call is charged after the call. Otherwise the returning frames of a deep recursion
// would do work that was charged when they were entered, without any check. A short leaf, which is cheap and calls nothing, is paid for by
// its callers: direct callers know its cost, and indirect callers assume maxLeafCost, plus maxLeafUnchecked for its unchecked cost. A longer
// leaf charges and checks at its beginning. An imported function costs its callers a constant, except a WASI function, whose guard charges
// (see guard.go). The host charges for work of variable length.
//
// Instructions of variable length charge and check in their helpers (see helper.go).
const (
	maxUncharged = 128
	maxLeafCost  = 32
	// maxLeafUnchecked bounds the part of the unchecked cost of a short leaf that its callers do not pay for. The caller of a call_indirect
	// assumes this maximum, so it checks correspondingly earlier.
	maxLeafUnchecked = 128
	// maxUnchecked is several microseconds of work.
	maxUnchecked = 4096
	// maxTail is the maximum cost of code after a loop that each iteration may pay for.
	maxTail = 8
)

// costIndirect is the cost of call_indirect in addition to that of a call. It covers the type check, and the most expensive short leaf or
// imported function that may be called.
const costIndirect = max(maxLeafCost, costHost) + 3

// pathCost has the costs of the paths that begin at a point of a body.
type pathCost struct {
	uncharged uint32 // maximum cost of a path up to its next charge
	unchecked uint32 // maximum cost of a path up to its next check
}

func (p pathCost) max(other pathCost) pathCost {
	return pathCost{uncharged: max(p.uncharged, other.uncharged), unchecked: max(p.unchecked, other.unchecked)}
}

// charge returns a charge that pays for the uncharged cost. It sets the costs to those in front of that charge.
func (p *pathCost) charge(check bool) charge {
	c := charge{amount: p.uncharged, check: check}
	p.uncharged = 0
	if check {
		p.unchecked = 0
	}
	return c
}

// planner walks backward over the steps of a body.
type planner struct {
	blocks []openBlock
	backs  []backBranch
}

// openBlock is a block whose end the backward walk has passed, and whose beginning it has not reached.
type openBlock struct {
	after pathCost // cost after the end of the block
	other pathCost // for an if: cost at the beginning of its else; without an else, the cost after the end of the if
	loop  bool     // whether branches to the block are back branches
	backs int      // index in planner.backs of the first of these back branches; 0: none
}

// backBranch is a step that branches back to a loop. Its charge does not yet pay for the code that follows the beginning of the loop.
type backBranch struct {
	step *step
	next int // index in planner.backs of the next back branch to the same loop; 0: none
}

// plan sets the charges of the steps of s. It returns the cost at the beginning of the function.
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

// open returns the cost in front of the block that begins at the current step. at is the cost after the instruction that opens the block.
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

// branch returns the cost of the paths that begin with a branch instruction, and whether the instruction may branch back. at is the cost
// of the code that follows the instruction.
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

// label returns the cost at the target of a branch. The bool is true if the target is the beginning of a loop.
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
