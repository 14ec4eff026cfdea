package meter

import "github.com/bulkhead-mcp/bulkhead/host/engine/meter/wasm"

// stepKind is what a step is for the plan and for the writer.
type stepKind byte

const (
	stepRun      stepKind = iota // instructions that are copied, one behind the other
	stepOpen                     // block, or a loop to whose beginning nothing branches
	stepLoop                     // a loop with a branch to its beginning
	stepIf                       //
	stepElse                     //
	stepEnd                      // of one of those; exit says that a branch leaves a loop for here
	stepBr                       // arg is the depth of the label
	stepBrIf                     // likewise
	stepBrTable                  // arg is where its labels begin in scan.labels, behind their number
	stepReturn                   // arg is the depth of the function's own label
	stepStop                     // unreachable
	stepCall                     // arg is the function
	stepIndirect                 // call_indirect; arg is the type
	stepFunc                     // ref.func; arg is the function
	stepBulk                     // an instruction of variable length; arg is its opcode, index its segment
	stepNote                     // never in a list of steps: a run whose instruction is a fact of the module
)

// step is a piece of a body: one instruction that matters, or a run of others.
type step struct {
	at    uint32 // where it begins in the body
	cost  uint32
	extra uint32 // of a call of a short leaf: what that runs unchecked besides its cost
	arg   uint32
	index uint32
	kind  stepKind
	exit  bool // of stepEnd: a branch leaves a loop for here
	loop  bool // of stepEnd: of a loop to whose beginning something branches
	deep  bool // of stepCall and stepIndirect: what is called may call others

	before, after charge // in front of it and behind it; set by the plan
}

// charge is what is taken off the fuel at a place.
type charge struct {
	amount uint32
	check  bool // whether the host is called if that leaves the fuel below zero
}

// maxRun is the cost at which a run is split, so that a charge can be placed within.
const maxRun = 16

// kinds are the instructions of one byte.
var kinds = func() (table [256]stepKind) {
	for op, kind := range map[wasm.Opcode]stepKind{
		wasm.OpUnreachable: stepStop, wasm.OpBlock: stepOpen, wasm.OpLoop: stepOpen, wasm.OpIf: stepIf,
		wasm.OpElse: stepElse, wasm.OpEnd: stepEnd, wasm.OpBr: stepBr, wasm.OpBrIf: stepBrIf,
		wasm.OpBrTable: stepBrTable, wasm.OpReturn: stepReturn, wasm.OpCall: stepCall,
		wasm.OpCallIndirect: stepIndirect, wasm.OpRefFunc: stepFunc, wasm.OpMemoryGrow: stepBulk,
		wasm.OpGlobalSet: stepNote, wasm.OpTableSet: stepNote,
	} {
		table[op] = kind
	}
	return table
}()

func kindOf(op wasm.Opcode) stepKind {
	if op < 0x100 {
		return kinds[op]
	}
	switch op {
	case wasm.OpMemoryInit, wasm.OpMemoryCopy, wasm.OpMemoryFill, wasm.OpTableInit, wasm.OpTableCopy, wasm.OpTableGrow, wasm.OpTableFill:
		return stepBulk
	case wasm.OpDataDrop, wasm.OpElemDrop:
		return stepNote
	}
	return stepRun
}

// scan is a function's body as the plan needs it. It is used for one body after the other.
type scan struct {
	module  *wasm.Module
	facts   *facts
	callees []callee
	depth   int // how many blocks may be open
	joints  int // how many joints there may be

	code   wasm.Code
	steps  []step
	labels []uint32
	frames []frame

	calls    bool // it contains a call
	globals  int64
	estimate estimate
	perJump  uint32 // what a path through a joint costs besides
}

// callee is what a function is to those that call it.
type callee struct {
	leaf  bool   // it is imported, or a short leaf
	cost  uint32 // what they pay for it; 0 if it charges itself
	extra uint32 // what it runs unchecked besides
}

// facts are what instructions say about the module.
type facts struct {
	changesTables, dropsSegments bool
	written                      []bool // globals
}

func (f *facts) note(op wasm.Opcode, index uint32) {
	switch op {
	case wasm.OpGlobalSet:
		f.written[index] = true
	case wasm.OpDataDrop, wasm.OpElemDrop:
		f.dropsSegments = true
	case wasm.OpTableSet, wasm.OpTableInit, wasm.OpTableCopy, wasm.OpTableGrow, wasm.OpTableFill:
		f.changesTables = true
	}
}

// frame is a block that is open.
type frame struct {
	step            int    // that opens it; -1 for the function itself
	params, results uint32 // how many
	loops           int    // it is in, with itself
	kind            stepKind
	exit            bool // a branch leaves a loop for its end
}

// read fills s from a body of a function of type t.
func (s *scan) read(body wasm.Body, t wasm.FuncType) error {
	s.steps, s.labels, s.calls = s.steps[:0], s.labels[:0], false
	s.estimate = estimate{variables: s.globals + int64(body.Count), code: codePerValue*int64(len(t.Params)+len(t.Results)) + 2*codeOfCheck}
	s.perJump = body.Count / localsPerUnit
	s.frames = append(s.frames[:0], frame{step: -1, kind: stepOpen, results: uint32(len(t.Results))})
	c := &s.code
	c.Reset(body.Code, body.Offset, s.module.Space, body.Count)
	running := false // the last step is a run, which can grow
	for c.Next() {
		kind := kindOf(c.Op)
		s.estimate.code += codeOf(c.Op)
		if kind != stepRun && kind != stepNote {
			running = false
			if s.step(kind); len(s.frames) == 0 {
				break
			}
			continue
		}
		if kind == stepNote {
			s.facts.note(c.Op, c.A)
		}
		if !running || s.steps[len(s.steps)-1].cost >= maxRun {
			s.steps = append(s.steps, step{at: uint32(c.Start), kind: stepRun})
			running = true
		}
		s.steps[len(s.steps)-1].cost += cost(c.Op)
		s.estimate.code += codeOfCharge * int64(cost(c.Op)) / maxRest
	}
	if c.Err() == nil && len(s.frames) > 0 {
		c.Fail("the function has no end")
	}
	if c.Err() == nil && c.End() < len(body.Code) {
		c.Fail("code behind the end of the function")
	}
	return c.Err()
}

