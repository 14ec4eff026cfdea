package meter

import "github.com/bulkhead-mcp/bulkhead/host/engine/meter/wasm"

// estimate is what compiling a function takes at most, to the order of magnitude, measured with wazero 1.12:
//
//   - It keeps every variable (parameter, local, mutable global) and every value of a block's type at each joint
//     (block, branch, label of a br_table, call): mesh values, of some hundred bytes each while it compiles.
//   - It compares blocks with each other, and at each joint the values that are passed on with each other: work
//     nanoseconds. So a few kilobytes of br_table into a block with a thousand results can take minutes.
//   - Instructions that can trap become dozens of machine instructions: code bytes, which stay in memory as long
//     as the module, and sixty times as much while the function is compiled.
type estimate struct {
	variables int64 // that each joint has
	joints    int64
	mesh      int64
	squares   int64 // of the values at each joint
	code      int64
}

// joint adds a joint at which values are passed on besides the variables.
func (e *estimate) joint(values uint32) {
	all := e.variables + int64(values)
	e.joints++
	e.mesh += all
	e.squares += all * all
	e.code += codePerValue * int64(values)
}

// What work takes, in nanoseconds.
const (
	workPerPair   = 12 // of two joints
	workPerSquare = 2  // of two values at a joint
)

func (e *estimate) work() int64 {
	return workPerPair*e.joints*e.joints + workPerSquare*e.squares
}

// Bytes of compiled code.
const (
	codePerValue   = 8
	codeOfCharge   = 16
	codeOfCheck    = 80
	codeOfSimple   = 6   // an instruction that neither traps nor leaves compiled code
	codeOfVector   = 30  // of v128
	codeOfMemory   = 80  // a load or store: the check of its address, and the trap
	codeOfDivide   = 160 // the checks for zero and overflow, and their traps
	codeOfConvert  = 280 // a float to an integer, likewise
	codeOfSaturate = 80
	codeOfJoint    = 30
	codeOfCall     = 100
	codeOfHost     = 300 // call_indirect, and what wazero leaves compiled code for
)

// codeOf is what an instruction becomes, by its opcode alone.
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

// codes are those of the instructions of one byte.
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
			table[i] = codeOfJoint
		default:
			table[i] = codeOfSimple
		}
	}
	return table
}()

// total is the estimate of a module.
type total struct{ mesh, work, code int64 }

// add adds that of a function, and is an error if a bound is exceeded.
func (t *total) add(e *estimate, c Config, offset int) error {
	t.mesh += e.mesh
	t.work += e.work()
	t.code += e.code
	for _, b := range []struct {
		what        string
		have, limit int64
	}{
		{"values at the joints of a function", e.mesh, c.MaxMesh},
		{"values at the joints of all functions", t.mesh, c.MaxMeshSum},
		{"nanoseconds that compiling a function may take", e.work(), c.MaxWork},
		{"nanoseconds that compiling all functions may take", t.work, c.MaxWorkSum},
		{"bytes of compiled code of a function", e.code, c.MaxCode},
		{"bytes of compiled code of all functions", t.code, c.MaxCodeSum},
	} {
		if b.have > b.limit {
			return &wasm.LimitError{Offset: offset, What: b.what, Have: uint64(b.have), Limit: uint64(b.limit)}
		}
	}
	return nil
}
