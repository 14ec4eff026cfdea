package meter

import (
	"bytes"

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
// wazero has no errno for a full disk, an exceeded quota or too many open files: its functions return EIO. The host sets ExportErrno before,
// and the guard returns that value instead of EIO, once.

const (
	wasiModule = "wasi_snapshot_preview1"
	// firstGuestDescriptor is the first descriptor that belongs to the module.
	firstGuestDescriptor = 4
	// errnoBadf is WASI's errno EBADF.
	errnoBadf = 8
	// ErrnoIO is WASI's errno EIO.
	ErrnoIO = 29
)

// closeFunctions maps each function that closes descriptors to the number of its parameters, all of which are descriptors.
var closeFunctions = map[string]int{"fd_close": 1, "fd_renumber": 2}

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
			descriptors := closeFunctions[i.Name]
			if !hasI32Signature(t, descriptors) {
				descriptors = 0
			}
			w.guardHelper(&h.body, index, t, descriptors)
			w.helpers = append(w.helpers, h)
		}
		index++
	}
}

// hasI32Signature reports whether a function has n parameters and one result, all of type i32. A WASI import with a wrong signature needs
// no guard: instantiation refuses it.
func hasI32Signature(t wasm.FuncType, n int) bool {
	i32 := []byte{byte(wasm.I32)}
	return bytes.Equal(t.Params, bytes.Repeat(i32, n)) && bytes.Equal(t.Results, i32)
}

func (w *rewriter) guardHelper(a *asm, imported uint32, t wasm.FuncType, descriptors int) {
	parameters := uint32(len(t.Params))
	hasErrno := bytes.Equal(t.Results, []byte{byte(wasm.I32)})
	if hasErrno {
		a.raw(oneI32Local)
	} else {
		a.op(0)
	}
	w.charge(a, charge{amount: costWASI, check: true})
	for local := range uint32(descriptors) {
		a.get(local).i32(firstGuestDescriptor).op(wasm.OpI32LtU).block(wasm.OpIf)
		a.i32(errnoBadf).op(wasm.OpReturn, wasm.OpEnd)
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
