package host

// A module put together by hand (https://www.w3.org/TR/wasm-core-1/#binary-format) spares the tests a
// compiler: code is the body of bulkhead_call, in which function 0 is the import output, 1 is host_call;
// data stands at address 0.
func module(code []byte, data string) []byte {
	const i32 = 0x7f
	body := join([]byte{0}, code, []byte{0x0b})
	return join([]byte("\x00asm\x01\x00\x00\x00"),
		section(1, []byte{0x60, 0, 0}, []byte{0x60, 1, i32, 0}, []byte{0x60, 2, i32, i32, 0}, []byte{0x60, 2, i32, i32, 1, i32}), // types
		section(2, join(text("bulkhead"), text("output"), []byte{0, 2}), join(text("bulkhead"), text("host_call"), []byte{0, 3})),
		section(3, []byte{0}, []byte{1}), // functions
		section(5, []byte{0, 1}),         // memory: one page
		section(7, join(text("memory"), []byte{2, 0}), join(text("bulkhead_abi_1"), []byte{0, 2}), join(text("bulkhead_call"), []byte{0, 3})),
		section(10, []byte{2, 0, 0x0b}, join(unsigned(len(body)), body)),
		section(11, join([]byte{0, 0x41, 0, 0x0b}, text(data))))
}

// answering is a module that answers every request with body.
func answering(body string) []byte { return module(invoke(0, 0, len(body)), body) }

// operating is a module that asks for a host operation and then answers with body.
func operating(request, body string) []byte {
	const drop = 0x1a
	return module(join(invoke(1, 0, len(request)), []byte{drop}, invoke(0, len(request), len(body))), request+body)
}

// crashing is a module that traps when it is called.
func crashing() []byte { return module([]byte{0x00}, "") }

// invoke is the code that calls an import with an address and a length.
func invoke(function byte, address, length int) []byte {
	return join([]byte{0x41}, signed(address), []byte{0x41}, signed(length), []byte{0x10, function})
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
