package meter

import (
	"bytes"

	"github.com/bulkhead-mcp/bulkhead/host/engine/meter/wasm"
)

// Descriptors 0 to 3 are the host's: standard input, output and error, and the root of the file tree. A module
// that closed one, or put another in its place, would leave that to the next call, and no host can see it. So
// where a module calls a function that could, it gets a guard, which answers EBADF for them.

const (
	wasiModule = "wasi_snapshot_preview1"
	// hostDescriptors is the first descriptor that is the module's own.
	hostDescriptors = 4
	// badDescriptor is WASI's EBADF.
	badDescriptor = 8
)

// guarded are the functions, with the number of their parameters, all of which are descriptors.
var guarded = map[string]int{"fd_close": 1, "fd_renumber": 2}

// guard makes a helper for each imported function that takes one.
func (w *rewriter) guard() {
	index := uint32(0)
	for _, i := range w.m.Imports {
		if i.Kind != wasm.KindFunc {
			continue
		}
		t := w.m.FuncType(index)
		if n, ok := guarded[i.Name]; ok && i.Module == wasiModule && isOfI32(t, n) {
			w.guards[index] = w.m.Space.Funcs + 1 + uint32(len(w.helpers))
			h := helper{name: reserved + i.Name, typ: w.typeIndex(t)}
			guardHelper(&h.body, index, n)
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

func guardHelper(a *asm, imported uint32, parameters int) {
	a.op(0)
	for local := range uint32(parameters) {
		a.get(local).i32(hostDescriptors).op(wasm.OpI32LtU).block(wasm.OpIf)
		a.i32(badDescriptor).op(wasm.OpReturn, wasm.OpEnd)
	}
	for local := range uint32(parameters) {
		a.get(local)
	}
	a.index(wasm.OpCall, imported).op(wasm.OpEnd)
}
