package wasm

// The parts of the name section that are kept.
const (
	namesModule    = 0
	namesFunctions = 1
)

// FunctionName names a function.
type FunctionName struct {
	Index uint32
	Name  string
}

// RewriteNames is the content of the name section: the name of the module and those of functions, renumbered, with
// the names of functions that the module did not have added, in the order of their indices. Names are a help in
// stack traces and nothing else. What no trace shows is left out: empty names, those of what is not a function of
// the module, names of locals. A name section that cannot be read, that names a function twice or out of order, or
// whose names are longer than Bounds.Name, is dropped.
func (m *Module) RewriteNames(number func(uint32) uint32, added []FunctionName) []byte {
	module, functions, count, ok := m.readNames(number)
	if !ok {
		module, functions, count = nil, nil, 0
	}
	all := append(AppendU32(nil, count+uint32(len(added))), functions...)
	for _, a := range added {
		all = AppendVector(AppendU32(all, a.Index), []byte(a.Name))
	}
	out := AppendVector(nil, []byte("name"))
	if module != nil {
		out = AppendSection(out, namesModule, module)
	}
	return AppendSection(out, namesFunctions, all)
}

// readNames is the content of the part that names the module, and the entries that name functions. It is false if
// a part cannot be read.
func (m *Module) readNames(number func(uint32) uint32) (module, functions []byte, count uint32, ok bool) {
	r := NewReader(m.Names, 0)
	for last := -1; r.Len() > 0; {
		id := int(r.Byte())
		content := r.Bytes(r.U32())
		part := NewReader(content, 0)
		if id <= last {
			return nil, nil, 0, false
		}
		last = id
		switch id {
		case namesModule:
			if name := part.Name(); len(name) > m.bounds.Name {
				return nil, nil, 0, false
			}
			module = content
		case namesFunctions:
			functions, count = m.functionNames(part, number)
		default:
			continue
		}
		if part.Err() != nil || part.Len() > 0 {
			return nil, nil, 0, false
		}
	}
	return module, functions, count, r.Err() == nil
}

// functionNames reads at most as many names as the module has functions.
func (m *Module) functionNames(r *Reader, number func(uint32) uint32) (out []byte, count uint32) {
	n := r.Count("names of functions", int(m.Space.Funcs))
	out = make([]byte, 0, len(r.data)+n)
	next := uint32(0)
	for range n {
		index, name := r.U32(), r.Name()
		if index < next || index >= m.Space.Funcs || len(name) > m.bounds.Name {
			r.Fail("the name of a function that there is not, that has one, or that is too long")
		}
		if r.Err() != nil {
			return nil, 0
		}
		if next = index + 1; len(name) > 0 {
			out = AppendVector(AppendU32(out, number(index)), name)
			count++
		}
	}
	return out, count
}
