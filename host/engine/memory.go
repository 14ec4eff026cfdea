package engine

import (
	"bytes"
	"fmt"
	"runtime"

	"github.com/tetratelabs/wazero/experimental"
	"golang.org/x/sys/unix"
)

// linear is an instance's linear memory. The address space for the most it may ever have is mapped at
// once, so that it never moves; pages that the module has not touched take no memory.
type linear struct {
	space  []byte
	limit  uint64 // bytes that the module may have
	size   uint64 // bytes that it has
	forced uint64 // what Reallocate gives whatever it is asked for; 0: nothing is forced
	// refused is set when a growth was refused since the last reset: a module that then crashes did so for
	// want of memory.
	refused bool
}

var _ experimental.LinearMemory = (*linear)(nil)

// newLinear maps memory that can grow to limit bytes.
func newLinear(limit uint64) (*linear, error) {
	space, err := unix.Mmap(-1, 0, int(limit), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes of linear memory: %w", limit, err)
	}
	return &linear{space: space, limit: limit}, nil
}

// Reallocate implements experimental.LinearMemory.
func (l *linear) Reallocate(size uint64) []byte {
	if l.forced > 0 {
		size = l.forced
	} else if size > l.limit {
		l.refused = true
		return nil
	}
	l.size = size
	return l.space[:size:len(l.space)]
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
func (l *linear) restore(image []byte) {
	for at := 0; at < len(image); at += pageOf {
		end := min(at+pageOf, len(image))
		if !bytes.Equal(l.space[at:end], image[at:end]) {
			copy(l.space[at:end], image[at:end])
		}
	}
	l.clear(uint64(len(image)), l.size)
	l.refused = false
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
