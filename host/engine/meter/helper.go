package meter

import (
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/host/engine/meter/wasm"
)

// chunk is how many bytes of the memory are handled between two charges: some ten microseconds, or a hundred
// if every page is touched for the first time.
const chunk = 256 << 10

// helper is a function that is added to the module, and called instead of an instruction of variable length
// or in front of it.
type helper struct {
	name string
	typ  uint32
	body asm // with the declaration of locals
}

// The types of helpers: of what stands for an instruction on a range, and of what passes on how much.
var (
	typeRange  = wasm.FuncType{Params: []byte{byte(wasm.I32), byte(wasm.I32), byte(wasm.I32)}}
	typeAmount = wasm.FuncType{Params: []byte{byte(wasm.I32)}, Results: []byte{byte(wasm.I32)}}
)

// bulk appends what stands for an instruction of variable length.
//
// Those of the memory are done in chunks, with a charge in front of each. Segments up to a chunk, and tables,
// which Config.TableMax bounds, are done at once behind one charge.
func (w *rewriter) bulk(a *asm, step *step, instruction []byte) {
	switch op := wasm.Opcode(step.arg); {
	case op == wasm.OpMemoryCopy:
		w.call(a, "copy", typeRange, func(h *asm) { w.copyHelper(h, instruction) })
	case op == wasm.OpMemoryFill:
		w.call(a, "fill", typeRange, func(h *asm) { w.rangeHelper(h, instruction, false) })
	case op == wasm.OpMemoryInit && w.m.DataSizes[step.index] > chunk:
		name := fmt.Sprintf("init %d", step.index)
		w.call(a, name, typeRange, func(h *asm) { w.rangeHelper(h, instruction, true) })
	case op == wasm.OpMemoryInit:
		w.call(a, "init", typeAmount, func(h *asm) { w.amountHelper(h, chunk, bytesPerUnit) })
		a.raw(instruction)
	case op == wasm.OpMemoryGrow:
		w.call(a, "grow", typeAmount, func(h *asm) { w.growHelper(h, instruction) })
	default:
		w.call(a, "table", typeAmount, func(h *asm) { w.amountHelper(h, w.config.TableMax, 1) })
		a.raw(instruction)
	}
}

// call appends a call of a helper, which is made when it is first needed.
func (w *rewriter) call(a *asm, name string, t wasm.FuncType, make func(*asm)) {
	index, ok := w.helperIndex[name]
	if !ok {
		index = w.m.Space.Funcs + 1 + uint32(len(w.helpers))
		w.helperIndex[name] = index
		h := helper{name: reserved + name, typ: w.typeIndex(t)}
		make(&h.body)
		w.helpers = append(w.helpers, h)
	}
	a.index(wasm.OpCall, index)
}

// The locals of the helpers.
const (
	localTo     = 0 // of a range: where it goes
	localFrom   = 1 // where it comes from, or the byte to fill it with
	localLength = 2
	localPart   = 3 // how much of the length is next

	localAmount = 0
	localResult = 1
)

// oneMore declares a local of type i32 besides the parameters.
var oneMore = []byte{1, 1, byte(wasm.I32)}

// copyHelper is memory.copy. What overlaps is copied from the end that the source does not lose.
func (w *rewriter) copyHelper(a *asm, instruction []byte) {
	a.raw(oneMore)
	w.short(a, instruction)
	w.checkRange(a, instruction, localTo, localFrom)
	a.get(localTo, localFrom).op(wasm.OpI32GtU).block(wasm.OpIf)
	{
		a.block(wasm.OpLoop)
		w.part(a)
		a.get(localLength, localPart).op(wasm.OpI32Sub).set(localLength)
		a.get(localTo, localLength).op(wasm.OpI32Add)
		a.get(localFrom, localLength).op(wasm.OpI32Add)
		a.get(localPart).raw(instruction)
		a.get(localLength).index(wasm.OpBrIf, 0).op(wasm.OpEnd)
		a.op(wasm.OpReturn)
	}
	a.op(wasm.OpEnd)
	w.forward(a, instruction, true)
	a.op(wasm.OpEnd)
}

// rangeHelper is memory.fill, or memory.init of a segment that is longer than a chunk. Such a segment has its
// own bounds, and none if it was dropped: the instruction checks them, and traps at the first chunk if that is
// dropped; but a range that leaves the segment only later must not be begun.
func (w *rewriter) rangeHelper(a *asm, instruction []byte, moves bool) {
	a.raw(oneMore)
	w.short(a, instruction)
	w.checkRange(a, instruction, localTo)
	if moves {
		a.get(localFrom).op(wasm.OpI64ExtendI32U).get(localLength).op(wasm.OpI64ExtendI32U, wasm.OpI64Add)
		a.i64(int64(w.segment(instruction))).op(wasm.OpI64GtU)
		w.trapBy(a, instruction)
	}
	w.forward(a, instruction, moves)
	a.op(wasm.OpEnd)
}

