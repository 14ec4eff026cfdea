package dirtypages

import (
	"testing"

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
