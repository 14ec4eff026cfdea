package wasm

import "slices"

func (m *Module) types(r *Reader) {
	n := r.Count("types", m.bounds.Types)
	m.Types = make([]FuncType, 0, n)
	for range n {
		if r.Byte() != 0x60 {
			r.Fail("not a function type")
		}
		m.Types = append(m.Types, FuncType{Params: m.valueTypes(r, "parameters"), Results: m.valueTypes(r, "results")})
		if r.Err() != nil {
			return
		}
	}
	m.Space.Types = uint32(n)
}

func (m *Module) valueTypes(r *Reader, what string) []byte {
	at := r.Offset()
	types := r.Bytes(uint32(r.Count(what, m.bounds.Arity)))
	if m.values += len(types); m.values > m.bounds.Values {
		r.exceed(at, "parameters and results of all types", m.values, m.bounds.Values)
		return nil
	}
	for _, t := range types {
		if !ValueType(t).valid() {
			r.Fail("unknown type %#x of %s", t, what)
		}
	}
	return types
}

func (m *Module) imports(r *Reader) {
	n := r.Count("imports", m.bounds.Imports)
	m.Imports = make([]Import, 0, n)
	for range n {
		from := r.pos
		i := Import{Module: m.name(r), Name: m.name(r), Kind: Kind(r.Byte())}
		switch i.Kind {
		case KindFunc:
			i.Type = m.typeIndex(r)
			m.Functions = append(m.Functions, i.Type)
			m.Imported.Funcs++
		case KindTable:
			m.tableType(r)
			m.Imported.Tables++
		case KindMemory:
			m.limits(r)
			m.Imported.Memories++
		case KindGlobal:
			i.Global = m.globalType(r)
			m.Imported.Globals++
		default:
			r.Fail("unknown kind %d of an import", i.Kind)
		}
		if r.Err() != nil {
			return
		}
		i.Entry = r.data[from:r.pos]
		m.Imports = append(m.Imports, i)
	}
	m.Space.Funcs, m.Space.Globals = m.Imported.Funcs, m.Imported.Globals
	m.Space.Tables, m.Space.Memories = m.Imported.Tables, m.Imported.Memories
}

func (m *Module) name(r *Reader) string {
	at := r.Offset()
	name := r.Name()
	if len(name) > m.bounds.Name {
		r.exceed(at, "bytes of a name", len(name), m.bounds.Name)
	}
	if m.names += len(name); m.names > m.bounds.Names {
		r.exceed(at, "bytes of the names of imports and exports", m.names, m.bounds.Names)
	}
	if r.Err() != nil {
		return ""
	}
	return string(name)
}

func (m *Module) typeIndex(r *Reader) uint32 {
	i := r.U32()
	if int64(i) >= int64(len(m.Types)) {
		r.Fail("unknown type %d", i)
	}
	return i
}

func (m *Module) tableType(r *Reader) Table {
	t := ValueType(r.Byte())
	if !t.reference() {
		r.Fail("unknown type %#x of a table", byte(t))
	}
	return Table{Type: t, Limits: m.limits(r)}
}

func (m *Module) limits(r *Reader) Limits {
	var l Limits
	switch flag := r.Byte(); flag {
	case 0:
		l.Min = r.U32()
	case 1:
		l.Min, l.Max, l.HasMax = r.U32(), r.U32(), true
	default:
		r.Fail("unknown flags %d of limits", flag)
	}
	if l.HasMax && l.Min > l.Max {
		r.Fail("minimum %d exceeds maximum %d", l.Min, l.Max)
	}
	return l
}

func (m *Module) globalType(r *Reader) GlobalType {
	t, mutable := ValueType(r.Byte()), r.Byte()
	if !t.valid() || mutable > 1 {
		r.Fail("unknown type of a global")
	}
	return GlobalType{Type: t, Mutable: mutable == 1}
}

func (m *Module) functions(r *Reader) {
	n := r.Count("functions", m.bounds.Functions)
	m.Functions = slices.Grow(m.Functions, n)
	for range n {
		m.Functions = append(m.Functions, m.typeIndex(r))
	}
	m.Space.Funcs += uint32(n)
}

func (m *Module) tables(r *Reader) {
	n := r.Count("tables", m.bounds.Tables)
	for range n {
		m.Tables = append(m.Tables, m.tableType(r))
	}
	m.Space.Tables += uint32(n)
}