// segment is the size of the segment that a memory.init names.
func (w *rewriter) segment(instruction []byte) uint32 {
	index, _ := wasm.ReadU32(instruction[2:])
	return w.m.DataSizes[index]
}

// short appends code that does a range of at most a chunk at once, and returns.
func (w *rewriter) short(a *asm, instruction []byte) {
	a.get(localLength).i32(chunk).op(wasm.OpI32LeU).block(wasm.OpIf)
	w.chargeBytes(a, localLength)
	a.get(localTo, localFrom, localLength).raw(instruction)
	a.op(wasm.OpReturn, wasm.OpEnd)
}

// checkRange appends code that traps if a range from any of the starts leaves the memory.
func (w *rewriter) checkRange(a *asm, instruction []byte, starts ...uint32) {
	for _, start := range starts {
		a.get(start).op(wasm.OpI64ExtendI32U).get(localLength).op(wasm.OpI64ExtendI32U, wasm.OpI64Add)
		a.op(wasm.OpMemorySize, 0).op(wasm.OpI64ExtendI32U).i64(16).op(wasm.OpI64Shl, wasm.OpI64GtU)
		w.trapBy(a, instruction)
	}
}

// trapBy appends code that, if the condition on the operand stack holds, lets the instruction itself trap on
// the whole range, so that the trap is the right one.
func (w *rewriter) trapBy(a *asm, instruction []byte) {
	a.block(wasm.OpIf).get(localTo, localFrom, localLength).raw(instruction).op(wasm.OpReturn, wasm.OpEnd)
}

// forward appends a loop that does chunk after chunk from the beginning.
func (w *rewriter) forward(a *asm, instruction []byte, moves bool) {
	a.block(wasm.OpLoop)
	w.part(a)
	a.get(localTo, localFrom, localPart).raw(instruction)
	a.get(localTo, localPart).op(wasm.OpI32Add).set(localTo)
	if moves {
		a.get(localFrom, localPart).op(wasm.OpI32Add).set(localFrom)
	}
	a.get(localLength, localPart).op(wasm.OpI32Sub).index(wasm.OpLocalTee, localLength)
	a.index(wasm.OpBrIf, 0).op(wasm.OpEnd)
}

// part appends code that says how much is next, and charges it.
func (w *rewriter) part(a *asm) {
	a.i32(chunk).get(localLength).get(localLength).i32(chunk).op(wasm.OpI32GtU, wasm.OpSelect).set(localPart)
	w.chargeBytes(a, localPart)
}

func (w *rewriter) chargeBytes(a *asm, length uint32) {
	a.index(wasm.OpGlobalGet, w.fuel)
	a.get(length).i32(bytesPerUnit).op(wasm.OpI32DivU, wasm.OpI64ExtendI32U, wasm.OpI64Sub)
	a.index(wasm.OpGlobalSet, w.fuel)
	w.check(a)
}

// growHelper is memory.grow. Pages are charged when they were granted: a module may ask for more than there
// is.
func (w *rewriter) growHelper(a *asm, instruction []byte) {
	a.raw(oneMore)
	a.get(localAmount).raw(instruction).index(wasm.OpLocalTee, localResult).i32(-1).op(wasm.OpI32Ne).block(wasm.OpIf)
	a.index(wasm.OpGlobalGet, w.fuel)
	a.get(localAmount).op(wasm.OpI64ExtendI32U).i64(unitsPerPage).op(wasm.OpI64Mul, wasm.OpI64Sub)
	a.index(wasm.OpGlobalSet, w.fuel)
	w.check(a)
	a.op(wasm.OpEnd).get(localResult).op(wasm.OpEnd)
}

// amountHelper charges an amount, or most, and passes it on to an instruction that traps or refuses if the
// amount is above that.
func (w *rewriter) amountHelper(a *asm, most int, perUnit int) {
	a.op(0)
	a.index(wasm.OpGlobalGet, w.fuel)
	a.get(localAmount).i32(int32(most)).get(localAmount).i32(int32(most)).op(wasm.OpI32LtU, wasm.OpSelect)
	a.op(wasm.OpI64ExtendI32U).i64(int64(perUnit)).op(wasm.OpI64DivU, wasm.OpI64Sub)
	a.index(wasm.OpGlobalSet, w.fuel)
	w.check(a)
	a.get(localAmount).op(wasm.OpEnd)
}
