package worker

import (
	"runtime"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/budget"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
)

// A manifest sets the limits of its calls, so their product must not become the limit of the process.
func TestOpenFilesOfWorkerAreBounded(t *testing.T) {
	for _, test := range []struct {
		files, concurrency int
		atLeast, atMost    uint64
	}{
		{256, 8, 10 * 256, 4096},
		{1024, 64, 8192, 8192 + 64},
		{65536, 1024, 2 * 65536, 2*65536 + 4096}, // the limit of a single call holds
	} {
		l := Launch{Setup: wire.Setup{Limits: wire.Limits{Files: test.files, Concurrency: test.concurrency, Memory: 64 << 20, Time: time.Second}}}
		l.Bound(1<<20, 2<<30)
		if got := l.Setup.Confine.OpenFiles; got < test.atLeast || got > test.atMost {
			t.Errorf("%d files and %d calls: RLIMIT_NOFILE is %d, want %d to %d", test.files, test.concurrency, got, test.atLeast, test.atMost)
		}
	}
}

func TestThreadsAndAddressSpaceOfWorkerAreBounded(t *testing.T) {
	for kind, reservations := range map[engine.Kind]uint64{engine.ABI1: 10, engine.Extism: 20} {
		l := Launch{Setup: wire.Setup{Kind: string(kind), Limits: wire.Limits{Files: 256, Concurrency: 8, Memory: 1 << 30}}}
		l.Bound(1<<20, 2<<30)
		c := l.Setup.Confine
		if want := uint64(128 + 2*runtime.NumCPU() + 8); c.Threads != want {
			t.Errorf("%d threads, want %d", c.Threads, want)
		}
		if c.AddressSpace != c.Memory+reservations<<30+2<<30 {
			t.Errorf("%s: %d bytes of address space beside %d bytes of memory", kind, c.AddressSpace, c.Memory)
		}
	}
}

// The formulas are those of "Memory of a worker" in docs/security.md and of "Memory of all plugins" in docs/config.md.
func TestMemoryOfWorkerFollowsDocumentedFormula(t *testing.T) {
	const mib = 1 << 20
	const code = 40 * mib
	limits := wire.Limits{Memory: 64 * mib, Input: 16 * mib, Output: 8 * mib, Concurrency: 8}
	const each = 24*mib + 2*16*mib + 3*8*mib
	const fixed = 272*mib + 8*code
	for what, test := range map[string]struct {
		budget, want int64
	}{
		"the limits of all calls":            {16 << 30, fixed + 10*64*mib + 8*each},
		"the server's budget, which is less": {700 * mib, fixed + 700*mib},
		"the limits of two calls at least":   {64 * mib, fixed + 2*(64*mib+each)},
	} {
		l := &Launch{Setup: wire.Setup{Limits: limits}}
		l.Bound(code, test.budget)
		if got := int64(l.Setup.Confine.Memory); got != test.want {
			t.Errorf("%s: the limit is %d MiB, want %d", what, got/mib, test.want/mib)
		}
		start, most := l.credit()
		if want := int64(16*mib + 2*code + 16*mib); start != want || most != test.want || l.Setup.Credit != budget.Chunk {
			t.Errorf("%s: the worker starts with %d MiB and can get %d, want %d and %d", what, start/mib, most/mib, want/mib, test.want/mib)
		}
	}
}
