package wasm

// Ids of the subsections of the name section that are kept.
const (
	namesModule    = 0
	namesFunctions = 1
)

// FunctionName is an entry of the function name subsection.
type FunctionName struct {
	Index uint32
	Name  string
}

// RewriteNames returns the content of the name section. It has the name of the module, the names of its functions with the indices that
// number returns, and the names of added functions, which must be sorted by index. Only stack traces use names, so names that no trace
// shows are dropped: empty names, and names of anything but functions. The whole section is dropped if it is malformed, if it names a
// function twice or out of order, or if a name is longer than Bounds.Name.
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

// readNames returns the content of the module name subsection, and the entries of the function name subsection with new indices. ok is
// false if the section is malformed.
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

// functionNames reads the function name subsection. It has at most one name for each function.
func (m *Module) functionNames(r *Reader, number func(uint32) uint32) (out []byte, count uint32) {
	n := r.Count("function names", int(m.Space.Funcs))
	out = make([]byte, 0, len(r.data)+n)
	next := uint32(0)
	for range n {
		index, name := r.U32(), r.Name()
		if index < next || index >= m.Space.Funcs || len(name) > m.bounds.Name {
			r.Fail("function name that is too long, out of order, or of an unknown function")
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
