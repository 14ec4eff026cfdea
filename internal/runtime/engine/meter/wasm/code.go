package wasm

import "fmt"

// Space has the sizes of the index spaces of a module.
type Space struct {
	Types, Funcs, Globals, Tables, Memories, Data, Elements uint32
	// DataCount reports whether the module has a data count section. Without that section, instructions must not refer to data segments.
	DataCount bool
}

// Code iterates over the instructions of a body, which follow its locals. After a call of Next, the fields describe the current
// instruction.
type Code struct {
	Op    Opcode
	Start int // offset of the current instruction in Body
	// A and B are the indices that the instruction contains, in their order. For block, loop and if, either A is a type index and B is 0, or
	// A is NoIndex and B is BlockVoid or a ValueType. For select with a type, A is the ValueType.
	A, B uint32
	// Labels are the depths of a br_table, of which the last is the default. They are valid until the next call of Next.
	Labels []uint32

	Body     []byte
	MaxTable int // maximum length of Labels

	base   int
	pos    int
	space  Space
	locals uint32 // number of the function's parameters and locals
	err    error
}

// NoIndex marks the absence of an index: in Code.A for a block type that is not an index, and in Module.Start for a module without a start
// function.
const NoIndex = ^uint32(0)

// Reset starts the iteration over a body, which is at the offset base of the module.
func (c *Code) Reset(body []byte, base int, space Space, locals uint32) {
	c.Body, c.base, c.space, c.locals = body, base, space, locals
	c.pos, c.err = 0, nil
}

// Err returns the first error of the iteration; nil if there is none.
func (c *Code) Err() error { return c.err }

// End returns the offset in Body of the end of the current instruction.
func (c *Code) End() int { return c.pos }

// Offset returns the offset of the current instruction in the module.
func (c *Code) Offset() int { return c.base + c.Start }

// Fail records a FormatError at the current instruction.
func (c *Code) Fail(format string, args ...any) {
	if c.err == nil {
		c.err = &FormatError{Offset: c.Offset(), Message: fmt.Sprintf(format, args...)}
	}
	c.pos = len(c.Body)
}

// Exceed records a LimitError at the current instruction.
func (c *Code) Exceed(what string, have, limit int) {
	if c.err == nil {
		c.err = &LimitError{Offset: c.Offset(), What: what, Have: uint64(have), Limit: uint64(limit)}
	}
	c.pos = len(c.Body)
}

// Next reads the next instruction. It returns false at the end of the body and after an error.
func (c *Code) Next() bool {
	if c.pos >= len(c.Body) {
		return false
	}
	c.Start = c.pos
	op := c.Body[c.pos]
	c.pos++
	c.Op = Opcode(op)
	s := shapes[op]
	switch s {
	case bare:
		return true
	case local:
		c.A = c.index(c.locals, "local")
	case memArg:
		c.memArg()
	case constI32:
		c.skip(signed(c.Body[c.pos:], 32))
	default:
		c.immediates(s)
	}
	return c.err == nil
}

func (c *Code) immediates(s shape) {
	switch s {
	case prefix:
		c.immediates(c.prefixed())
	case bare:
	case blockType:
		c.block()
	case label:
		c.A = c.u32()
	case labels:
		c.labels()
	case function:
		c.A = c.index(c.space.Funcs, "function")
	case typeTable:
		c.A, c.B = c.index(c.space.Types, "type"), c.index(c.space.Tables, "table")
	case global:
		c.A = c.index(c.space.Globals, "global")
	case table:
		c.A = c.index(c.space.Tables, "table")
	case elem:
		c.A = c.index(c.space.Elements, "element segment")
	case elemTable:
		c.A, c.B = c.index(c.space.Elements, "element segment"), c.index(c.space.Tables, "table")
	case tables:
		c.A, c.B = c.index(c.space.Tables, "table"), c.index(c.space.Tables, "table")
	case constI64:
		c.skip(signed(c.Body[c.pos:], 64))
	case constF32:
		c.bytes(4)
	case constF64:
		c.bytes(8)
	case valueTypes, refType:
		c.types(s)
	default:
		c.memoryImmediates(s)
	}
}

func (c *Code) memoryImmediates(s shape) {
	switch s {
	case memArg:
		c.memArg()
	case memArgLane:
		c.memArg()
		c.bytes(1)
	case memory:
		c.memory()
	case memories:
		c.memory()
		c.memory()
	case data:
		c.A = c.data()
	case dataMemory:
		c.A = c.data()
		c.memory()
	case constV128, lanes:
		c.bytes(16)
	case lane:
		c.bytes(1)
	default:
		c.Fail("unknown opcode %s", c.name())
	}
}

