package meter

import "github.com/bulkhead-mcp/bulkhead/host/engine/meter/wasm"

// charge appends code that takes an amount off the fuel and, if it is to be checked, calls the host if that
// leaves it below zero.
func (w *rewriter) charge(a *asm, c charge) {
	if c.amount > 0 {
		a.index(wasm.OpGlobalGet, w.fuel).i64(int64(c.amount)).op(wasm.OpI64Sub).index(wasm.OpGlobalSet, w.fuel)
	}
	if c.check {
		w.check(a)
	}
}

// check appends code that calls the host if the fuel is below zero.
//
// Measured with wazero 1.12 on a Go guest: most of what a check costs is the call in it, for which the
// compiler keeps values in memory, and not the comparison. It assumes them where the arm that comes first has
// them, so the arm that is usual comes first, empty. Calling a helper that charges and checks instead takes
// three times as long, and calling one only in the rare arm, or a branch over it, makes no difference.
func (w *rewriter) check(a *asm) {
	a.index(wasm.OpGlobalGet, w.fuel).i64(0).op(wasm.OpI64GeS)
	a.block(wasm.OpIf).op(wasm.OpElse).index(wasm.OpCall, w.yield).op(wasm.OpEnd)
}

// function appends a body, rewritten.
//
// A function that calls others counts the native stack. Its body is wrapped in a block, so that all paths out
// of it lead past the code that counts back up: branches to the function's label now mean the block, and return
// becomes such a branch.
func (w *rewriter) function(a *asm, body wasm.Body, t wasm.FuncType, as callee) {
	s := &w.scan
	entry := charge{amount: w.planner.plan(s).rest + s.perJump, check: true}
	a.raw(body.Locals)
	if !s.calls {
		if !as.leaf {
			w.charge(a, entry)
		}
		w.steps(a, body.Code)
		return
	}
	frame := w.frameSize(body)
	w.charge(a, charge{amount: entry.amount})
	a.index(wasm.OpGlobalGet, w.stack).i64(frame).op(wasm.OpI64Sub).index(wasm.OpGlobalSet, w.stack)
	// One comparison for both counters: the or of two numbers is below zero if one of them is.
	a.index(wasm.OpGlobalGet, w.stack).index(wasm.OpGlobalGet, w.fuel).op(wasm.OpI64Or).i64(0).op(wasm.OpI64GeS)
	a.block(wasm.OpIf).op(wasm.OpElse)
	w.call(a, "enter", wasm.FuncType{}, w.enterHelper)
	a.op(wasm.OpEnd)
	a.op(wasm.OpBlock).raw(w.resultType(t))
	w.steps(a, body.Code)
	a.index(wasm.OpGlobalGet, w.stack).i64(frame).op(wasm.OpI64Add).index(wasm.OpGlobalSet, w.stack)
	w.check(a)
	a.op(wasm.OpEnd)
}

// enterHelper is called by a function that finds one of the counters below zero where it begins.
func (w *rewriter) enterHelper(a *asm) {
	a.op(0)
	a.index(wasm.OpGlobalGet, w.stack).i64(0).op(wasm.OpI64LtS).block(wasm.OpIf).op(wasm.OpUnreachable, wasm.OpEnd)
	a.index(wasm.OpCall, w.yield).op(wasm.OpEnd)
}

// resultType is the type of a block without parameters and with a function's results.
func (w *rewriter) resultType(t wasm.FuncType) []byte {
	switch len(t.Results) {
	case 0:
		return []byte{wasm.BlockVoid}
	case 1:
		return t.Results
	}
	// The index of a type is a signed number here.
	return wasm.AppendS64(nil, int64(w.typeIndex(wasm.FuncType{Results: t.Results})))
}

// frameSize estimates the native stack that a call of the function in scan takes.
//
// A compiler gives a slot to each variable, and to each other value that it must keep during a call, and knows
// best which those are: ordinary code keeps one value for a dozen instructions or more, and code that is made
// for it two for three. A byte for a unit of cost is three times what the Go compiler's functions take with
// wazero 1.12, and an eighth of the worst. wazero itself ends what nests deeper than some 100 MB.
func (w *rewriter) frameSize(body wasm.Body) int64 {
	slot, all := int64(8), int64(0)
	if body.Wide {
		slot = 16
	}
	for i := range w.scan.steps {
		all += int64(w.scan.steps[i].cost)
	}
	return frameBase + slot*int64(body.Count) + all
}

// frameBase is what a frame takes besides.
const frameBase = 64

// steps appends the instructions. What needs no change is copied in one piece.
func (w *rewriter) steps(a *asm, code []byte) {
	s := &w.scan
	copied := 0 // up to here
	for i := range s.steps {
		step := &s.steps[i]
		from, to := int(step.at), len(code)
		if i+1 < len(s.steps) {
			to = int(s.steps[i+1].at)
		}
		if step.before != (charge{}) {
			a.raw(code[copied:from])
			copied = from
			w.charge(a, step.before)
		}
		if w.changes(step) {
			a.raw(code[copied:from])
			copied = to
			w.changed(a, step, code[from:to])
		}
		if step.after != (charge{}) {
			a.raw(code[copied:to])
			copied = to
			w.charge(a, step.after)
		}
	}
	a.raw(code[copied:])
}

// changes tells whether a step's instruction is not copied as it is.
func (w *rewriter) changes(step *step) bool {
	switch step.kind {
	case stepCall, stepFunc:
		return w.number(step.arg) != step.arg
	case stepBulk:
		return true
	case stepReturn:
		return w.scan.calls
	}
	return false
}

// changed appends what stands for an instruction.
func (w *rewriter) changed(a *asm, step *step, instruction []byte) {
	switch step.kind {
	case stepCall:
		a.index(wasm.OpCall, w.number(step.arg))
	case stepFunc:
		a.index(wasm.OpRefFunc, w.number(step.arg))
	case stepReturn:
		a.index(wasm.OpBr, step.arg)
	case stepBulk:
		w.bulk(a, step, instruction)
	}
}
