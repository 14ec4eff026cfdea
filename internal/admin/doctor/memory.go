package doctor

import (
	"runtime"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/dirtypages"
)

// memory reports how worker processes restore the memory of a module after a call.
func (e *examination) memory() {
	tracker, err := dirtypages.Open()
	const compared = "each call ends with a comparison of the module's whole memory, some 20 µs for each MiB"
	switch {
	case err != nil && runtime.GOOS != "linux":
		e.ok("memory", compared) // not a warning, since the user cannot change it
		return
	case err != nil:
		e.warn("memory", compared+": "+err.Error(),
			"use Linux 6.7 or later, and a container whose policy allows userfaultfd")
		return
	}
	tracker.Close()
	e.ok("memory", "pages that a call writes are recorded by the kernel, and only they are restored")
}
