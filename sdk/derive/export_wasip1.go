//go:build wasip1

package derive

import (
	"fmt"
	"runtime/debug"

	"github.com/bulkhead-mcp/bulkhead/sdk/internal/imports"
)

// prepared is set by the first derivation, which takes place before the snapshot. That derivation has empty content and no result.
var prepared bool

//go:wasmexport bulkhead_derive
func export(function, size uint32) {
	if !prepared && size == 0 {
		prepared = true
		// The setting is the one that package sdk has for calls. The limit fits the 32 MiB of an instance that derives.
		debug.SetGCPercent(400)
		debug.SetMemoryLimit(24 << 20)
		prepare()
		return
	}
	if uint64(function) >= uint64(len(functions)) {
		panic(fmt.Sprintf("derive: function %d is not registered: call derive.New for a package-level variable, so that every instance registers it", function))
	}
	imports.Output(functions[function](imports.Input(size)))
}
