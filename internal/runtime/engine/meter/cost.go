package meter

import "github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter/wasm"

// Costs of instructions in units of fuel. An instruction costs 1, but end and else cost nothing. Instructions that take much longer than
// others cost more. A unit is therefore at most some tens of nanoseconds of work, and typically a third of a nanosecond.
const (
	costMemory = 2    // cost of a load or store, which may miss every cache
	costDivide = 8    // cost of an integer division, and of a square root or division of floats
	costVector = 3    // cost of an instruction on v128: some become ten machine instructions
	costCall   = 2    // cost of a call, plus 1 for each parameter and result
	costHost   = 50   // cost of calling an imported function, in addition to costCall
	costWASI   = 1000 // cost of calling a WASI function, in addition to costCall: a system call takes microseconds
	costRefs   = 50   // cost of ref.func, for which wazero calls its runtime
	costGrow   = 250
	costBulk   = 10 // cost of calling the helper of an instruction of variable length, in addition to the cost of the length

	// bytesPerUnit is the number of bytes that a bulk instruction copies or fills for one unit.
	bytesPerUnit = 8
	// unitsPerPage is the cost of a page that memory.grow adds. It is the cost of filling that page.
	unitsPerPage = pageSize / bytesPerUnit
	pageSize     = 64 << 10

	// localsPerUnit is the number of locals that cost one unit on each path through a join of control flow. The compiled code may have to
	// move every local there.
	localsPerUnit = 16
)

// cost returns the cost of an instruction as far as its opcode determines it.
func cost(op wasm.Opcode) uint32 {
	switch n := byte(op >> 8); op {
	case wasm.Vector(n):
		return costVector
	case wasm.Misc(n):
		return costDivide / 2 // cost of a saturating conversion; the bulk instructions have their own costs
	}
	return uint32(costs[op])
}

// costs has the costs of one-byte opcodes, indexed by opcode.
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