func (m *Module) memories(r *Reader) {
	m.Memories = r.Count("memories", 1)
	for range m.Memories {
		m.limits(r)
	}
	m.Space.Memories += uint32(m.Memories)
}

func (m *Module) globals(r *Reader) {
	n := r.Count("globals", m.bounds.Globals)
	m.Globals = make([]Global, 0, n)
	for range n {
		m.Globals = append(m.Globals, Global{GlobalType: m.globalType(r), Init: m.expr(r)})
	}
	m.Space.Globals += uint32(n)
}

func (m *Module) exports(r *Reader) {
	n := r.Count("exports", m.bounds.Exports)
	m.Exports = make([]Export, 0, n)
	seen := make(map[string]bool, n)
	for range n {
		e := Export{Name: m.name(r), Kind: Kind(r.Byte()), Index: r.U32()}
		if r.Err() != nil {
			return
		}
		if seen[e.Name] {
			r.Fail("duplicate export name")
		}
		seen[e.Name] = true
		var have uint32
		switch e.Kind {
		case KindFunc:
			have = m.Space.Funcs
		case KindTable:
			have = m.Space.Tables
		case KindMemory:
			have = m.Space.Memories
		case KindGlobal:
			have = m.Space.Globals
		}
		if e.Index >= have {
			r.Fail("export of unknown index %d of kind %d", e.Index, e.Kind)
		}
		m.Exports = append(m.Exports, e)
	}
}

func (m *Module) start(r *Reader) {
	if m.Start = r.U32(); m.Start >= m.Space.Funcs {
		r.Fail("unknown start function %d", m.Start)
	}
}

func (m *Module) dataCount(r *Reader) {
	m.Space.Data, m.Space.DataCount = r.U32(), true
}

func (m *Module) elements(r *Reader) {
	m.Space.Elements = uint32(r.Count("element segments", m.bounds.Elements))
	r.pos = len(r.data)
}

// data records the sizes of the data segments. The method agree compares their number with the data count section.
func (m *Module) data(r *Reader) {
	n := r.Count("data segments", m.bounds.Data)
	m.DataSizes = make([]uint32, 0, n)
	for range n {
		switch mode := r.U32(); mode {
		case 0, 2:
			if m.Space.Memories == 0 || mode == 2 && r.U32() != 0 {
				r.Fail("data segment for an unknown memory")
			}
			if e := m.expr(r); e.Op == OpRefFunc {
				r.Fail("function reference as the offset of a data segment")
			}
		case 1:
		default:
			r.Fail("unknown mode %d of a data segment", mode)
		}
		m.DataSizes = append(m.DataSizes, uint32(len(r.Bytes(r.U32()))))
	}
}

// code splits each body into its locals and its instructions, and counts the locals.
func (m *Module) code(r *Reader) {
	n := r.Count("functions", m.bounds.Functions)
	defined := m.Functions[m.Imported.Funcs:]
	if n != len(defined) {
		r.Fail("%d functions but %d bodies", len(defined), n)
		return
	}
	m.Bodies = make([]Body, 0, n)
	for i := range n {
		at := r.Offset()
		body := r.Bytes(r.U32())
		if len(body) > m.bounds.Body {
			r.exceed(at, "bytes of a function's body", len(body), m.bounds.Body)
		}
		if r.Err() != nil {
			return
		}
		b := NewReader(body, r.Offset()-len(body))
		m.Bodies = append(m.Bodies, m.body(b, m.Types[defined[i]].Params))
		if b.Err() != nil {
			r.fail(b.Err())
			return
		}
	}
}

func (m *Module) body(r *Reader, params []byte) Body {
	at := r.Offset()
	count, wide := uint64(len(params)), false
	for _, t := range params {
		wide = wide || ValueType(t) == V128
	}
	for range r.Count("groups of locals", m.bounds.Locals) {
		n, t := r.U32(), ValueType(r.Byte())
		if !t.valid() {
			r.Fail("unknown type %#x of a local", byte(t))
		}
		count += uint64(n)
		wide = wide || t == V128
	}
	if count > uint64(m.bounds.Locals) {
		r.fail(&LimitError{Offset: at, What: "parameters and locals of a function", Have: count, Limit: uint64(m.bounds.Locals)})
	}
	if r.Err() != nil {
		return Body{}
	}
	return Body{Locals: r.data[:r.pos], Code: r.data[r.pos:], Offset: r.Offset(), Count: uint32(count), Wide: wide}
}
