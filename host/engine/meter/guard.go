package meter

import (
	"bytes"

	"github.com/bulkhead-mcp/bulkhead/host/engine/meter/wasm"
)

// Where a module calls a function of WASI, it gets a guard.
//
// It charges costWASI, and calls the host if that leaves the fuel below zero: what a system's work takes bears no
// relation to the module's own, and a module that did nothing but ask for it would not be stopped for long.
//
// Descriptors 0 to 3 are the host's: standard input, output and error, and the root of the file tree. A module
// that closed one, or put another in its place, would leave that to the next call, and no host can see it. The
// guard of a function that could answers EBADF for them.

const (
	wasiModule = "wasi_snapshot_preview1"
	// hostDescriptors is the first descriptor that is the module's own.
	hostDescriptors = 4
	// badDescriptor is WASI's EBADF.
	badDescriptor = 8
)

// closing are the functions that let go of descriptors, with the number of their parameters, all of which are
// descriptors.
var closing = map[string]int{"fd_close": 1, "fd_renumber": 2}

// guard makes a helper for each imported function of WASI.
func (w *rewriter) guard() {
	index := uint32(0)
	for _, i := range w.m.Imports {
		if i.Kind != wasm.KindFunc {
			continue
		}
		if i.Module == wasiModule {
			t := w.m.FuncType(index)
			w.guards[index] = w.m.Space.Funcs + 1 + uint32(len(w.helpers))
			w.callees[index] = callee{leaf: true} // it charges itself
			h := helper{name: reserved + i.Name, typ: w.typeIndex(t)}
			descriptors := closing[i.Name]
			if !isOfI32(t, descriptors) {
				descriptors = 0
			}
			w.guardHelper(&h.body, index, len(t.Params), descriptors)
			w.helpers = append(w.helpers, h)
		}
		index++
	}
}

// isOfI32 tells whether a function takes n numbers of type i32 and gives one. No other can be imported, which
// whoever instantiates the module says.
func isOfI32(t wasm.FuncType, n int) bool {
	i32 := []byte{byte(wasm.I32)}
	return bytes.Equal(t.Params, bytes.Repeat(i32, n)) && bytes.Equal(t.Results, i32)
}

func (w *rewriter) guardHelper(a *asm, imported uint32, parameters, descriptors int) {
	a.op(0)
	w.charge(a, charge{amount: costWASI, check: true})
	for local := range uint32(descriptors) {
		a.get(local).i32(hostDescriptors).op(wasm.OpI32LtU).block(wasm.OpIf)
		a.i32(badDescriptor).op(wasm.OpReturn, wasm.OpEnd)
	}
	for local := range uint32(parameters) {
		a.get(local)
	}
	a.index(wasm.OpCall, imported).op(wasm.OpEnd)
}
