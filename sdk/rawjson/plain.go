package rawjson

import "math/bits"

const (
	ones     = 0x0101010101010101
	highs    = ones << 7
	nonASCII = highs // for plainEnd
)

// plainEnd is the index of the first quote, backslash or control character at or after i; len(b) if there is none. With
// nonASCII as stop, bytes of non-ASCII characters count too. It tests eight bytes at a time.
func plainEnd(b []byte, i int, stop uint64) int {
	for ; i+8 <= len(b); i += 8 {
		w := load(b, i)
		quote, backslash := w^(ones*'"'), w^(ones*'\\')
		// A subtraction sets the high bit of the lowest byte that matches, and by its borrow possibly those of higher
		// bytes, so that only the lowest bit counts.
		found := ((w-ones*' ')&^w | (quote-ones)&^quote | (backslash-ones)&^backslash) & highs
		if found |= w & stop; found != 0 {
			return i + bits.TrailingZeros64(found)/8
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c < ' ' || c == '"' || c == '\\' || uint64(c)&stop != 0 {
			break
		}
	}
	return i
}
