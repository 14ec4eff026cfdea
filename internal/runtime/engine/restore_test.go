//go:build unix

package engine

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/dirtypages"
)

// eachTracker runs a test with and without a record of written pages.
func eachTracker(t *testing.T, test func(*testing.T, *dirtypages.Tracker)) {
	t.Run("compared", func(t *testing.T) { test(t, nil) })
	t.Run("recorded", func(t *testing.T) {
		if tracker() == nil {
			t.Skip("the system records no written pages")
		}
		test(t, tracker())
	})
}

// restore makes the memory equal to the image after any changes: sparse and dense writes, writes by system calls, growth, and
// writes to the new pages.
func TestRestoredMemoryEqualsImage(t *testing.T) {
	const size, limit = 3 << 20, 12 << 20
	rounds := testenv.Count(100, 400, 400)
	eachTracker(t, func(t *testing.T, tracker *dirtypages.Tracker) {
		random := rand.New(rand.NewPCG(1, 2))
		image := make([]byte, size)
		for at := 0; at < size; at += 1 + random.IntN(20_000) { // many pages stay zero
			image[at] = byte(random.Uint32())
		}
		l, err := newLinearMemory(limit, tracker)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Free()
		if l.Reallocate(size) == nil {
			t.Fatal("the system refuses memory")
		}
		file := openRandom(t)
		compared := 0
		for round := range rounds {
			if ok, missed := l.restore(image, func() {}); !ok || missed {
				t.Fatalf("round %d: restored %t, missed a page %t", round, ok, missed)
			}
			if l.written.copied == 0 {
				compared++
			}
			l.size = size
			if !l.setAccessible(size) || !bytes.Equal(l.space[:size], image) {
				t.Fatalf("round %d: the memory differs from the image", round)
			}
			for range random.IntN(60) {
				l.change(t, random, file)
			}
		}
		if tracker != nil && compared > rounds/10 {
			t.Errorf("%d of %d restores compared the memory", compared, rounds)
		}
		if tracker == nil && compared != rounds {
			t.Errorf("%d of %d restores compared the memory", compared, rounds)
		}
	})
}

// change performs a random change that a call can make to its memory.
func (l *linearMemory) change(t *testing.T, random *rand.Rand, file *os.File) {
	t.Helper()
	at := random.IntN(int(l.size) - 10_000)
	switch random.IntN(20) {
	case 0: // growth, and a write to the new pages
		if l.Reallocate(min(l.size+uint64(1+random.IntN(20))*pageSize, l.limit)) == nil {
			t.Fatal("the system refuses memory")
		}
		l.space[l.size-1] = 1
	case 1: // bulk memory
		clear(l.space[at:min(at+random.IntN(500_000), int(l.size))])
	case 2: // a system call that writes to the memory
		if _, err := unix.Pread(int(file.Fd()), l.space[at:at+random.IntN(10_000)], int64(random.IntN(1000))); err != nil {
			t.Fatal(err)
		}
	case 3: // a write that changes nothing
		copy(l.space[at:at+1], l.space[at:])
	case 4: // a read
		_ = bytes.Count(l.space[:at], []byte{1})
	case 5: // a system call that writes to two ranges of the memory
		buffers := [][]byte{l.space[at : at+10], l.space[at+5000 : at+9000]}
		if _, err := unix.Preadv(int(file.Fd()), buffers, 0); err != nil {
			t.Fatal(err)
		}
	default:
		l.space[at]++
	}
}

func openRandom(t *testing.T) *os.File {
	t.Helper()
	content := make([]byte, 20_000)
	for i := range content {
		content[i] = byte(i*7 + i/256)
	}
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// After a call that writes many pages, restores after other calls copy these pages only until a new record begins.
func TestRecordForgetsPagesOfOneLargeCall(t *testing.T) {
	if tracker() == nil {
		t.Skip("the system records no written pages")
	}
	const size = 8 << 20
	l, err := newLinearMemory(size, tracker())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Free()
	if l.Reallocate(size) == nil {
		t.Fatal("the system refuses memory")
	}
	image := make([]byte, size)
	l.restore(image, func() {})
	for at := 0; at < size; at += dirtypages.PageSize {
		l.space[at] = 1
	}
	restores := 0
	for ; restores == 0 || l.written.copied > 0; restores++ {
		l.restore(image, func() {})
	}
	if restores > 20 {
		t.Errorf("%d restores copied all pages", restores)
	}
	l.space[size/2] = 1
	l.restore(image, func() { t.Error("the memory is compared again") })
	if l.written.copied != dirtypages.PageSize {
		t.Errorf("%d bytes are copied, want one page", l.written.copied)
	}
}

// BenchmarkRestore compares restoring after an echo with and without a record of written pages.
func BenchmarkRestore(b *testing.B) {
	for name, tracker := range map[string]*dirtypages.Tracker{"compared": nil, "recorded": tracker()} {
		b.Run(name, func(b *testing.B) {
			m := newModule(b, Spec{})
			m.spec.Tracker = tracker
			inst, failure := m.newInstance(b.Context())
			if failure != nil {
				b.Fatal(failure)
			}
			defer inst.close()
			for b.Loop() {
				b.StopTimer()
				if _, failure := inst.call(b.Context(), toolRequest("echo", "{}")); failure != nil {
					b.Fatal(failure)
				}
				b.StartTimer()
				if !inst.restore(m.snapshot, func() {}) {
					b.Fatal("the instance cannot be restored")
				}
			}
		})
	}
}
