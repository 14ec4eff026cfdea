package worker

import (
	"os"

	"github.com/bulkhead-mcp/bulkhead/host/internal/confine"
	"github.com/bulkhead-mcp/bulkhead/host/internal/worker/wire"
)

// Launch is what a worker is started with.
type Launch struct {
	Setup wire.Setup
	// Files are inherited as the descriptors firstFile, firstFile+1, ….
	Files []*os.File
	// Stale reports why a worker that was started with this must not get calls any more; empty: it may. All
	// functions of a Launch may be nil.
	Stale func() string
	// Confined judges what the worker says of its confinement.
	Confined func(confine.Report) error
	// Create makes a granted directory that does not exist: the mount with that index becomes what its handle
	// was prepared for.
	Create func(mount int) error
	// Discard removes compiled code that the worker cannot use.
	Discard func() error
	// Release is called when the worker has ended.
	Release func()
}

// Inherit adds a file that the worker inherits, and gives its descriptor there; 0 for nil.
func (l *Launch) Inherit(file *os.File) int {
	if file == nil {
		return 0
	}
	l.Files = append(l.Files, file)
	return firstFile + len(l.Files) - 1
}

// A worker's memory beside what its calls may take, in bytes.
const (
	runtimeMemory = 160 << 20 // the Go runtime and this program, and what the collector has not given back
	perCodeByte   = 8         // of compiled code and the module: wazero decodes the one and copies the other
	perCall       = 24 << 20  // native stacks and the host's own state of a call
)

// Bound sets the limits of the process. That of memory is the last resort, since reaching it ends all of its calls:
// what all calls together may take by their limits, or the budget of the server if that is less. code is the size of
// what the worker loads; both are in bytes.
func (l *Launch) Bound(code, budget int64) {
	limits, s := l.Setup.Limits, &l.Setup
	calls := int64(limits.Concurrency)
	instances := calls + 2 // the image, and one that is being reset
	work := instances*limits.Memory + calls*(perCall+2*limits.Input+3*limits.Output)
	s.Confine.Memory = uint64(runtimeMemory + perCodeByte*code + min(work, max(budget, 2*(limits.Memory+perCall+2*limits.Input+3*limits.Output))))
	// Each call has a file tree of its own, and an operation opens some more.
	s.Confine.OpenFiles = uint64(64 + len(s.Mounts) + len(s.Repos) + (limits.Concurrency+2)*(limits.Files+16))
}

func (l *Launch) stale() string {
	if l.Stale == nil {
		return ""
	}
	return l.Stale()
}

func (l *Launch) release() {
	if l.Release != nil {
		l.Release()
	}
}
