package engine

// Modules that the Go compiler would not make, put together by hand: enough of the binary format
// (https://www.w3.org/TR/wasm-core-1/#binary-format) for functions of i32 parameters and one memory.

type handmade struct {
	imports []handmadeImport
	code    []byte // the body of bulkhead_call, without its end
	noMark  bool   // leave out the export that says which ABI it speaks
	noCall  bool
	data    string // at address 16
}

type handmadeImport struct {
	module, name    string
	params, results int
}

// i32Const and callImport are the instructions that the tests need.
func i32Const(n int32) []byte {
	out := []byte{0x41}
	for {
		b := byte(n & 0x7f)
		n >>= 7
		if (n == 0 && b&0x40 == 0) || (n == -1 && b&0x40 != 0) {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}

func callImport(index byte, args ...int32) []byte {
	var out []byte
	for _, arg := range args {
		out = append(out, i32Const(arg)...)
	}
	return append(out, 0x10, index)
}

func (h handmade) bytes() []byte {
	types := [][]byte{functionType(0, 0), functionType(1, 0)} // marker, call
	var imports [][]byte
	for _, i := range h.imports {
		types = append(types, functionType(i.params, i.results))
		imports = append(imports, join(name(i.module), name(i.name), []byte{0}, leb(len(types)-1)))
	}
	base := len(h.imports)
	exports := [][]byte{join(name("memory"), []byte{2, 0})}
	if !h.noMark {
		exports = append(exports, join(name("bulkhead_abi_1"), []byte{0}, leb(base)))
	}
	if !h.noCall {
		exports = append(exports, join(name("bulkhead_call"), []byte{0}, leb(base+1)))
	}
	body := join([]byte{0}, h.code, []byte{0x0b})
	module := join([]byte("\x00asm\x01\x00\x00\x00"),
		section(1, vector(types)),
		section(2, vector(imports)),
		section(3, vector([][]byte{{0}, {1}})),
		section(5, vector([][]byte{{0, 1}})), // one memory of one page, without a maximum
		section(7, vector(exports)),
		section(10, vector([][]byte{{2, 0, 0x0b}, join(leb(len(body)), body)})))
	if h.data != "" {
		module = append(module, section(11, vector([][]byte{join([]byte{0}, i32Const(16), []byte{0x0b}, name(h.data))}))...)
	}
	return module
}

func functionType(params, results int) []byte {
	out := append([]byte{0x60}, leb(params)...)
	for range params {
		out = append(out, 0x7f)
	}
	out = append(out, leb(results)...)
	for range results {
		out = append(out, 0x7f)
	}
	return out
}

func section(id byte, content []byte) []byte { return join([]byte{id}, leb(len(content)), content) }

func vector(items [][]byte) []byte { return join(leb(len(items)), join(items...)) }

func name(text string) []byte { return join(leb(len(text)), []byte(text)) }

func join(parts ...[]byte) []byte {
	var out []byte
	for _, part := range parts {
		out = append(out, part...)
	}
	return out
}

func leb(n int) []byte {
	var out []byte
	for {
		b := byte(n & 0x7f)
		if n >>= 7; n == 0 {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}
