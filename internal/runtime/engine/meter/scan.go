package meter

import "github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter/wasm"

// stepKind is the kind of a step. The plan and the writer treat each kind differently.
type stepKind byte

const (
	stepRun      stepKind = iota // a sequence of instructions that are copied unchanged
	stepOpen                     // a block, or a loop without back branches
	stepLoop                     // a loop with back branches
	stepIf                       // // an if
	stepElse                     // // an else
	stepEnd                      // the end of a block, loop or if
	stepBr                       // a br; arg is the depth of the label
	stepBrIf                     // a br_if; arg is the depth of the label
	stepBrTable                  // a br_table; arg is the index in scan.labels of the number of labels, which the labels follow
	stepReturn                   // a return; arg is the depth of the label of the function body
	stepStop                     // an unreachable
	stepCall                     // a call; arg is the index of the function
	stepIndirect                 // a call_indirect; arg is the index of the type
	stepFunc                     // a ref.func; arg is the index of the function
	stepBulk                     // an instruction of variable length; arg is its opcode, index is the index of its segment
	stepNote                     // an instruction that facts.note records; it becomes part of a stepRun, so no step has this kind
)

// step is a part of a body: either an instruction that affects control flow or charges, or a run of other instructions.
type step struct { // offset of the step in the body
	at    uint32 // offset in the body
	cost  uint32
	extra uint32 // for a call of a short leaf: its unchecked cost in addition to cost
	arg   uint32
	index uint32
	kind  stepKind
	exit  bool // for stepEnd: whether a branch that leaves a loop leads to this end
	loop  bool // for stepEnd: whether this is the end of a stepLoop
	deep  bool // for stepCall and stepIndirect: whether the callee may call other functions
	moved bool // for stepBr: whether arg differs from the depth in the original module

	before, after charge // the charges in front of the step and after it, which the plan sets
}

// charge is an amount that the code subtracts from the fuel.
type charge struct {
	amount uint32
	check  bool // whether the code then calls the host if the fuel is below zero
}

// maxRun is the cost at which a run of instructions is split, so that a charge can be placed within it.
const maxRun = 16

// kinds has the kinds of one-byte opcodes, indexed by opcode.
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

// scan is the representation of a body on which the plan works. It is reused for each body.
type scan struct {
	module   *wasm.Module
	facts    *facts
	callees  []callee
	depth    int // the limit Config.MaxNesting
	controls int // the limit Config.MaxControl

	code   wasm.Code
	steps  []step
	labels []uint32
	frames []frame
	recent recent

	calls      bool // whether the body contains a call
	globals    int64
	estimate   estimate
	perControl uint32 // additional cost of each path through a control instruction
}

// callee describes a function for its callers.
type callee struct {
	leaf  bool   // whether the function is imported, or is a short leaf
	cost  uint32 // cost that callers charge; 0 if the function charges its own cost
	extra uint32 // unchecked cost in addition to cost
}

// facts are the properties of a module that Result reports to the host.
type facts struct {
	changesTables, dropsSegments bool
	written                      []bool // whether an instruction sets each global, by the index of the global
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

// frame is a block that the scan has entered and not left.
type frame struct {
	step            int    // index of the step that opens the block; -1 for the function body
	params, results uint32 // numbers of the block's parameters and results
	loops           int    // number of loops among the block itself and the blocks that enclose it
	kind            stepKind
	exit            bool // whether a branch that leaves a loop leads to the end of the block
	dispatch        dispatch
}

// read scans body, the body of a function of type t.
func (s *scan) read(body wasm.Body, t wasm.FuncType) error {
	s.steps, s.labels, s.calls = s.steps[:0], s.labels[:0], false
	s.estimate = estimate{variables: s.globals + int64(body.Count), code: codePerValue*int64(len(t.Params)+len(t.Results)) + 2*codeOfCheck}
	s.perControl = body.Count / localsPerUnit
	s.frames = append(s.frames[:0], frame{step: -1, kind: stepOpen, results: uint32(len(t.Results))})
	c := &s.code
	c.Reset(body.Code, body.Offset, s.module.Space, body.Count)
	s.recent = nothingRecent
	running := false // whether the last step is a run that can be extended
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
		s.recent.note(c)
		if !running || s.steps[len(s.steps)-1].cost >= maxRun {
			s.steps = append(s.steps, step{at: uint32(c.Start), kind: stepRun})
			running = true
		}
		s.steps[len(s.steps)-1].cost += cost(c.Op)
		s.estimate.code += codeOfCharge * int64(cost(c.Op)) / maxUncharged
	}
	if c.Err() == nil && len(s.frames) > 0 {
		c.Fail("the function body has no end")
	}
	if c.Err() == nil && c.End() < len(body.Code) {
		c.Fail("code after the end of the function body")
	}
	return c.Err()
}

