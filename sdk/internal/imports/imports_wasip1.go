//go:build wasip1

package imports

import (
	"sync"
	"unsafe"
)

//go:wasmimport bulkhead input
func input(dst unsafe.Pointer, n uint32)

//go:wasmimport bulkhead output
func output(src unsafe.Pointer, n uint32)

//go:wasmimport bulkhead host_call
func hostCall(src unsafe.Pointer, n uint32) uint32

//go:wasmimport bulkhead host_result
func hostResult(dst unsafe.Pointer, n uint32)

//go:wasmimport bulkhead log
func logLine(level int32, src unsafe.Pointer, n uint32)

// callMu makes hostCall and hostResult one critical section. The Go scheduler may switch goroutines between the two calls, and a second
// operation at that point would replace the result of the first.
var callMu sync.Mutex

// Input returns a copy of the pending request. n is the size of that request in bytes.
func Input(n uint32) []byte {
	buf := make([]byte, n)
	input(unsafe.Pointer(unsafe.SliceData(buf)), n)
	return buf
}

// Output passes the response to the host.
func Output(response []byte) {
	output(unsafe.Pointer(unsafe.SliceData(response)), uint32(len(response)))
}

// HostCall performs the operation in request and returns the host's response.
func HostCall(request []byte) []byte {
	callMu.Lock()
	defer callMu.Unlock()
	n := hostCall(unsafe.Pointer(unsafe.SliceData(request)), uint32(len(request)))
	buf := make([]byte, n)
	hostResult(unsafe.Pointer(unsafe.SliceData(buf)), n)
	return buf
}

// Log writes a line to the host's log.
func Log(level int32, line string) {
	logLine(level, unsafe.Pointer(unsafe.StringData(line)), uint32(len(line)))
}
