package wasm

// The parts of the name section that are kept.
const (
	namesModule    = 0
	namesFunctions = 1
	namesLocals    = 2
)

// RewriteNames is the content of the name section, with the functions renumbered and the names of functions
// that the module did not have added, in the order of their indices. Names are a help in stack traces and
// nothing else: a name section that cannot be read, or whose parts are not of [WebAssembly 2.0], is dropped.
func (m *Module) RewriteNames(number func(uint32) uint32, added []FunctionName) []byte {
	out := AppendVector(nil, []byte("name"))
	functions, rest := []byte{0}, []byte(nil)
	for r := NewReader(m.Names, 0); r.Len() > 0; {
		id := r.Byte()
		content := r.Bytes(r.U32())
		part := NewReader(content, 0)
		switch id {
		case namesModule:
			part.Name()
			out = AppendSection(out, SectionID(id), content)
		case namesFunctions:
			functions = nameMap(part, number)
		case namesLocals:
			rest = AppendSection(rest, SectionID(id), localNames(part, number))
		default:
			continue
		}
		if r.Err() != nil || part.Err() != nil || part.Len() > 0 {
			return m.withoutNames(added)
		}
	}
	out = AppendSection(out, namesFunctions, addNames(functions, added))
	return append(out, rest...)
}

// FunctionName names a function.
type FunctionName struct {
	Index uint32
	Name  string
}

func (m *Module) withoutNames(added []FunctionName) []byte {
	return AppendSection(AppendVector(nil, []byte("name")), namesFunctions, addNames([]byte{0}, added))
}

// addNames appends entries to a map of names.
func addNames(names []byte, added []FunctionName) []byte {
	n, size := u32(names)
	out := append(AppendU32(nil, n+uint32(len(added))), names[size:]...)
	for _, a := range added {
		out = AppendVector(AppendU32(out, a.Index), []byte(a.Name))
	}
	return out
}

// nameMap copies a map of names. Its indices may be anything: no engine looks a function up by them.
func nameMap(r *Reader, number func(uint32) uint32) []byte {
	n := r.Count("names", len(r.data))
	out := AppendU32(make([]byte, 0, len(r.data)+n/8+8), uint32(n))
	for range n {
		out = AppendU32(out, number(r.U32()))
		out = AppendVector(out, r.Name())
		if r.Err() != nil {
			break
		}
	}
	return out
}

func localNames(r *Reader, number func(uint32) uint32) []byte {
	n := r.Count("functions with names of locals", len(r.data))
	out := AppendU32(make([]byte, 0, len(r.data)+n/8+8), uint32(n))
	for range n {
		out = AppendU32(out, number(r.U32()))
		names := r.Count("names of locals", len(r.data))
		out = AppendU32(out, uint32(names))
		for range names {
			out = AppendU32(out, r.U32())
			out = AppendVector(out, r.Name())
			if r.Err() != nil {
				return out
			}
		}
	}
	return out
}
