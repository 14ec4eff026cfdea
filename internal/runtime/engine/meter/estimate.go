package meter

import "github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter/wasm"

// estimate is an estimate of the cost of compiling a function. Its order of magnitude agrees with measurements of wazero 1.12:
//
//   - The compiler's SSA form passes every variable (parameter, local, mutable global) and every value of a block's type as
//     an argument of the basic block at each control instruction (block, branch, label of a br_table, call). A block
//     argument takes about a hundred bytes during compilation.
//   - The compiler compares basic blocks with each other, and at each control instruction the block arguments with each other. The
//     method work returns this time in nanoseconds. A few kilobytes of br_table into a block with a thousand results take minutes.
//   - Instructions that can trap become dozens of machine instructions. The field code is their size in bytes. Compiled code stays in
//     memory as long as the module, and compiling takes sixty times as much memory.
type estimate struct {
	variables int64 // number of variables, which are block arguments of every control instruction
	controls  int64
	blockArgs int64
	squares   int64 // sum, over all control instructions, of the squared number of block arguments
	code      int64
}

// addControl adds a control instruction that passes the given number of values in addition to the variables.
func (e *estimate) addControl(values uint32) {
	all := e.variables + int64(values)
	e.controls++
	e.blockArgs += all
	e.squares += all * all
	e.code += codePerValue * int64(values)
}

// Nanoseconds of compile time.
const (
	workPerPair   = 12 // nanoseconds for each pair of control instructions
	workPerSquare = 2  // nanoseconds for each pair of block arguments of a control instruction
)

func (e *estimate) work() int64 {
	return workPerPair*e.controls*e.controls + workPerSquare*e.squares
}

// Bytes of compiled code.
const (
	codePerValue   = 8
	codeOfCharge   = 16
	codeOfCheck    = 80
	codeOfSimple   = 6   // bytes of an instruction that neither traps nor calls the runtime
	codeOfVector   = 30  // bytes of an instruction on v128
	codeOfMemory   = 80  // bytes of a load or store, with its bounds check and trap
	codeOfDivide   = 160 // bytes of a division, with checks for zero and overflow and their traps
	codeOfConvert  = 280 // bytes of a conversion of a float to an integer, with its checks and traps
	codeOfSaturate = 80
	codeOfControl  = 30
	codeOfCall     = 100
	codeOfHost     = 300 // bytes of call_indirect, and of an instruction for which wazero calls its runtime
)

// codeOf returns the size of the compiled code of an instruction, as far as its opcode determines it.
func codeOf(op wasm.Opcode) int64 {
	n := byte(op >> 8)
	switch {
	case op == wasm.Vector(n):
		if n <= 0x0b || n >= 0x54 && n <= 0x5d { // loads and stores
			return codeOfMemory
		}
		return codeOfVector
	case op == wasm.Misc(n):
		if n <= 7 {
			return codeOfSaturate
		}
		return codeOfHost
	}
	return int64(codes[op])
}

// codes has the code sizes of one-byte opcodes, indexed by opcode.
var codes = func() (table [256]uint16) {
	for i := range table {
		switch op := wasm.Opcode(i); {
		case op >= 0x28 && op <= 0x3e || op == wasm.OpTableGet || op == wasm.OpTableSet:
			table[i] = codeOfMemory
		case op >= 0x6d && op <= 0x70 || op >= 0x7f && op <= 0x82: // div and rem of i32 and i64
			table[i] = codeOfDivide
		case op >= 0xa8 && op <= 0xab || op >= 0xae && op <= 0xb1: // trunc
			table[i] = codeOfConvert
		case op == wasm.OpCall:
			table[i] = codeOfCall
		case op == wasm.OpCallIndirect || op == wasm.OpRefFunc || op == wasm.OpMemoryGrow:
			table[i] = codeOfHost
		case kinds[i] != stepRun && kinds[i] != stepNote:
			table[i] = codeOfControl
		default:
			table[i] = codeOfSimple
		}
	}
	return table
}()

// total is the sum of the estimates of all functions of a module.
type total struct{ blockArgs, work, code int64 }

// add adds the estimate of a function. It fails if that estimate or the sum exceeds a limit.
func (t *total) add(e *estimate, c Config, offset int) error {
	t.blockArgs += e.blockArgs
	t.work += e.work()
	t.code += e.code
	for _, b := range []struct {
		what        string
		have, limit int64
	}{
		{"SSA block arguments of a function", e.blockArgs, c.MaxBlockArgs},
		{"SSA block arguments of all functions", t.blockArgs, c.MaxBlockArgsSum},
		{"estimated nanoseconds of compiling a function", e.work(), c.MaxWork},
		{"estimated nanoseconds of compiling all functions", t.work, c.MaxWorkSum},
		{"bytes of compiled code of a function", e.code, c.MaxCode},
		{"bytes of compiled code of all functions", t.code, c.MaxCodeSum},
	} {
		if b.have > b.limit {
			return &wasm.LimitError{Offset: offset, What: b.what, Have: uint64(b.have), Limit: uint64(b.limit)}
		}
	}
	return nil
}
