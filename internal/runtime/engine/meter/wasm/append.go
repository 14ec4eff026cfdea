package wasm

// AppendU32 appends v to out as an unsigned LEB128.
func AppendU32(out []byte, v uint32) []byte {
	for v >= 0x80 {
		out = append(out, byte(v)|0x80)
		v >>= 7
	}
	return append(out, byte(v))
}

// AppendS64 appends v to out as a signed LEB128. A 32-bit constant has the same encoding as a 64-bit one.
func AppendS64(out []byte, v int64) []byte {
	for {
		b := byte(v) & 0x7f
		v >>= 7
		if (v == 0 && b&0x40 == 0) || (v == -1 && b&0x40 != 0) {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}

// AppendVector appends the length of content, and then content, which is a name, a body or a vector of bytes.
func AppendVector(out, content []byte) []byte {
	return append(AppendU32(out, uint32(len(content))), content...)
}

// AppendSection appends a section with the given id, its length and its content.
func AppendSection(out []byte, id SectionID, content []byte) []byte {
	return AppendVector(append(out, byte(id)), content)
}
