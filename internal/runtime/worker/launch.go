package worker

import (
	"context"
	"os"
	"runtime"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/confine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/budget"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Launch contains what is needed to start a worker. Each of its functions may be nil.
type Launch struct {
	Setup wire.Setup
	// Files are the files that the worker inherits.
	Files []*os.File
	// Stale returns the reason why a worker that was started with this Launch must not receive further calls. It returns an
	// empty string if the worker may receive them.
	Stale func() string
	// Confined decides whether the confinement that the worker reports is sufficient.
	Confined func(confine.Report) error
	// Create creates the granted directory of the mount with the given index, which did not exist at the start. It moves the
	// staged directory, whose handle the worker has, to the path.
	Create func(mount int) error
	// Locks returns the locks of a new call, which has none yet.
	Locks func() Locks
	// Derived receives the records of derived data that the worker sends. If it is nil, records are a protocol violation.
	Derived func(records []byte)
	// Discard removes compiled code that the worker rejected.
	Discard func() error
	// Release is called when the worker has ended.
	Release func()

	code int64 // size of the compiled code and the module in bytes; set by Bound
}

// Locks perform the operation lock for a call, in this process. End releases what the call holds.
type Locks interface {
	Lock(ctx context.Context, params []byte) error
	End()
}

// Inherit adds a file that the worker inherits, and returns its descriptor in the worker. It returns 0 if file is nil.
func (l *Launch) Inherit(file *os.File) int {
	if file == nil {
		return 0
	}
	l.Files = append(l.Files, file)
	return numberInWorker(len(l.Files)-1, file)
}

// used returns the grants that a call used, but for the plugin's own state.
func (l *Launch) used(uses call.Uses) (all []call.UsedGrant) {
	add := func(grant int, kind, path string) {
		if read, write := uses.Has(grant); read || write {
			all = append(all, call.UsedGrant{Kind: kind, Path: path, Read: read, Write: write})
		}
	}
	for i, m := range l.Setup.Mounts {
		if !m.State {
			add(i, call.Directory, m.Path)
		}
	}
	for i, r := range l.Setup.Repos {
		add(len(l.Setup.Mounts)+i, call.Repository, r.Path)
	}
	return all
}

// Memory that a worker uses for itself, in bytes, measured with Go 1.26: resident memory without a module, and that for each byte of
// compiled code and module, which wazero decodes and copies.
const (
	baseMemory    = 16 << 20
	residentCode  = 2
	defaultMemory = 1 << 40 // limit of the credit of a Launch without Bound
)

// credit returns the credit that the worker needs to start, and the most that it can get. Setup.Credit is the part of the former that it
// may use for instances and calls.
func (l *Launch) credit() (start, limit int64) {
	l.Setup.Credit = budget.Chunk
	if limit = int64(l.Setup.Confine.Memory); limit == 0 {
		limit = defaultMemory
	}
	return baseMemory + residentCode*l.code + l.Setup.Credit, limit
}

// Memory of a worker beyond its calls' limits, in bytes, as a hard limit counts it.
const (
	runtimeMemory = 160 << 20 // the Go runtime, this program, and garbage
	perCodeByte   = 8         // for each byte of compiled code and module: wazero decodes the module and copies the code
	perCall       = 24 << 20  // native stacks and bookkeeping of a call
	derivedCache  = 16 << 20  // derived data of files
	// derivedMemory is for derived data: an instance, its snapshot, the derivation with a file and its result, and the cache.
	derivedMemory = 2*engine.DeriveMemory + perCall + 8<<20 + derivedCache
)

// Bound sets the limits of the process. The memory limit is a last resort, since reaching it ends all calls of the worker, and since
// only it bounds a worker that has been compromised: it is the sum of the calls' limits, or the server's budget if that is less, but at
// least twice the limits of one call. code is the size of the compiled code and the module; both arguments are in bytes.
func (l *Launch) Bound(code, budget int64) {
	limits, s := l.Setup.Limits, &l.Setup
	calls := int64(limits.Concurrency)
	instances := calls + 2 // the first instance, and one that is being restored
	each := perCall + 2*limits.Input + 3*limits.Output
	work := instances*limits.Memory + calls*each
	l.code = code
	s.Confine.Memory = uint64(runtimeMemory + derivedMemory + perCodeByte*code + min(work, max(budget, 2*(limits.Memory+each))))
	reserved := instances * limits.Memory
	if engine.Kind(s.Kind) == engine.Extism {
		reserved *= 2 // an instance reserves as much for the memory of its kernel, although both count towards one limit
	}
	s.Confine.AddressSpace = s.Confine.Memory + uint64(reserved) + spareSpace
	s.Confine.Threads = uint64(threadsBase + 2*runtime.NumCPU() + limits.Concurrency)
	// Each call has its own file tree with open files, and an operation opens some more: a scan has one for each level. All calls
	// together are bounded, since a manifest sets the limits, and since each open file takes memory of the kernel.
	files := limits.Files + 16 + abi.MaxScanDepth
	s.Confine.OpenFiles = uint64(64 + len(s.Mounts) + len(s.Repos) + min((limits.Concurrency+2)*files, max(maxOpenFiles, 2*files)))
}

const (
	// spareSpace is address space of a worker beyond its memory and the reservations of its instances: what the Go runtime and, with
	// cgo, the stacks of threads reserve.
	spareSpace = 2 << 30
	// threadsBase is the limit of a worker's threads without those that run calls.
	threadsBase = 128
	// maxOpenFiles bounds the files that the calls of a worker can have open, unless a single call may have more.
	maxOpenFiles = 8192
)

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
