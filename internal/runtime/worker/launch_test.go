package worker

import (
	"testing"
	"time"

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
	l := Launch{Setup: wire.Setup{Limits: wire.Limits{Files: 256, Concurrency: 8, Memory: 64 << 20}}}
	l.Bound(1<<20, 2<<30)
	c := l.Setup.Confine
	if c.Threads < 100 || c.Threads > 4096 {
		t.Errorf("%d threads", c.Threads)
	}
	if c.AddressSpace < c.Memory+10*64<<20 || c.AddressSpace > c.Memory+8<<30 {
		t.Errorf("%d bytes of address space beside %d bytes of memory", c.AddressSpace, c.Memory)
	}
}
