package modinfo

import "github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter/wasm"

const (
	pageSize = 64 << 10
	// maxEntries bounds the imports, and the exports, that are read. Modules with more are refused by the meter.
	maxEntries = 50_000
	// maxFunctions bounds the functions whose sizes are read.
	maxFunctions = 1_000_000
)

// kindTag is the kind of a tag, which package wasm does not know.
const kindTag = 4

func kindName(kind byte) string {
	names := []string{"function", "table", "memory", "global", "tag"}
	if int(kind) < len(names) {
		return names[kind]
	}
	return "unknown"
}

func (m *reader) readImports(r *wasm.Reader) {
	for range r.Count("imports", maxEntries) {
		module, name, kind := string(r.Name()), string(r.Name()), r.Byte()
		switch {
		case kind == byte(wasm.KindFunc):
			r.U32()
		case kind == byte(wasm.KindTable):
			r.Byte()
			limits(r)
		case kind == byte(wasm.KindMemory):
			m.info.Memory = limits(r)
		case kind == byte(wasm.KindGlobal):
			r.Bytes(2)
		case kind == kindTag:
			r.Byte()
			r.U32()
		default:
			r.Fail("unknown kind %d of an import", kind)
		}
		if r.Err() != nil {
			return
		}
		if kind == byte(wasm.KindFunc) {
			m.imported++
		}
		m.imports = append(m.imports, Entry{module, name, kindName(kind)})
	}
}

func (m *reader) readMemory(r *wasm.Reader) {
	if r.Count("memories", maxEntries) > 0 {
		m.info.Memory = limits(r)
	}
}

// limits reads limits, and returns the minimum in bytes of a memory.
func limits(r *wasm.Reader) int64 {
	flags := r.Byte()
	least := int64(r.U32()) * pageSize
	if flags&1 != 0 {
		r.U32()
	}
	return least
}

func (m *reader) readExports(r *wasm.Reader) {
	for range r.Count("exports", maxEntries) {
		name, kind := string(r.Name()), r.Byte()
		r.U32()
		if r.Err() != nil {
			return
		}
		m.exports = append(m.exports, Entry{Name: name, Kind: kindName(kind)})
	}
}

func (m *reader) readCode(r *wasm.Reader) {
	for range r.Count("functions", maxFunctions) {
		size := r.U32()
		r.Bytes(size)
		if r.Err() != nil {
			return
		}
		m.code = append(m.code, size)
	}
}
