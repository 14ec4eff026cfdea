package engine

import (
	"bytes"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/dirtypages"
)

// A goroutine cannot be preempted during a page fault, so the pages of a large memory are allocated before they are accessed.
func TestLargeMemoryIsPopulatedWhenItGrows(t *testing.T) {
	const small, large = 1 << 20, 20 << 20
	l, err := newLinearMemory(32<<20, tracker())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Free()
	resident := func(from, to int) int {
		t.Helper()
		vec := make([]byte, (to-from)/dirtypages.PageSize)
		if _, _, err := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&l.space[from])), uintptr(to-from), uintptr(unsafe.Pointer(&vec[0]))); err != 0 {
			t.Fatal(err)
		}
		return bytes.Count(vec, []byte{1})
	}
	if l.Reallocate(small) == nil || resident(0, small) > 0 {
		t.Errorf("%d pages of a small memory are allocated before access", resident(0, small))
	}
	for range 2 { // the second time, after restore returned the pages to the system
		if l.Reallocate(large) == nil || resident(lazyBytes, large) != (large-lazyBytes)/dirtypages.PageSize {
			t.Errorf("%d pages of a large memory are allocated, want all %d above lazyBytes", resident(lazyBytes, large), (large-lazyBytes)/dirtypages.PageSize)
		}
		l.space[large-1] = 7
		l.restore(make([]byte, small), func() {})
		l.size = small
		if resident(small, large) > 0 {
			t.Errorf("%d pages stay allocated after restore", resident(small, large))
		}
	}
	if l.Reallocate(33<<20) != nil || !l.growRefused {
		t.Error("memory grew above its limit")
	}
}
