package meter

import (
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter/wasm"
)

// chunk is the number of bytes that are processed between two charges. They take about ten microseconds, or a hundred if every page
// faults.
const chunk = 256 << 10

// helper is a function that Rewrite adds to the module. It is called either instead of an instruction of variable length, or before it.
type helper struct {
	name string
	typ  uint32
	body asm // encoded locals and instructions
}

// Types of helpers. A helper of typeRange replaces an instruction on a range. A helper of typeAmount charges for an amount and returns
// that amount.
var (
	typeRange  = wasm.FuncType{Params: []byte{byte(wasm.I32), byte(wasm.I32), byte(wasm.I32)}}
	typeAmount = wasm.FuncType{Params: []byte{byte(wasm.I32)}, Results: []byte{byte(wasm.I32)}}
)

// bulk appends the code that replaces an instruction of variable length.
//
// Memory instructions are divided into chunks, and each chunk is charged before it is processed. A segment that is no longer than a chunk
// is processed after a single charge. So is a table, whose size Config.TableMax limits.
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

// call appends a call of the helper called name. The first call generates that helper with make.
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

// Indices of the locals of the helpers.
const (
	localTo     = 0 // parameter of typeRange: the destination
	localFrom   = 1 // parameter of typeRange: the source, or the byte to fill with
	localLength = 2
	localChunk  = 3 // length of the chunk that is being processed

	localAmount = 0
	localResult = 1
)

// oneI32Local is the encoded declaration of one local of type i32.
var oneI32Local = []byte{1, 1, byte(wasm.I32)}

// copyHelper generates the helper for memory.copy. If the destination is above the source, the helper copies backward, so that overlapping
// ranges are copied correctly.
func (w *rewriter) copyHelper(a *asm, instruction []byte) {
	a.raw(oneI32Local)
	w.short(a, instruction)
	w.checkRange(a, instruction, localTo, localFrom)
	a.get(localTo, localFrom).op(wasm.OpI32GtU).block(wasm.OpIf)
	{
		a.block(wasm.OpLoop)
		w.nextChunk(a)
		a.get(localLength, localChunk).op(wasm.OpI32Sub).set(localLength)
		a.get(localTo, localLength).op(wasm.OpI32Add)
		a.get(localFrom, localLength).op(wasm.OpI32Add)
		a.get(localChunk).raw(instruction)
		a.get(localLength).index(wasm.OpBrIf, 0).op(wasm.OpEnd)
		a.op(wasm.OpReturn)
	}
	a.op(wasm.OpEnd)
	w.forward(a, instruction, true)
	a.op(wasm.OpEnd)
}

// rangeHelper generates the helper for memory.fill, or for memory.init of a segment longer than a chunk. A range that exceeds the segment
// must trap before the first chunk is written. If the segment was dropped, the instruction traps at the first chunk anyway.
func (w *rewriter) rangeHelper(a *asm, instruction []byte, hasSource bool) {
	a.raw(oneI32Local)
	w.short(a, instruction)
	w.checkRange(a, instruction, localTo)
	if hasSource {
		a.get(localFrom).op(wasm.OpI64ExtendI32U).get(localLength).op(wasm.OpI64ExtendI32U, wasm.OpI64Add)
		a.i64(int64(w.segment(instruction))).op(wasm.OpI64GtU)
		w.trapBy(a, instruction)
	}
	w.forward(a, instruction, hasSource)
	a.op(wasm.OpEnd)
}

// segment returns the size of the data segment that a memory.init refers to.
func (w *rewriter) segment(instruction []byte) uint32 {
	index, _ := wasm.ReadU32(instruction[2:])
	return w.m.DataSizes[index]
}

// short appends code that processes a range of at most one chunk with a single instruction, and then returns.
func (w *rewriter) short(a *asm, instruction []byte) {
	a.get(localLength).i32(chunk).op(wasm.OpI32LeU).block(wasm.OpIf)
	w.chargeBytes(a, localLength)
	a.get(localTo, localFrom, localLength).raw(instruction)
	a.op(wasm.OpReturn, wasm.OpEnd)
}