// step adds a step for the current instruction.
func (s *scan) step(kind stepKind) {
	c := &s.code
	next := step{at: uint32(c.Start), kind: kind, cost: 1, arg: c.A}
	switch kind {
	case stepOpen, stepIf:
		next.cost += s.perControl // pays for the path that reaches the end of the block without a branch
		s.open(kind)
	case stepElse:
		f := &s.frames[len(s.frames)-1]
		if f.kind != stepIf {
			c.Fail("else without if")
			return
		}
		f.kind, next.cost = stepElse, 0
		s.estimate.addControl(f.params)
	case stepEnd:
		next.cost = 0
		s.end(&next)
	case stepBr:
		if depth, ok := s.thread(c.A); ok {
			next.arg, next.moved = depth, true
		}
		next.cost += s.branch(next.arg)
	case stepBrIf:
		next.cost += s.branch(c.A)
	case stepBrTable:
		s.branches(&next)
		s.noteDispatch(next.arg)
	case stepReturn:
		next.arg = uint32(len(s.frames) - 1)
		next.cost += s.branch(next.arg)
	case stepCall:
		s.calls = true
		callee := s.callees[c.A]
		next.cost = s.call(s.module.FuncType(c.A)) + callee.cost + s.perControl
		next.deep, next.extra = !callee.leaf, callee.extra
	case stepIndirect:
		s.calls, next.deep = true, true
		next.cost = s.call(s.module.Types[c.A]) + costIndirect + s.perControl
		next.extra = maxLeafUnchecked
	case stepStop:
		s.estimate.addControl(0)
	case stepFunc:
		next.cost = costRefs
		s.estimate.addControl(0)
	case stepBulk:
		s.bulk(&next)
	}
	if s.estimate.controls > int64(s.controls) {
		c.Exceed("control instructions of a function", int(s.estimate.controls), s.controls)
	}
	s.steps = append(s.steps, next)
}

// call adds a call to the estimate, and returns the cost of the call.
func (s *scan) call(t wasm.FuncType) uint32 {
	values := uint32(len(t.Params) + len(t.Results))
	s.estimate.addControl(values)
	s.estimate.code += codeOfCharge
	return costCall + values
}

// bulk makes next the step of an instruction of variable length.
func (s *scan) bulk(next *step) {
	c := &s.code
	next.arg, next.index, next.cost = uint32(c.Op), c.A, costBulk
	s.facts.note(c.Op, c.A)
	if c.Op == wasm.OpMemoryGrow || c.Op == wasm.OpTableGrow {
		next.cost = costGrow
	}
	for range bulkControls {
		s.estimate.addControl(0)
	}
}

// bulkControls is the number of control instructions that the estimate counts for an instruction of variable length. The most
// expensive such instruction, table.fill, becomes a loop.
const bulkControls = 4

// open enters a block. If a back branch to a loop is found, its step becomes a stepLoop.
func (s *scan) open(kind stepKind) {
	c := &s.code
	if len(s.frames) > s.depth {
		c.Exceed("nested blocks", len(s.frames), s.depth)
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
	s.estimate.addControl(f.params)
}

// end leaves the innermost block, whose end is the step next.
func (s *scan) end(next *step) {
	f := s.frames[len(s.frames)-1]
	s.frames = s.frames[:len(s.frames)-1]
	next.exit = f.exit
	s.estimate.addControl(f.results)
	if f.step < 0 {
		return
	}
	if f.kind == stepLoop {
		next.loop = s.steps[f.step].kind == stepLoop
		next.exit = next.loop
	}
}

// branch adds a branch to a label to the estimate. It returns the additional cost of the path to that label.
func (s *scan) branch(depth uint32) uint32 {
	if int64(depth) >= int64(len(s.frames)) {
		s.code.Fail("unknown label %d", depth)
		return 0
	}
	f := &s.frames[len(s.frames)-1-int(depth)]
	if f.loops < s.frames[len(s.frames)-1].loops {
		f.exit = true
	}
	if f.kind == stepLoop {
		s.steps[f.step].kind = stepLoop
		s.estimate.addControl(f.params)
		s.check()
		return f.params + s.perControl
	}
	s.estimate.addControl(f.results)
	return f.results + s.perControl
}

// check adds the control instructions of a check to the estimate. A check is an if that calls the host.
func (s *scan) check() {
	s.estimate.addControl(0)
	s.estimate.addControl(0)
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
