//go:build !wasm

package rawjson

import "encoding/binary"

// load returns the eight bytes of b at index i as a little-endian integer.
func load(b []byte, i int) uint64 { return binary.LittleEndian.Uint64(b[i:]) }
