package rawjson

import "math/bits"

const (
	ones     = 0x0101010101010101
	highs    = ones << 7
	nonASCII = highs // value of the parameter stop of plainEnd: non-ASCII bytes end the search too
)

// plainEnd returns the index of the first quote, backslash or control character of b, from index i on; len(b) if there is none. If stop is
// nonASCII, a byte of a non-ASCII character also ends the search. plainEnd tests eight bytes at a time.
func plainEnd(b []byte, i int, stop uint64) int {
	for ; i+8 <= len(b); i += 8 {
		w := load(b, i)
		quote, backslash := w^(ones*'"'), w^(ones*'\\')
		// Each subtraction sets the high bit of the lowest byte that matches. The borrow of a subtraction may also set high bits of higher bytes,
		// so only the lowest bit that is set counts.
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
