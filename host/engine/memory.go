package engine

import (
	"bytes"
	"fmt"
	"runtime"

	"github.com/tetratelabs/wazero/experimental"
	"golang.org/x/sys/unix"
)

// linear is an instance's linear memory. The address space for the most it may ever have is mapped at
// once, so that it never moves; only what the module has can be accessed, and counts for RLIMIT_DATA. Pages that the
// module has not touched take no memory.
type linear struct {
	space  []byte
	limit  uint64 // bytes that the module may have
	size   uint64 // bytes that it has
	opened uint64 // bytes that can be accessed: size, in whole pages of the machine
	forced uint64 // what Reallocate gives whatever it is asked for; 0: nothing is forced
	// refused is set when a growth was refused since the last reset: a module that then crashes did so for
	// want of memory.
	refused bool
}

var _ experimental.LinearMemory = (*linear)(nil)

// newLinear maps memory that can grow to limit bytes.
func newLinear(limit uint64) (*linear, error) {
	space, err := unix.Mmap(-1, 0, int(limit), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes of linear memory: %w", limit, err)
	}
	return &linear{space: space, limit: limit}, nil
}

// Reallocate implements experimental.LinearMemory.
func (l *linear) Reallocate(size uint64) []byte {
	if l.forced > 0 {
		size = l.forced
	}
	if size > l.limit || !l.open(size) || !l.back(l.size, size) {
		l.refused = true
		return nil
	}
	l.size = size
	return l.space[:size:len(l.space)]
}

// open makes the first size bytes accessible, and no others. It reports whether the system allows it.
func (l *linear) open(size uint64) bool {
	var err error
	switch {
	case size > l.opened:
		err = unix.Mprotect(l.space[l.opened:size], unix.PROT_READ|unix.PROT_WRITE)
	case size < l.opened:
		err = unix.Mprotect(l.space[size:l.opened], unix.PROT_NONE)
	}
	if err != nil {
		return false
	}
	l.opened = size
	return true
}

// lazy is how many bytes of a memory get their pages only when the module touches them, each by a fault that
// takes up to some microseconds and that nobody else gets the processor in. Those of the rest are there before.
const lazy = 2 << 20

// back gives a range its pages, but for what may be lazy. It reports whether the system has them.
func (l *linear) back(from, to uint64) bool {
	// The system lets nobody change the process's mappings while it works on a part.
	const part = 1 << 20
	for from = max(from, lazy); from < to; from += part {
		if !populate(l.space[from:min(from+part, to)]) {
			return false
		}
	}
	return true
}

func populate(pages []byte) bool {
	const populateWrite = 23 // MADV_POPULATE_WRITE, of Linux 5.14
	if runtime.GOOS == "linux" {
		if err := unix.Madvise(pages, populateWrite); err == nil || err != unix.EINVAL {
			return err == nil
		}
	}
	for at := 0; at < len(pages); at += pageOf {
		pages[at] = 0 // which it is: nobody has had it, or it was cleared
	}
	return true
}

// Free implements experimental.LinearMemory.
func (l *linear) Free() {
	if l.space == nil {
		return
	}
	if err := unix.Munmap(l.space); err != nil {
		panic(fmt.Errorf("unmap linear memory: %w", err)) // it was never mapped: a fault of ours
	}
	l.space = nil
}

// pageOf is how much is compared at a time: a page of the machine, which is what writing to it costs.
const pageOf = 4 << 10

// restore makes the first bytes equal to image and clears all others that were ever in use. Comparing is
// cheaper than copying: a call changes a few dozen of a thousand pages.
// It reports whether the system has the memory.
func (l *linear) restore(image []byte) bool {
	if uint64(len(image)) > l.opened && !l.open(uint64(len(image))) {
		return false
	}
	for at := 0; at < len(image); at += pageOf {
		end := min(at+pageOf, len(image))
		if !bytes.Equal(l.space[at:end], image[at:end]) {
			copy(l.space[at:end], image[at:end])
		}
	}
	l.clear(uint64(len(image)), l.size)
	l.refused = false
	return true
}

// clear zeroes a range. What is large goes back to the system, which gives it out as zeroes again.
func (l *linear) clear(from, to uint64) {
	const large = 1 << 20
	if to <= from {
		return
	}
	if runtime.GOOS == "linux" && to-from >= large && unix.Madvise(l.space[from:to], unix.MADV_DONTNEED) == nil {
		return
	}
	clear(l.space[from:to])
}
