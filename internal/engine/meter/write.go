package meter

import "github.com/bulkhead-mcp/bulkhead/internal/engine/meter/wasm"

// charge appends the code of a charge.
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
// Measured with wazero 1.12 on a Go guest: the main cost of a check is the call in it, across which the compiler must spill
// registers, not the comparison. The register allocator favours the first arm of an if, so the usual arm comes first, empty.
// Calling a helper that charges and checks instead takes three times as long; calling one only in the rare arm, or
// branching over it, makes no difference.
func (w *rewriter) check(a *asm) {
	a.index(wasm.OpGlobalGet, w.fuel).i64(0).op(wasm.OpI64GeS)
	a.block(wasm.OpIf).op(wasm.OpElse).index(wasm.OpCall, w.yield).op(wasm.OpEnd)
}

// function appends a rewritten body.
//
// A function that calls others also maintains the stack counter. Its body is wrapped in a block so that all paths out of it
// pass the code that restores the counter: branches to the function's label now refer to the block, and return becomes such
// a branch.
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
	// One comparison for both counters: the bitwise or of two integers is negative if one of them is.
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

// enterHelper is called at the beginning of a function if a counter is below zero.
func (w *rewriter) enterHelper(a *asm) {
	a.op(0)
	a.index(wasm.OpGlobalGet, w.stack).i64(0).op(wasm.OpI64LtS).block(wasm.OpIf).op(wasm.OpUnreachable, wasm.OpEnd)
	a.index(wasm.OpCall, w.yield).op(wasm.OpEnd)
}

// resultType encodes the type of a block without parameters and with a function's results.
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
// The compiler allocates a slot for each variable and for each other value that is live across a call. Ordinary code has one
// such value per dozen instructions or more, adversarial code two per three instructions. A byte per unit of cost is three
// times what functions of the Go compiler take with wazero 1.12, and an eighth of the worst case. wazero itself limits the
// stack to about 100 MB.
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

// frameBase is the fixed part of a frame.
const frameBase = 64

// steps appends the instructions with their charges. Unchanged sequences are copied at once.
func (w *rewriter) steps(a *asm, code []byte) {
	s := &w.scan
	copied := 0 // offset up to which code is written
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

// isReplaced reports whether a step's instruction is rewritten.
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

// replace appends the replacement of an instruction.
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
