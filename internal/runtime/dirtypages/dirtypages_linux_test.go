package dirtypages

import (
	"runtime"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestWritten(t *testing.T) {
	tracker, err := Open()
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(tracker.Close)
	size := 300 * PageSize
	mapping, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Munmap(mapping); err != nil {
			t.Error(err)
		}
	})
	m, err := tracker.Track(mapping)
	if err != nil {
		t.Fatal(err)
	}
	mapping[0], mapping[7*PageSize] = 1, 1
	written := func() (pages []int) {
		t.Helper()
		err := m.Written(size, func(from, to int) {
			for ; from < to; from += PageSize {
				pages = append(pages, from/PageSize)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		return pages
	}
	expect := func(what string, want []int) {
		t.Helper()
		if diff := cmp.Diff(want, written()); diff != "" {
			t.Errorf("%s: written pages (-want +got):\n%s", what, diff)
		}
	}
	protect := func() {
		t.Helper()
		if err := m.Protect(size); err != nil {
			t.Fatal(err)
		}
	}

	protect()
	expect("after Protect", nil)
	mapping[3*PageSize], mapping[4*PageSize+9] = 1, 1
	mapping[7*PageSize]++
	expect("after writes to new and old pages", []int{3, 4, 7})
	mapping[0]++
	expect("after another write, since the first Protect", []int{0, 3, 4, 7})
	protect()
	if mapping[20*PageSize] != 0 || mapping[3*PageSize] != 1 {
		t.Error("the content changed")
	}
	expect("after reads", nil)
	var every, all []int // more ranges than one scan returns
	for page := range 300 {
		all = append(all, page)
		if page%2 == 0 {
			mapping[page*PageSize] = 2
			every = append(every, page)
		}
	}
	expect("after writes to every other page", every)
	clear(mapping)
	expect("after writing everything", all)
}

// TestWriteFaultsOncePerPage counts page faults of stores that cross a page boundary. The kernel resolves each fault by itself, and the page
// stays writable, so such a store makes progress, and the time that write protection costs a call is bounded by its pages.
func TestWriteFaultsOncePerPage(t *testing.T) {
	tracker, err := Open()
	if err != nil {
		t.Skip(err)
	}
	defer tracker.Close()
	const pages = 4096
	space, err := unix.Mmap(-1, 0, pages*PageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(space) //nolint:errcheck // the mapping is local to this function
	m, err := tracker.Track(space)
	if err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	store := func() int64 { // returns the faults of stores across all boundaries
		before := minorFaults(t)
		for at := PageSize - 4; at+8 <= len(space); at += PageSize {
			*(*uint64)(unsafe.Pointer(&space[at]))++
		}
		return minorFaults(t) - before
	}
	store()
	for range 3 {
		if err := m.Protect(len(space)); err != nil {
			t.Fatal(err)
		}
		first, second := store(), store()
		if first < pages/2 || first > pages+pages/4 || second > pages/4 {
			t.Errorf("stores across %d pages had %d faults after protecting, and %d when repeated", pages, first, second)
		}
	}
}

func minorFaults(t *testing.T) int64 {
	t.Helper()
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &usage); err != nil {
		t.Fatal(err)
	}
	return int64(usage.Minflt)
}
