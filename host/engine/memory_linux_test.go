package engine

import (
	"bytes"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestPagesOfALargeMemoryAreThereBeforeTheyAreTouched: each that is not costs a fault in which nobody else gets
// the processor.
func TestPagesOfALargeMemoryAreThereBeforeTheyAreTouched(t *testing.T) {
	const first, then = 1 << 20, 20 << 20
	l, err := newLinear(32 << 20)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Free()
	there := func(from, to int) int {
		t.Helper()
		vec := make([]byte, (to-from)/pageOf)
		if _, _, err := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&l.space[from])), uintptr(to-from), uintptr(unsafe.Pointer(&vec[0]))); err != 0 {
			t.Fatal(err)
		}
		return bytes.Count(vec, []byte{1})
	}
	if l.Reallocate(first) == nil || there(0, first) > 0 {
		t.Errorf("a small memory has %d pages that nobody has touched", there(0, first))
	}
	for range 2 { // also after the system got them back
		if l.Reallocate(then) == nil || there(lazy, then) != (then-lazy)/pageOf {
			t.Errorf("of a large memory %d pages are there", there(lazy, then))
		}
		l.space[then-1] = 7
		l.restore(make([]byte, first))
		l.size = first
		if there(first, then) > 0 {
			t.Errorf("%d pages are kept for nobody", there(first, then))
		}
	}
	if l.Reallocate(33<<20) != nil || !l.refused {
		t.Error("more than the limit was given")
	}
}
