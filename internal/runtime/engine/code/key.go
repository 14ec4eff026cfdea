package code

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	goruntime "runtime"
	"runtime/debug"
	"sync"

	"golang.org/x/sys/cpu"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter"
)

// format is the version of the entry format.
const format = 4

// keyOf returns the cache key of a module: a digest of the module's digest and of everything else that the entry depends on.
func keyOf(sum string) string {
	key := sha256.Sum256(fmt.Appendf(nil, "%d %d %s %s %s %v %s", format, meter.Version, wazeroVersion(), goruntime.GOOS, goruntime.GOARCH, processor(), sum))
	return hex.EncodeToString(key[:])
}

// processor returns the processor features that wazero's generated code depends on.
func processor() []bool {
	x := &cpu.X86
	return []bool{x.HasSSE41, x.HasBMI1, x.HasBMI2, x.HasPOPCNT, cpu.ARM64.HasATOMICS}
}

var wazeroVersion = sync.OnceValue(func() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == "github.com/tetratelabs/wazero" {
				return dep.Version
			}
		}
	}
	return "unknown"
})