// step adds the instruction that was read, which is not part of a run.
func (s *scan) step(kind stepKind) {
	c := &s.code
	next := step{at: uint32(c.Start), kind: kind, cost: 1, arg: c.A}
	switch kind {
	case stepOpen, stepIf:
		next.cost += s.perJump // for the path that falls out of its end
		s.open(kind)
	case stepElse:
		f := &s.frames[len(s.frames)-1]
		if f.kind != stepIf {
			c.Fail("else without if")
			return
		}
		f.kind, next.cost = stepElse, 0
		s.estimate.joint(f.params)
	case stepEnd:
		next.cost = 0
		s.end(&next)
	case stepBr, stepBrIf:
		next.cost += s.branch(c.A)
	case stepBrTable:
		s.branches(&next)
	case stepReturn:
		next.arg = uint32(len(s.frames) - 1)
		next.cost += s.branch(next.arg)
	case stepCall:
		s.calls = true
		callee := s.callees[c.A]
		next.cost = s.call(s.module.FuncType(c.A)) + callee.cost + s.perJump
		next.deep, next.extra = !callee.leaf, callee.extra
	case stepIndirect:
		s.calls, next.deep = true, true
		next.cost = s.call(s.module.Types[c.A]) + costIndirect + s.perJump
		next.extra = maxLeafWay
	case stepStop:
		s.estimate.joint(0)
	case stepFunc:
		next.cost = costRefs
		s.estimate.joint(0)
	case stepBulk:
		s.bulk(&next)
	}
	if s.estimate.joints > int64(s.joints) {
		c.Exceed("blocks, branches and calls of a function", int(s.estimate.joints), s.joints)
	}
	s.steps = append(s.steps, next)
}

// call notes a call and is what it costs.
func (s *scan) call(t wasm.FuncType) uint32 {
	values := uint32(len(t.Params) + len(t.Results))
	s.estimate.joint(values)
	s.estimate.code += codeOfCharge
	return costCall + values
}

// bulk notes an instruction of variable length.
func (s *scan) bulk(next *step) {
	c := &s.code
	next.arg, next.index, next.cost = uint32(c.Op), c.A, costBulk
	s.facts.note(c.Op, c.A)
	if c.Op == wasm.OpMemoryGrow || c.Op == wasm.OpTableGrow {
		next.cost = costGrow
	}
	for range bulkJoints {
		s.estimate.joint(0)
	}
}

// bulkJoints is how many joints an instruction of variable length becomes: of table.fill, which wazero compiles to
// a loop.
const bulkJoints = 4

// open enters a block. It turns into a stepLoop when a branch to its beginning is met.
func (s *scan) open(kind stepKind) {
	c := &s.code
	if len(s.frames) > s.depth {
		c.Exceed("blocks in each other", len(s.frames), s.depth)
		return
	}
	f := frame{step: len(s.steps), kind: kind, loops: s.frames[len(s.frames)-1].loops}
	if c.Op == wasm.OpLoop {
		f.kind = stepLoop
		f.loops++
	}
	if c.A != wasm.NoIndex {
		t := s.module.Types[c.A]
		f.params, f.results = uint32(len(t.Params)), uint32(len(t.Results))
	} else if byte(c.B) != wasm.BlockVoid {
		f.results = 1
	}
	s.frames = append(s.frames, f)
	s.estimate.joint(f.params)
}

// end leaves a block. next becomes its end.
func (s *scan) end(next *step) {
	f := s.frames[len(s.frames)-1]
	s.frames = s.frames[:len(s.frames)-1]
	next.exit = f.exit
	s.estimate.joint(f.results)
	if f.step < 0 {
		return
	}
	if f.kind == stepLoop {
		next.loop = s.steps[f.step].kind == stepLoop
		next.exit = next.loop
	}
}

// branch notes a branch to a label and is what the path to there costs besides.
func (s *scan) branch(depth uint32) uint32 {
	if int64(depth) >= int64(len(s.frames)) {
		s.code.Fail("there is no label %d", depth)
		return 0
	}
	f := &s.frames[len(s.frames)-1-int(depth)]
	if f.loops < s.frames[len(s.frames)-1].loops {
		f.exit = true
	}
	if f.kind == stepLoop {
		s.steps[f.step].kind = stepLoop
		s.estimate.joint(f.params)
		s.check()
		return f.params + s.perJump
	}
	s.estimate.joint(f.results)
	return f.results + s.perJump
}

// check notes that code is checked, by an if that calls the host.
func (s *scan) check() {
	s.estimate.joint(0)
	s.estimate.joint(0)
	s.estimate.code += codeOfCheck
}

func (s *scan) branches(next *step) {
	labels := s.code.Labels
	next.arg = uint32(len(s.labels))
	s.labels = append(s.labels, uint32(len(labels)))
	s.labels = append(s.labels, labels...)
	var most uint32
	for _, depth := range labels {
		most = max(most, s.branch(depth))
	}
	next.cost += most + 1
}