// name returns the opcode in the notation of the specification.
func (c *Code) name() string {
	if p := byte(c.Op); p == prefixMisc || p == prefixVector {
		return fmt.Sprintf("%#02x %d", p, c.A)
	}
	return fmt.Sprintf("%#02x", byte(c.Op))
}

// prefixed reads the number after a prefix. It refuses overlong encodings, since engines disagree on them: some read only one byte.
func (c *Code) prefixed() shape {
	from := c.pos
	n := c.u32()
	c.A = n
	if n > 0xff {
		return unknown
	}
	if size := c.pos - from; c.err == nil && size != 1+int(n>>7) {
		c.Fail("opcode %s has an overlong encoding of %d bytes", c.name(), size)
		return unknown
	}
	c.Op |= Opcode(n) << 8
	if byte(c.Op) == prefixMisc {
		return miscShapes[n]
	}
	return vectorShapes[n]
}

func (c *Code) u32() uint32 {
	if c.pos < len(c.Body) && c.Body[c.pos] < 0x80 {
		c.pos++
		return uint32(c.Body[c.pos-1])
	}
	v, n := u32(c.Body[c.pos:])
	c.skip(n)
	return v
}

// index reads an index, which must be less than bound.
func (c *Code) index(bound uint32, what string) uint32 {
	v := c.u32()
	if v >= bound {
		c.Fail("unknown %s %d", what, v)
	}
	return v
}

// skip skips an integer of n bytes. It fails if n is 0, which means that the integer is malformed.
func (c *Code) skip(n int) {
	if n == 0 {
		c.Fail("malformed integer")
		return
	}
	c.pos += n
}

func (c *Code) bytes(n int) {
	if len(c.Body)-c.pos < n {
		c.Fail("unexpected end of instruction %s", c.name())
		return
	}
	c.pos += n
}

func (c *Code) memArg() {
	if c.space.Memories == 0 {
		c.Fail("unknown memory 0")
		return
	}
	// In later versions of the format, bit 6 of the alignment means that a memory index follows. No valid alignment exceeds 4.
	if align := c.u32(); align > 4 {
		c.Fail("invalid alignment %d", align)
		return
	}
	c.u32()
}

func (c *Code) memory() {
	if c.space.Memories == 0 || c.pos >= len(c.Body) || c.Body[c.pos] != 0 {
		c.Fail("unknown memory")
		return
	}
	c.pos++
}

func (c *Code) data() uint32 {
	if !c.space.DataCount {
		c.Fail("data count section required")
		return 0
	}
	return c.index(c.space.Data, "data segment")
}

func (c *Code) block() {
	if c.pos >= len(c.Body) {
		c.Fail("unexpected end of a block type")
		return
	}
	b := c.Body[c.pos]
	if b == BlockVoid || ValueType(b).valid() {
		c.pos++
		c.A, c.B = NoIndex, uint32(b)
		return
	}
	// A type index is encoded as a non-negative signed integer of 33 bits.
	n := signed(c.Body[c.pos:], 33)
	v, m := u32(c.Body[c.pos:])
	if n == 0 || m == 0 || n != m || c.Body[c.pos+n-1]&0x40 != 0 && n < 5 {
		c.Fail("malformed block type")
		return
	}
	c.pos += n
	c.A, c.B = v, 0
	if v >= c.space.Types {
		c.Fail("unknown type %d", v)
	}
}

func (c *Code) labels() {
	n := c.u32()
	if int64(n) >= int64(len(c.Body)-c.pos) {
		c.Fail("unexpected end of br_table")
		return
	}
	if int64(n) > int64(c.MaxTable) {
		c.Exceed("labels of a br_table", int(n), c.MaxTable)
		return
	}
	c.Labels = c.Labels[:0]
	for range n + 1 {
		c.Labels = append(c.Labels, c.u32())
	}
}

func (c *Code) types(s shape) {
	if s == valueTypes {
		if c.u32() != 1 {
			c.Fail("select must have exactly one type")
			return
		}
	}
	if c.pos >= len(c.Body) {
		c.Fail("unexpected end of instruction %s", c.name())
		return
	}
	t := ValueType(c.Body[c.pos])
	if s == refType && !t.reference() || !t.valid() {
		c.Fail("unknown type %#x", byte(t))
		return
	}
	c.A = uint32(t)
	c.pos++
}
