// Package wasm decodes and encodes those parts of the WebAssembly 2.0 binary format
// (https://www.w3.org/TR/wasm-core-2/#binary-format) that a rewriter of modules needs: sections, the entries of sections, and the
// instructions of a body. Start with [Decode] and [Code].
//
// The package is strict where engines differ, so a module that it accepts is unambiguous. It validates all indices, lengths and nesting.
// It does not validate the types of operands, because the engine that compiles the module does.
package wasm

import (
	"fmt"
	"unicode/utf8"
)

// FormatError reports a malformed or invalid module.
type FormatError struct {
	Offset  int // offset of the fault in the module
	Message string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("offset %#x: %s", e.Offset, e.Message)
}

// LimitError reports a module that exceeds a limit.
type LimitError struct {
	Offset int    // offset in the module at which the limit is exceeded
	What   string // what is limited, in the plural: "functions"
	Have   uint64
	Limit  uint64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("offset %#x: %d %s exceed the limit of %d", e.Offset, e.Have, e.What, e.Limit)
}

// Reader reads the binary format. After the first error, all reads return zero values.
type Reader struct {
	data []byte
	pos  int
	base int // offset of data in the module
	err  error
}

// NewReader returns a Reader of data, which is at the offset base of the module.
func NewReader(data []byte, base int) *Reader { return &Reader{data: data, base: base} }

// Err returns the first error of the Reader; nil if there is none.
func (r *Reader) Err() error { return r.err }

// Len returns the number of unread bytes.
func (r *Reader) Len() int { return len(r.data) - r.pos }

// Offset returns the offset of the next byte in the module.
func (r *Reader) Offset() int { return r.base + r.pos }

// Fail records a FormatError at the next byte, unless an error is already recorded.
func (r *Reader) Fail(format string, args ...any) {
	r.fail(&FormatError{Offset: r.Offset(), Message: fmt.Sprintf(format, args...)})
}

func (r *Reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.pos = len(r.data)
}

// exceed records a LimitError at the offset at of the module.
func (r *Reader) exceed(at int, what string, have, limit int) {
	r.fail(&LimitError{Offset: at, What: what, Have: uint64(have), Limit: uint64(limit)})
}

// Byte reads one byte.
func (r *Reader) Byte() byte {
	if r.pos >= len(r.data) {
		r.Fail("unexpected end")
		return 0
	}
	b := r.data[r.pos]
	r.pos++
	return b
}

// Bytes reads n bytes. The result aliases the module.
func (r *Reader) Bytes(n uint32) []byte {
	if uint64(n) > uint64(r.Len()) {
		r.Fail("unexpected end: %d bytes expected, %d left", n, r.Len())
		return nil
	}
	b := r.data[r.pos : r.pos+int(n) : r.pos+int(n)]
	r.pos += int(n)
	return b
}

// U32 reads an unsigned LEB128 of at most 32 bits.
func (r *Reader) U32() uint32 {
	v, n := u32(r.data[r.pos:])
	if n == 0 {
		r.Fail("malformed integer")
	}
	r.pos += n
	return v
}

// Count reads the length of a vector, each of whose entries takes at least one byte. what names the entries in the plural, for error
// messages.
func (r *Reader) Count(what string, limit int) int {
	at := r.Offset()
	n := r.U32()
	if uint64(n) > uint64(r.Len()) {
		r.fail(&FormatError{Offset: at, Message: fmt.Sprintf("%d %s do not fit into the remaining %d bytes", n, what, r.Len())})
		return 0
	}
	if uint64(n) > uint64(limit) {
		r.fail(&LimitError{Offset: at, What: what, Have: uint64(n), Limit: uint64(limit)})
		return 0
	}
	return int(n)
}

// Name reads a name, which must be valid UTF-8.
func (r *Reader) Name() []byte {
	name := r.Bytes(r.U32())
	if !utf8.Valid(name) {
		r.Fail("name is not UTF-8")
		return nil
	}
	return name
}

// ReadU32 decodes the unsigned LEB128 with which b begins. size is its length in bytes; 0 if it is malformed.
func ReadU32(b []byte) (v uint32, size int) { return u32(b) }

// u32 decodes the unsigned LEB128 with which b begins. n is its length in bytes; 0 if it is truncated or exceeds 32 bits.
func u32(b []byte) (v uint32, n int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint32(b[0]), 1
	}
	for i := 0; i < len(b) && i < 5; i++ {
		v |= uint32(b[i]&0x7f) << (7 * i)
		if b[i] < 0x80 {
			if i == 4 && b[i] > 0x0f {
				return 0, 0
			}
			return v, i + 1
		}
	}
	return 0, 0
}

// signed returns the length in bytes of the signed LEB128 with which b begins; 0 if it is truncated or exceeds the given bits.
func signed(b []byte, bits int) int {
	most := (bits + 6) / 7
	for i := 0; i < len(b) && i < most; i++ {
		if b[i] >= 0x80 {
			continue
		}
		if i == most-1 {
			// The unused bits of the last byte must repeat the sign bit.
			used := bits - 7*(most-1)
			if top := int8(b[i]<<1) >> used; top != 0 && top != -1 {
				return 0
			}
		}
		return i + 1
	}
	return 0
}
