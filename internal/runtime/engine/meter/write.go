package meter

import "github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter/wasm"

// charge appends the code that performs the charge c.
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
// The form of this code was measured with wazero 1.12 on a Go guest. The main cost of a check is not the comparison, but the call in it,
// across which the compiler must spill registers. The register allocator favours the first arm of an if. The usual case is therefore the
// first arm, which is empty. Calling a helper that charges and checks takes three times as long. Calling a helper only in the rare arm, or
// branching over it, makes no difference.
func (w *rewriter) check(a *asm) {
	a.index(wasm.OpGlobalGet, w.fuel).i64(0).op(wasm.OpI64GeS)
	a.block(wasm.OpIf).op(wasm.OpElse).index(wasm.OpCall, w.yield).op(wasm.OpEnd)
}

// function appends a rewritten body.
//
// A function that calls other functions also maintains the stack counter. A block encloses its body, so that all paths out of the body
// pass the code that restores the counter. Branches to the function's label now refer to that block, and a return becomes such a branch.
func (w *rewriter) function(a *asm, body wasm.Body, t wasm.FuncType, as callee) {
	s := &w.scan
	entry := charge{amount: w.planner.plan(s).uncharged + s.perControl, check: true}
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
	// One comparison checks both counters: the bitwise or of two integers is negative if one of them is.
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

// enterHelper generates the helper that a function calls at its beginning if a counter is below zero.
func (w *rewriter) enterHelper(a *asm) {
	a.op(0)
	a.index(wasm.OpGlobalGet, w.stack).i64(0).op(wasm.OpI64LtS).block(wasm.OpIf).op(wasm.OpUnreachable, wasm.OpEnd)
	a.index(wasm.OpCall, w.yield).op(wasm.OpEnd)
}

// resultType encodes the type of a block that has no parameters and has the results of a function of type t.
func (w *rewriter) resultType(t wasm.FuncType) []byte {
	switch len(t.Results) {
	case 0:
		return []byte{wasm.BlockVoid}
	case 1:
		return t.Results
	}
	// A block type is encoded as a signed integer.
	return wasm.AppendS64(nil, int64(w.typeIndex(wasm.FuncType{Results: t.Results})))
}

// frameSize estimates the size of a native stack frame of the scanned function.
//
// The compiler allocates a slot for each variable, and for each other value that is live across a call. Ordinary code has at most one such
// value per dozen instructions; adversarial code has two per three instructions. The estimate is one byte per unit of cost. This is three
// times what functions of the Go compiler take with wazero 1.12, and an eighth of the worst case. wazero itself limits the stack to about
// 100 MB.
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

// frameBase is the size of the fixed part of a frame, in bytes.
const frameBase = 64

// steps appends the instructions with their charges. Unchanged sequences of instructions are copied at once.
func (w *rewriter) steps(a *asm, code []byte) {
	s := &w.scan
	copied := 0 // offset in code up to which instructions are written
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
		if w.isReplaced(step) {
			a.raw(code[copied:from])
			copied = to
			w.replace(a, step, code[from:to])
		}
		if step.after != (charge{}) {
			a.raw(code[copied:to])
			copied = to
			w.charge(a, step.after)
		}
	}
	a.raw(code[copied:])
}

// isReplaced reports whether the instruction of a step is rewritten.
func (w *rewriter) isReplaced(step *step) bool {
	switch step.kind {
	case stepCall, stepFunc:
		return w.newIndex(step.arg) != step.arg
	case stepBulk:
		return true
	case stepReturn:
		return w.scan.calls
	case stepBr:
		return step.moved
	}
	return false
}

// replace appends the code that replaces the instruction of step.
func (w *rewriter) replace(a *asm, step *step, instruction []byte) {
	switch step.kind {
	case stepCall:
		a.index(wasm.OpCall, w.newIndex(step.arg))
	case stepFunc:
		a.index(wasm.OpRefFunc, w.newIndex(step.arg))
	case stepReturn, stepBr:
		a.index(wasm.OpBr, step.arg)
	case stepBulk:
		w.bulk(a, step, instruction)
	}
}
