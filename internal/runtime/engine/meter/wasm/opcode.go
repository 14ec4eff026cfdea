package wasm

// Opcode is the first byte of an instruction. If that byte is a prefix, the upper bits of Opcode are the number that follows the prefix:
// see [Misc] and [Vector].
type Opcode uint16

// Opcodes that the rewriter handles or emits.
const (
	OpUnreachable   Opcode = 0x00
	OpBlock         Opcode = 0x02
	OpLoop          Opcode = 0x03
	OpIf            Opcode = 0x04
	OpElse          Opcode = 0x05
	OpEnd           Opcode = 0x0b
	OpBr            Opcode = 0x0c
	OpBrIf          Opcode = 0x0d
	OpBrTable       Opcode = 0x0e
	OpReturn        Opcode = 0x0f
	OpCall          Opcode = 0x10
	OpCallIndirect  Opcode = 0x11
	OpSelect        Opcode = 0x1b
	OpLocalGet      Opcode = 0x20
	OpLocalSet      Opcode = 0x21
	OpLocalTee      Opcode = 0x22
	OpGlobalGet     Opcode = 0x23
	OpGlobalSet     Opcode = 0x24
	OpTableGet      Opcode = 0x25
	OpTableSet      Opcode = 0x26
	OpMemorySize    Opcode = 0x3f
	OpMemoryGrow    Opcode = 0x40
	OpI32Const      Opcode = 0x41
	OpI64Const      Opcode = 0x42
	OpF32Const      Opcode = 0x43
	OpF64Const      Opcode = 0x44
	OpI32Eq         Opcode = 0x46
	OpI32Ne         Opcode = 0x47
	OpI32LtU        Opcode = 0x49
	OpI32GtU        Opcode = 0x4b
	OpI32LeU        Opcode = 0x4d
	OpI64LtS        Opcode = 0x53
	OpI64GeS        Opcode = 0x59
	OpI64GtU        Opcode = 0x56
	OpI32Add        Opcode = 0x6a
	OpI32Sub        Opcode = 0x6b
	OpI32DivU       Opcode = 0x6e
	OpI64Add        Opcode = 0x7c
	OpI64Sub        Opcode = 0x7d
	OpI64Mul        Opcode = 0x7e
	OpI32WrapI64    Opcode = 0xa7
	OpI64Or         Opcode = 0x84
	OpI64Shl        Opcode = 0x86
	OpI64DivU       Opcode = 0x80
	OpI64ExtendI32U Opcode = 0xad
	OpRefNull       Opcode = 0xd0
	OpRefFunc       Opcode = 0xd2
)

// Prefixes of opcodes.
const (
	prefixMisc   = 0xfc
	prefixVector = 0xfd
)

// Misc returns the opcode with the number n after the prefix of saturating conversions and bulk instructions.
func Misc(n byte) Opcode { return Opcode(n)<<8 | prefixMisc }

// Vector returns the opcode with the number n after the prefix of v128 instructions.
func Vector(n byte) Opcode { return Opcode(n)<<8 | prefixVector }

// Opcodes after the prefix 0xfc, from memory.init on.
const (
	OpMemoryInit = 8<<8 | Opcode(prefixMisc)
	OpDataDrop   = 9<<8 | Opcode(prefixMisc)
	OpMemoryCopy = 10<<8 | Opcode(prefixMisc)
	OpMemoryFill = 11<<8 | Opcode(prefixMisc)
	OpTableInit  = 12<<8 | Opcode(prefixMisc)
	OpElemDrop   = 13<<8 | Opcode(prefixMisc)
	OpTableCopy  = 14<<8 | Opcode(prefixMisc)
	OpTableGrow  = 15<<8 | Opcode(prefixMisc)
	OpTableFill  = 17<<8 | Opcode(prefixMisc)
)

// shape describes the immediates of an instruction: what follows its opcode.
type shape byte

const (
	unknown    shape = iota // not an instruction of WebAssembly 2.0
	bare                    // no immediates
	blockType               // the type of a block
	label                   // the depth of a label
	labels                  // a vector of the depths of labels, and the depth of a default label
	function                // the index of a function
	typeTable               // the indices of a type and of a table
	local                   // the index of a local
	global                  // the index of a global
	table                   // the index of a table
	memArg                  // an alignment and an offset
	memory                  // one byte that is zero: the index of the memory
	constI32                // a signed LEB128
	constI64                // a signed LEB128
	constF32                // four bytes
	constF64                // eight bytes
	valueTypes              // a vector of one value type
	refType                 // a reference type
	prefix                  // the number of an instruction
	dataMemory              // the index of a data segment, and the index of the memory
	data                    // the index of a data segment
	memories                // two indices of memories
	elemTable               // the indices of an element segment and of a table
	elem                    // the index of an element segment
	tables                  // the indices of two tables
	constV128               // sixteen bytes
	lanes                   // the numbers of sixteen lanes
	lane                    // the number of a lane
	memArgLane              // an alignment, an offset and the number of a lane
)

// shapes has the shapes of one-byte opcodes, indexed by opcode.
var shapes = spread([]span{
	{0x00, 0x01, bare}, {0x02, 0x04, blockType}, {0x05, 0x05, bare}, {0x0b, 0x0b, bare}, {0x0c, 0x0d, label},
	{0x0e, 0x0e, labels}, {0x0f, 0x0f, bare}, {0x10, 0x10, function}, {0x11, 0x11, typeTable},
	{0x1a, 0x1b, bare}, {0x1c, 0x1c, valueTypes}, {0x20, 0x22, local}, {0x23, 0x24, global}, {0x25, 0x26, table},
	{0x28, 0x3e, memArg}, {0x3f, 0x40, memory}, {0x41, 0x41, constI32}, {0x42, 0x42, constI64},
	{0x43, 0x43, constF32}, {0x44, 0x44, constF64}, {0x45, 0xc4, bare}, {0xd0, 0xd0, refType}, {0xd1, 0xd1, bare},
	{0xd2, 0xd2, function}, {prefixMisc, prefixVector, prefix},
})

// miscShapes has the shapes of the opcodes after the prefix 0xfc, indexed by number.
var miscShapes = spread([]span{
	{0, 7, bare}, {8, 8, dataMemory}, {9, 9, data}, {10, 10, memories}, {11, 11, memory}, {12, 12, elemTable},
	{13, 13, elem}, {14, 14, tables}, {15, 17, table},
})

// vectorShapes has the shapes of the v128 instructions, indexed by number. Numbers that are missing here are unassigned.
var vectorShapes = spread([]span{
	{0x00, 0x0b, memArg}, {0x0c, 0x0c, constV128}, {0x0d, 0x0d, lanes}, {0x0e, 0x14, bare}, {0x15, 0x22, lane},
	{0x23, 0x53, bare}, {0x54, 0x5b, memArgLane}, {0x5c, 0x5d, memArg}, {0x5e, 0x99, bare}, {0x9b, 0xa1, bare},
	{0xa3, 0xa4, bare}, {0xa7, 0xae, bare}, {0xb1, 0xb1, bare}, {0xb5, 0xba, bare}, {0xbc, 0xc1, bare},
	{0xc3, 0xc4, bare}, {0xc7, 0xce, bare}, {0xd1, 0xd1, bare}, {0xd5, 0xe1, bare}, {0xe3, 0xed, bare},
	{0xef, 0xff, bare},
})

type span struct {
	first, last byte
	shape       shape
}

func spread(spans []span) (table [256]shape) {
	for _, s := range spans {
		for i := int(s.first); i <= int(s.last); i++ {
			table[i] = s.shape
		}
	}
	return table
}
