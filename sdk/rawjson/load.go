//go:build !wasm

package rawjson

import "encoding/binary"

// load returns the eight bytes at i, the first as the lowest.
func load(b []byte, i int) uint64 { return binary.LittleEndian.Uint64(b[i:]) }
