package wasm

// Expr is a constant expression. It consists of one instruction and an end.
type Expr struct {
	Op    Opcode
	Index uint32 // index that ref.func or global.get refers to
	raw   []byte
}

// expr reads a constant expression.
func (m *Module) expr(r *Reader) Expr {
	from := r.pos
	e := Expr{Op: Opcode(r.Byte())}
	switch e.Op {
	case OpI32Const:
		r.signed(32)
	case OpI64Const:
		r.signed(64)
	case OpF32Const:
		r.Bytes(4)
	case OpF64Const:
		r.Bytes(8)
	case OpRefNull:
		if t := ValueType(r.Byte()); !t.reference() {
			r.Fail("ref.null of unknown type %#x", byte(t))
		}
	case OpRefFunc:
		if e.Index = r.U32(); e.Index >= m.Space.Funcs {
			r.Fail("unknown function %d", e.Index)
		}
	case OpGlobalGet:
		if e.Index = r.U32(); e.Index >= m.Space.Globals {
			r.Fail("unknown global %d", e.Index)
		}
	case prefixVector:
		if r.Byte() != 12 {
			r.Fail("not a constant expression")
		}
		r.Bytes(16)
	default:
		r.Fail("not a constant expression")
	}
	if r.Byte() != byte(OpEnd) {
		r.Fail("constant expression of more than one instruction")
	}
	if r.err == nil {
		e.raw = r.data[from:r.pos]
	}
	return e
}

func (r *Reader) signed(bits int) {
	n := signed(r.data[r.pos:], bits)
	if n == 0 {
		r.Fail("malformed integer")
	}
	r.pos += n
}

// Append appends the encoded expression to out. number returns the new index of a function.
func (e Expr) Append(out []byte, number func(uint32) uint32) []byte {
	if e.Op == OpRefFunc {
		out = AppendU32(append(out, byte(OpRefFunc)), number(e.Index))
		return append(out, byte(OpEnd))
	}
	return append(out, e.raw...)
}

// RewriteElements returns the content of the element section with the function indices that number returns; nil if there is no such
// section.
func (m *Module) RewriteElements(number func(uint32) uint32) ([]byte, error) {
	s := m.sections[SectionElement]
	if !s.present {
		return nil, nil
	}
	r := NewReader(s.content, s.base)
	n := r.U32()
	out := AppendU32(make([]byte, 0, len(s.content)+len(s.content)/8+8), n)
	items := 0
	for range n {
		if out = m.rewriteElement(r, out, &items, number); r.Err() != nil {
			return nil, r.Err()
		}
	}
	if r.Err() == nil && r.Len() > 0 {
		r.Fail("%d extra bytes in the element section", r.Len())
	}
	return out, r.Err()
}

// Flag bits of an element segment.
const (
	elementInactive = 1 // the segment is passive, or declarative if elementExplicit is set
	elementExplicit = 2 // an active segment states its table; an inactive segment is declarative
	elementExprs    = 4 // the elements are expressions instead of function indices
)

// rewriteElement appends a rewritten segment to out. items counts the elements of all segments.
func (m *Module) rewriteElement(r *Reader, out []byte, items *int, number func(uint32) uint32) []byte {
	flags := r.U32()
	if flags > elementInactive|elementExplicit|elementExprs {
		r.Fail("unknown flags %d of an element segment", flags)
		return out
	}
	out = AppendU32(out, flags)
	if flags&elementInactive == 0 {
		var table uint32
		if flags&elementExplicit != 0 {
			table = r.U32()
			out = AppendU32(out, table)
		}
		if table >= m.Space.Tables {
			r.Fail("unknown table %d", table)
		}
		out = m.expr(r).Append(out, number)
	}
	if flags&(elementInactive|elementExplicit) != 0 {
		kind := r.Byte()
		if flags&elementExprs != 0 && !ValueType(kind).reference() || flags&elementExprs == 0 && kind != 0 {
			r.Fail("unknown type %#x of elements", kind)
		}
		out = append(out, kind)
	}
	at := r.Offset()
	n := r.Count("elements", len(r.data))
	if *items += n; *items > m.bounds.Items {
		r.exceed(at, "elements of all element segments", *items, m.bounds.Items)
		return out
	}
	out = AppendU32(out, uint32(n))
	for range n {
		if flags&elementExprs != 0 {
			out = m.expr(r).Append(out, number)
			continue
		}
		index := r.U32()
		if index >= m.Space.Funcs {
			r.Fail("unknown function %d", index)
			return out
		}
		out = AppendU32(out, number(index))
	}
	return out
}