// checkRange appends code that traps if a range of localLength bytes that begins at one of starts exceeds the memory.
func (w *rewriter) checkRange(a *asm, instruction []byte, starts ...uint32) {
	for _, start := range starts {
		a.get(start).op(wasm.OpI64ExtendI32U).get(localLength).op(wasm.OpI64ExtendI32U, wasm.OpI64Add)
		a.op(wasm.OpMemorySize, 0).op(wasm.OpI64ExtendI32U).i64(16).op(wasm.OpI64Shl, wasm.OpI64GtU)
		w.trapBy(a, instruction)
	}
}

// trapBy appends code that executes the instruction on the whole range if the condition on the operand stack is true. The instruction
// then traps with the same reason as in the original module.
func (w *rewriter) trapBy(a *asm, instruction []byte) {
	a.block(wasm.OpIf).get(localTo, localFrom, localLength).raw(instruction).op(wasm.OpReturn, wasm.OpEnd)
}

// forward appends a loop that processes the chunks of the range in ascending order.
func (w *rewriter) forward(a *asm, instruction []byte, hasSource bool) {
	a.block(wasm.OpLoop)
	w.nextChunk(a)
	a.get(localTo, localFrom, localChunk).raw(instruction)
	a.get(localTo, localChunk).op(wasm.OpI32Add).set(localTo)
	if hasSource {
		a.get(localFrom, localChunk).op(wasm.OpI32Add).set(localFrom)
	}
	a.get(localLength, localChunk).op(wasm.OpI32Sub).index(wasm.OpLocalTee, localLength)
	a.index(wasm.OpBrIf, 0).op(wasm.OpEnd)
}

// nextChunk appends code that sets localChunk to the length of the next chunk and charges for that chunk.
func (w *rewriter) nextChunk(a *asm) {
	a.i32(chunk).get(localLength).get(localLength).i32(chunk).op(wasm.OpI32GtU, wasm.OpSelect).set(localChunk)
	w.chargeBytes(a, localChunk)
}

func (w *rewriter) chargeBytes(a *asm, length uint32) {
	a.index(wasm.OpGlobalGet, w.fuel)
	a.get(length).i32(bytesPerUnit).op(wasm.OpI32DivU, wasm.OpI64ExtendI32U, wasm.OpI64Sub)
	a.index(wasm.OpGlobalSet, w.fuel)
	w.check(a)
}

// growHelper generates the helper for memory.grow. It charges for pages after they were granted, because a refused request costs nothing.
func (w *rewriter) growHelper(a *asm, instruction []byte) {
	a.raw(oneI32Local)
	a.get(localAmount).raw(instruction).index(wasm.OpLocalTee, localResult).i32(-1).op(wasm.OpI32Ne).block(wasm.OpIf)
	a.index(wasm.OpGlobalGet, w.fuel)
	a.get(localAmount).op(wasm.OpI64ExtendI32U).i64(unitsPerPage).op(wasm.OpI64Mul, wasm.OpI64Sub)
	a.index(wasm.OpGlobalSet, w.fuel)
	w.check(a)
	a.op(wasm.OpEnd).get(localResult).op(wasm.OpEnd)
}

// amountHelper generates a helper that charges for an amount and returns that amount. The charge is at most that of the amount most: with
// a larger amount the instruction traps or fails anyway.
func (w *rewriter) amountHelper(a *asm, most int, perUnit int) {
	a.op(0)
	a.index(wasm.OpGlobalGet, w.fuel)
	a.get(localAmount).i32(int32(most)).get(localAmount).i32(int32(most)).op(wasm.OpI32LtU, wasm.OpSelect)
	a.op(wasm.OpI64ExtendI32U).i64(int64(perUnit)).op(wasm.OpI64DivU, wasm.OpI64Sub)
	a.index(wasm.OpGlobalSet, w.fuel)
	w.check(a)
	a.get(localAmount).op(wasm.OpEnd)
}
