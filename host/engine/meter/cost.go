package meter

import "github.com/bulkhead-mcp/bulkhead/host/engine/meter/wasm"

// What things cost, in units of fuel. An instruction costs 1, and end and else are none. What takes a compiled
// instruction much longer than others costs more, so that a unit is at most some tens of nanoseconds of work,
// and usually a third of one.
const (
	costMemory = 2    // a load or store: it may miss every cache
	costDivide = 8    // an integer division, or a square root or division of floats
	costVector = 3    // of v128: some are ten machine instructions
	costCall   = 2    // and 1 for each parameter and result
	costHost   = 50   // a call of an imported function, besides
	costWASI   = 1000 // a call of WASI's, besides: a system call takes microseconds
	costRefs   = 50   // ref.func, for which wazero leaves compiled code
	costGrow   = 250
	costBulk   = 10 // calling a helper for an instruction of variable length, besides the length

	// bytesPerUnit is how much of the linear memory a bulk instruction moves or fills for a unit.
	bytesPerUnit = 8
	// unitsPerPage is what a page that memory.grow adds costs: as much as filling it.
	unitsPerPage = pageSize / bytesPerUnit
	pageSize     = 64 << 10

	// localsPerUnit: where paths of a function meet, a compiler may have to move every local. A path through
	// such a place pays a unit for so many of them.
	localsPerUnit = 16
)

// cost is what an instruction costs by its opcode alone.
func cost(op wasm.Opcode) uint32 {
	switch n := byte(op >> 8); op {
	case wasm.Vector(n):
		return costVector
	case wasm.Misc(n):
		return costDivide / 2 // the saturating conversions; the bulk instructions have their own costs
	}
	return uint32(costs[op])
}

// costs are those of the instructions of one byte.
var costs = func() (table [256]byte) {
	for i := range table {
		switch op := wasm.Opcode(i); {
		case op == wasm.OpEnd || op == wasm.OpElse:
			table[i] = 0
		case op >= 0x28 && op <= 0x3e || op == wasm.OpTableGet || op == wasm.OpTableSet:
			table[i] = costMemory
		case op >= 0x6d && op <= 0x70 || op >= 0x7f && op <= 0x82: // div and rem of i32 and i64
			table[i] = costDivide
		case op == 0x91 || op == 0x95 || op == 0x9f || op == 0xa3: // sqrt and div of f32 and f64
			table[i] = costDivide
		default:
			table[i] = 1
		}
	}
	return table
}()
