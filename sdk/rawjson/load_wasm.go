package rawjson

import "unsafe"

// load returns the eight bytes of b at index i as a little-endian integer. For WebAssembly, the compiler does not combine the eight loads of
// encoding/binary. WebAssembly's own loads are little-endian and need no alignment.
func load(b []byte, i int) uint64 {
	_ = b[i+7]
	return *(*uint64)(unsafe.Pointer(&b[i]))
}
