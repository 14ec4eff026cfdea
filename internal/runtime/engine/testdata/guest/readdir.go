package main

import (
	"context"
	"strconv"
	"unsafe"

	"github.com/bulkhead-mcp/bulkhead/sdk"
)

//go:wasmimport wasi_snapshot_preview1 fd_readdir
//go:noescape
func fdReaddir(fd int32, buf unsafe.Pointer, size uint32, cookie uint64, used unsafe.Pointer) uint32

// readRoot calls fd_readdir on the preopened descriptor from a position, and returns the errno.
func readRoot(_ context.Context, from struct{ Position uint64 }) (*sdk.ToolResult, error) {
	var used uint32
	buf := make([]byte, 256)
	errno := fdReaddir(3, unsafe.Pointer(&buf[0]), uint32(len(buf)), from.Position, unsafe.Pointer(&used))
	return sdk.Text(strconv.Itoa(int(errno))), nil
}
