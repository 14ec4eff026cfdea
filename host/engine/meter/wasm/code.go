package wasm

import "fmt"

// Space is how many of each thing a body may refer to.
type Space struct {
	Types, Funcs, Globals, Tables, Memories, Data, Elements uint32
	// DataCount says that the module has that section, without which no instruction names a data segment.
	DataCount bool
}

// Code walks the instructions of a body, which follow its locals. Next reads them one by one; the fields
// then tell of the one that was read.
type Code struct {
	Op    Opcode
	Start int // where the instruction begins, in Body
	// A and B are its indices, in their order; of block, loop and if, A is the index of the type and B its
	// single byte, of which the one that is not used is NoIndex or 0; of select with a type, A is the type's
	// byte.
	A, B uint32
	// Labels are the depths of a br_table, with the default at the end. It holds until Next is called.
	Labels []uint32

	Body     []byte
	MaxTable int // bounds Labels

	base  int
	pos   int
	space Space
	// Locals is how many parameters and locals there are.
	locals uint32
	err    error
}

// NoIndex is the A of a block whose type has no index.
const NoIndex = ^uint32(0)

// Reset starts on another body, which lies at offset base of the module.
func (c *Code) Reset(body []byte, base int, space Space, locals uint32) {
	c.Body, c.base, c.space, c.locals = body, base, space, locals
	c.pos, c.err = 0, nil
}

// Err is what is wrong with the body, or nil.
func (c *Code) Err() error { return c.err }

// End is where the instruction that was read ends, in Body.
func (c *Code) End() int { return c.pos }

// Offset is where the instruction lies in the module.
func (c *Code) Offset() int { return c.base + c.Start }

// Fail records a fault of the instruction that was read.
func (c *Code) Fail(format string, args ...any) {
	if c.err == nil {
		c.err = &FormatError{Offset: c.Offset(), Message: fmt.Sprintf(format, args...)}
	}
	c.pos = len(c.Body)
}

// Exceed records that the instruction that was read has too much of something.
func (c *Code) Exceed(what string, have, limit int) {
	if c.err == nil {
		c.err = &LimitError{Offset: c.Offset(), What: what, Have: uint64(have), Limit: uint64(limit)}
	}
	c.pos = len(c.Body)
}

// Next reads an instruction. It is false at the end and after an error.
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

// name is the opcode as the specification writes it.
func (c *Code) name() string {
	if p := byte(c.Op); p == prefixMisc || p == prefixVector {
		return fmt.Sprintf("%#02x %d", p, c.A)
	}
	return fmt.Sprintf("%#02x", byte(c.Op))
}

// prefixed reads the number behind a prefix. Engines disagree on numbers that are longer than need be (some
// read one byte only), so they are refused.
func (c *Code) prefixed() shape {
	from := c.pos
	n := c.u32()
	c.A = n
	if n > 0xff {
		return unknown
	}
	if size := c.pos - from; c.err == nil && size != 1+int(n>>7) {
		c.Fail("opcode %s is written in %d bytes", c.name(), size)
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

// index reads an index that must be below bound.
func (c *Code) index(bound uint32, what string) uint32 {
	v := c.u32()
	if v >= bound {
		c.Fail("there is no %s %d", what, v)
	}
	return v
}

// skip passes over n bytes that were measured; 0 stands for a malformed integer.
func (c *Code) skip(n int) {
	if n == 0 {
		c.Fail("malformed integer")
		return
	}
	c.pos += n
}

func (c *Code) bytes(n int) {
	if len(c.Body)-c.pos < n {
		c.Fail("instruction %s is cut off", c.name())
		return
	}
	c.pos += n
}

func (c *Code) memArg() {
	if c.space.Memories == 0 {
		c.Fail("there is no memory")
		return
	}
	// Bit 6 of the alignment announces the index of a memory in a later version of the format. No alignment
	// is above 4.
	if align := c.u32(); align > 4 {
		c.Fail("alignment %d", align)
		return
	}
	c.u32()
}

func (c *Code) memory() {
	if c.space.Memories == 0 || c.pos >= len(c.Body) || c.Body[c.pos] != 0 {
		c.Fail("there is no such memory")
		return
	}
	c.pos++
}

func (c *Code) data() uint32 {
	if !c.space.DataCount {
		c.Fail("a data segment is named, and there is no data count section")
		return 0
	}
	return c.index(c.space.Data, "data segment")
}

func (c *Code) block() {
	if c.pos >= len(c.Body) {
		c.Fail("block is cut off")
		return
	}
	b := c.Body[c.pos]
	if b == BlockVoid || ValueType(b).valid() {
		c.pos++
		c.A, c.B = NoIndex, uint32(b)
		return
	}
	// An index is a positive number of 33 bits: one more than an unsigned one of 32 needs.
	n := signed(c.Body[c.pos:], 33)
	v, m := u32(c.Body[c.pos:])
	if n == 0 || m == 0 || n != m || c.Body[c.pos+n-1]&0x40 != 0 && n < 5 {
		c.Fail("malformed type of a block")
		return
	}
	c.pos += n
	c.A, c.B = v, 0
	if v >= c.space.Types {
		c.Fail("there is no type %d", v)
	}
}

func (c *Code) labels() {
	n := c.u32()
	if int64(n) >= int64(len(c.Body)-c.pos) {
		c.Fail("br_table is cut off")
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
			c.Fail("select has not one type")
			return
		}
	}
	if c.pos >= len(c.Body) {
		c.Fail("instruction %s is cut off", c.name())
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
