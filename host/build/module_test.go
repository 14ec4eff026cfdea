package build_test

// answering is a module, put together by hand, that answers every request with body: enough of the binary
// format (https://www.w3.org/TR/wasm-core-1/#binary-format) to spare the tests a compiler.
func answering(body string) []byte {
	return module(output(len(body)), body)
}

// outputting is a module that answers with size bytes of nothing.
func outputting(size int) []byte { return module(output(size), "") }

// output is the code of output(0, size).
func output(size int) []byte { return join([]byte{0x41, 0, 0x41}, signed(size), []byte{0x10, 0}) }

// crashing is a module that traps when it is called.
func crashing() []byte { return module([]byte{0x00}, "") }

// module has code as the body of bulkhead_call and data at address 0.
func module(code []byte, data string) []byte {
	const i32 = 0x7f
	body := join([]byte{0}, code, []byte{0x0b})
	return join([]byte("\x00asm\x01\x00\x00\x00"),
		section(1, []byte{0x60, 0, 0}, []byte{0x60, 1, i32, 0}, []byte{0x60, 2, i32, i32, 0}), // types
		section(2, join(text("bulkhead"), text("output"), []byte{0, 2})),                      // imports
		section(3, []byte{0}, []byte{1}),                                                      // functions
		section(5, []byte{0, 17}),                                                             // memory: 17 pages
		section(7, join(text("memory"), []byte{2, 0}), join(text("bulkhead_abi_1"), []byte{0, 1}), join(text("bulkhead_call"), []byte{0, 2})),
		section(10, []byte{2, 0, 0x0b}, join(unsigned(len(body)), body)),
		section(11, join([]byte{0, 0x41, 0, 0x0b}, text(data))))
}

func section(id byte, items ...[]byte) []byte {
	content := join(unsigned(len(items)), join(items...))
	return join([]byte{id}, unsigned(len(content)), content)
}

func text(s string) []byte { return join(unsigned(len(s)), []byte(s)) }

func join(parts ...[]byte) []byte {
	var out []byte
	for _, part := range parts {
		out = append(out, part...)
	}
	return out
}

func unsigned(n int) []byte {
	var out []byte
	for ; n > 0x7f; n >>= 7 {
		out = append(out, byte(n)|0x80)
	}
	return append(out, byte(n))
}

func signed(n int) []byte {
	var out []byte
	for ; n > 0x3f; n >>= 7 {
		out = append(out, byte(n)|0x80)
	}
	return append(out, byte(n))
}
