package main

import (
	"context"
	"encoding/json"
	"hash/crc32"
	"unsafe"

	"github.com/bulkhead-mcp/bulkhead/sdk"
)

//go:wasmimport wasi_snapshot_preview1 path_open
func pathOpen(dir, lookup int32, path unsafe.Pointer, length uint32, create int32, rights, inheriting uint64, flags int32, fd unsafe.Pointer) uint32

//go:wasmimport wasi_snapshot_preview1 fd_close
func fdClose(fd int32) uint32

//go:wasmimport wasi_snapshot_preview1 fd_renumber
func fdRenumber(from, to int32) uint32

//go:wasmimport wasi_snapshot_preview1 fd_seek
func fdSeek(fd int32, offset int64, whence int32, position unsafe.Pointer) uint32

//go:wasmimport wasi_snapshot_preview1 fd_read
func fdRead(fd int32, vectors unsafe.Pointer, count uint32, read unsafe.Pointer) uint32

//go:wasmimport wasi_snapshot_preview1 fd_fdstat_get
func fdstatGet(fd int32, out unsafe.Pointer) uint32

//go:wasmimport wasi_snapshot_preview1 fd_fdstat_set_flags
func fdstatSetFlags(fd, flags int32) uint32

//go:wasmimport wasi_snapshot_preview1 fd_filestat_get
func filestatGet(fd int32, out unsafe.Pointer) uint32

// step is one system call. What its numbers are depends on the call.
type step struct {
	Call string
	A, B int32
	Path string
}

type vector struct {
	data unsafe.Pointer
	size uint32
}

// probe makes system calls, and returns the errno of each with what it has returned. The host must not let a call observe the system calls
// of earlier ones.
func probe(_ context.Context, in struct{ Steps []step }) (*sdk.ToolResult, error) {
	var out [][2]uint64
	for _, s := range in.Steps {
		var errno uint32
		var value, size uint64
		var buffer [256]byte
		switch s.Call {
		case "open":
			errno = pathOpen(s.A, 1, unsafe.Pointer(unsafe.StringData(s.Path)), uint32(len(s.Path)), s.B, 2|1<<14, 0, 0, unsafe.Pointer(&value))
		case "close":
			errno = fdClose(s.A)
		case "renumber":
			errno = fdRenumber(s.A, s.B)
		case "seek":
			errno = fdSeek(s.A, int64(s.B), 1, unsafe.Pointer(&value))
		case "read":
			v := vector{unsafe.Pointer(&buffer), 1}
			errno = fdRead(s.A, unsafe.Pointer(&v), 1, unsafe.Pointer(&size))
			value = size<<8 | uint64(buffer[0])
		case "list":
			errno = fdReaddir(s.A, unsafe.Pointer(&buffer), uint32(len(buffer)), uint64(s.B), unsafe.Pointer(&size))
			value = size<<32 | uint64(crc32.ChecksumIEEE(buffer[:]))
		case "flags":
			if errno = fdstatGet(s.A, unsafe.Pointer(&buffer)); errno == 0 {
				value = uint64(buffer[0])<<8 | uint64(buffer[2])
			}
		case "set flags":
			errno = fdstatSetFlags(s.A, s.B)
		case "stat":
			errno = filestatGet(s.A, unsafe.Pointer(&buffer))
		}
		out = append(out, [2]uint64{uint64(errno), value})
	}
	text, err := json.Marshal(out)
	return sdk.Text(string(text)), err
}
