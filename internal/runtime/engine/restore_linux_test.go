package engine

import (
	"bytes"
	"math/rand/v2"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/dirtypages"
)

// recorded returns a restored memory whose writes are recorded.
func recorded(t *testing.T, tracker *dirtypages.Tracker, image []byte, limit uint64) *linearMemory {
	t.Helper()
	l, err := newLinearMemory(limit, tracker)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Free)
	if l.Reallocate(uint64(len(image))) == nil {
		t.Fatal("the system refuses memory")
	}
	if l.restore(image, func() {}); l.written.size == 0 {
		t.Skip("the system records no written pages")
	}
	return l
}

// Prepared.Busy lets the goroutine of a call hand over its other duties before long work. A large restore must call it first.
func TestLargeRestoreCallsBusy(t *testing.T) {
	image := make([]byte, 4<<20)
	l := recorded(t, tracker(), image, 16<<20)
	for _, test := range []struct {
		name    string
		written int // number of written bytes
		grown   uint64
		busy    bool
	}{
		{"small", 64 << 10, 64 << 10, false},
		{"much written", 2 << 20, 0, true},
		{"much grown", 0, 8 << 20, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			l.record(len(image), false)
			for at := 0; at < test.written; at += dirtypages.PageSize {
				l.space[at] = 1
			}
			if l.Reallocate(uint64(len(image))+test.grown) == nil {
				t.Fatal("the system refuses memory")
			}
			busy := false
			l.restore(image, func() { busy = true })
			l.Reallocate(uint64(len(image)))
			if busy != test.busy {
				t.Errorf("busy was called: %t, want %t", busy, test.busy)
			}
		})
	}
}

// After a missed write, restores of all memories of the process compare pages and do not use the kernel's record.
func TestMissedWriteEndsAllRecords(t *testing.T) {
	own, err := dirtypages.Open()
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(own.Close)
	image := make([]byte, 1<<20)
	l, other := recorded(t, own, image, 2<<20), recorded(t, own, image, 2<<20)
	changed := bytes.Clone(image)
	changed[5] = 1 // simulates a write to l that is not recorded
	l.written.copied = minRecord
	if ok, missed := l.restore(changed, func() {}); !ok || !missed || !bytes.Equal(l.space[:len(image)], changed) {
		t.Errorf("restored %t, missed %t", ok, missed)
	}
	other.space[7] = 1
	compared := false
	if ok, missed := other.restore(image, func() { compared = true }); !ok || missed || !compared || other.space[7] != 0 {
		t.Errorf("restored %t, missed %t, compared %t", ok, missed, compared)
	}
	if third, err := newLinearMemory(2<<20, own); err != nil {
		t.Error(err)
	} else {
		third.restore(image, func() {})
		if third.written.size > 0 {
			t.Error("a new record began")
		}
		third.Free()
	}
}

// If the kernel cannot return the record of written pages, restore compares the memory with the image.
func TestFailingRecordFallsBackToComparison(t *testing.T) {
	image := bytes.Repeat([]byte{7}, 1<<20)
	l := recorded(t, tracker(), image, 2<<20)
	at := 3 * dirtypages.PageSize
	if _, err := unix.MmapPtr(-1, 0, unsafe.Pointer(&l.space[at]), uintptr(dirtypages.PageSize),
		unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_FIXED); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		l.space[9*dirtypages.PageSize] = 1
		compared := false
		if ok, missed := l.restore(image, func() { compared = true }); !ok || missed || !compared || !bytes.Equal(l.space[:len(image)], image) {
			t.Errorf("restored %t, missed %t, compared %t", ok, missed, compared)
		}
	}
}

// Memories of one tracker must not affect each other, even if they are adjacent, or mapped at addresses that other memories
// had before.
func TestMemoriesOfOneTrackerAreIndependent(t *testing.T) {
	const size, limit = 256 << 10, 1 << 20
	rounds := testenv.Count(15, 60, 60)
	var work sync.WaitGroup
	for seed := range uint64(6) {
		work.Go(func() {
			random := rand.New(rand.NewPCG(seed, 1))
			image := bytes.Repeat([]byte{byte(seed), 0, 0, 1}, size/4)
			for range rounds {
				l, err := newLinearMemory(limit, tracker())
				if err != nil {
					t.Error(err)
					return
				}
				for range 1 + random.IntN(8) {
					if ok, missed := l.restore(image, func() {}); !ok || missed || !l.setAccessible(limit) {
						t.Errorf("restored %t, missed a page %t", ok, missed)
					}
					if !bytes.Equal(l.space[:size], image) || len(bytes.Trim(l.space[size:], "\x00")) > 0 {
						t.Error("the memory differs from the image")
					}
					l.size = l.accessible
					l.Reallocate(size) // as an instance does after restore
					for range random.IntN(30) {
						l.space[random.IntN(size)]++
					}
					if random.IntN(3) == 0 {
						l.Reallocate(size + uint64(random.IntN(limit-size)/pageSize)*pageSize)
						l.space[l.size-1] = 1
					}
				}
				l.Free()
			}
		})
	}
	work.Wait()
}
