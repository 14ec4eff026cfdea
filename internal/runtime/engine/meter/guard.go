package meter

import (
	"bytes"
	"math"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter/wasm"
)

// Calls of WASI functions go through guards.
//
// A guard charges costWASI and checks the fuel. The duration of a system call does not depend on the module's own work, so without a check
// a module that only makes system calls would run for a long time.
//
// Descriptors 0 to 3 belong to the host: standard input, output and error, and the root of the file tree. If a module closed one of these,
// or replaced it with fd_renumber, the next call would find a different state, and the host could not detect that. The guards of these
// two functions return EBADF for such descriptors.
//
// Some arguments are the size of what wazero allocates or loops over, without charging anything or checking the fuel: the descriptor up to
// which fd_renumber enlarges a table, the length of a path that is copied, and the numbers of buffers and of subscriptions. Guards bound
// them: they return an errno, except that of many buffers only the first are read or written, which WASI permits. All other arguments cost
// nothing, or are charged as the host reads and writes.
//
// wazero has no errno for a full disk, an exceeded quota or too many open files: its functions return EIO. The host sets ExportErrno before,
// and the guard returns that value instead of EIO, once.

const (
	wasiModule = "wasi_snapshot_preview1"
	// firstGuestDescriptor is the first descriptor that belongs to the module.
	firstGuestDescriptor = 4
	// maxDescriptor is the highest descriptor that fd_renumber accepts, for a table of 512 KiB.
	maxDescriptor = 1<<16 - 1
	// maxPath is the maximum length of a path in bytes, as on Linux.
	maxPath = 4096
	// maxBuffers bounds the buffers of one call, as IOV_MAX does on Linux and in wasi-libc.
	maxBuffers = 1024
	// maxSubscriptions bounds the subscriptions of poll_oneoff.
	maxSubscriptions = 1024
	// Errnos of WASI.
	errnoBadf        = 8
	errnoInval       = 28
	errnoNametoolong = 37
	// ErrnoIO is WASI's errno EIO.
	ErrnoIO = 29
)

// check is a bound of one argument, an i32, as a number without sign.
type check struct {
	argument uint32
	min, max uint32
	errno    int32 // what the guard returns beyond the bounds; 0 means that the argument becomes max
}

func closes(argument, max uint32) check {
	return check{argument, firstGuestDescriptor, max, errnoBadf}
}

// atMost returns the checks that arguments do not exceed a maximum.
func atMost(max uint32, errno int32, arguments ...uint32) []check {
	var all []check
	for _, argument := range arguments {
		all = append(all, check{argument, 0, max, errno})
	}
	return all
}

func pathLengths(lengths ...uint32) []check { return atMost(maxPath, errnoNametoolong, lengths...) }

// checks has the checks of WASI functions by name.
var checks = map[string][]check{
	"fd_close":                {closes(0, math.MaxUint32)},
	"fd_renumber":             {closes(0, math.MaxUint32), closes(1, maxDescriptor)},
	"fd_read":                 atMost(maxBuffers, 0, 2),
	"fd_pread":                atMost(maxBuffers, 0, 2),
	"fd_write":                atMost(maxBuffers, 0, 2),
	"fd_pwrite":               atMost(maxBuffers, 0, 2),
	"sock_recv":               atMost(maxBuffers, 0, 2),
	"sock_send":               atMost(maxBuffers, 0, 2),
	"poll_oneoff":             atMost(maxSubscriptions, errnoInval, 2),
	"path_create_directory":   pathLengths(2),
	"path_filestat_get":       pathLengths(3),
	"path_filestat_set_times": pathLengths(3),
	"path_link":               pathLengths(3, 6),
	"path_open":               pathLengths(3),
	"path_readlink":           pathLengths(2),
	"path_remove_directory":   pathLengths(2),
	"path_rename":             pathLengths(2, 5),
	"path_symlink":            pathLengths(1, 4),
	"path_unlink_file":        pathLengths(2),
}

// addGuards adds a guard for each imported WASI function.
func (w *rewriter) addGuards() {
	index := uint32(0)
	for _, i := range w.m.Imports {
		if i.Kind != wasm.KindFunc {
			continue
		}
		if i.Module == wasiModule {
			t := w.m.FuncType(index)
			w.guards[index] = w.m.Space.Funcs + 1 + uint32(len(w.helpers))
			w.callees[index] = callee{leaf: true} // the guard charges the cost of the call
			h := helper{name: reserved + i.Name, typ: w.typeIndex(t)}
			w.guardHelper(&h.body, index, t, checks[i.Name])
			w.helpers = append(w.helpers, h)
		}
		index++
	}
}

// guardHelper emits a guard. A check that the signature does not permit is left out: instantiation refuses an import of WASI with a
// wrong signature.
func (w *rewriter) guardHelper(a *asm, imported uint32, t wasm.FuncType, checks []check) {
	parameters := uint32(len(t.Params))
	hasErrno := bytes.Equal(t.Results, []byte{byte(wasm.I32)})
	if hasErrno {
		a.raw(oneI32Local)
	} else {
		a.op(0)
	}
	w.charge(a, charge{amount: costWASI, check: true})
	for _, c := range checks {
		if !hasErrno || c.argument >= parameters || t.Params[c.argument] != byte(wasm.I32) {
			continue
		}
		if c.min > 0 {
			a.get(c.argument).i32(int32(c.min)).op(wasm.OpI32LtU).block(wasm.OpIf)
			a.i32(c.errno).op(wasm.OpReturn, wasm.OpEnd)
		}
		if c.max < math.MaxUint32 {
			a.get(c.argument).i32(int32(c.max)).op(wasm.OpI32GtU).block(wasm.OpIf)
			if c.errno == 0 {
				a.i32(int32(c.max)).set(c.argument).op(wasm.OpEnd)
			} else {
				a.i32(c.errno).op(wasm.OpReturn, wasm.OpEnd)
			}
		}
	}
	for local := range parameters {
		a.get(local)
	}
	a.index(wasm.OpCall, imported)
	if hasErrno {
		errno := parameters // the local after the parameters
		a.index(wasm.OpLocalTee, errno).i32(ErrnoIO).op(wasm.OpI32Eq).block(wasm.OpIf)
		a.index(wasm.OpGlobalGet, w.errno).op(wasm.OpI32WrapI64).set(errno)
		a.i64(ErrnoIO).index(wasm.OpGlobalSet, w.errno)
		a.op(wasm.OpEnd).get(errno)
	}
	a.op(wasm.OpEnd)
}
