package engine

import (
	"fmt"

	"github.com/tetratelabs/wazero/experimental"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/dirtypages"
)

// linearMemory is the linear memory of an instance. It reserves address space for its limit, so that it never moves. Only
// the bytes that the module has allocated are accessible and count towards RLIMIT_DATA.
type linearMemory struct {
	space      []byte // the reservation, limit bytes long
	limit      uint64 // maximum size in bytes
	size       uint64 // current size in bytes
	reserved   uint64 // bytes of the limit that the kernelMemory of the instance uses
	accessible uint64 // length of the accessible prefix of space
	forced     uint64 // if not 0, the size that Reallocate sets instead of the requested one
	// growRefused is set when growth was refused since the last restore. If the module then crashes, the reported cause
	// is a lack of memory.
	growRefused bool
	// starved is set if the system, and not the limit, refused the growth.
	starved bool

	written writtenPages // the record of dirty pages that restore uses

	take func(bytes uint64) bool // takes credit for accessible bytes; nil: no credit is needed
	give func(bytes uint64)      // returns it
}

var _ experimental.LinearMemory = (*linearMemory)(nil)

// newLinearMemory reserves address space for limit bytes. Without a tracker, or if the system refuses tracking, restore
// compares the memory with the snapshot.
func newLinearMemory(limit uint64, tracker *dirtypages.Tracker) (*linearMemory, error) {
	space, err := reserve(limit)
	if err != nil {
		return nil, fmt.Errorf("cannot map %d bytes of linear memory: %w", limit, err)
	}
	l := &linearMemory{space: space, limit: limit}
	if tracker != nil {
		l.written.tracked, _ = tracker.Track(space)
	}
	return l, nil
}

// Reallocate implements experimental.LinearMemory.
func (l *linearMemory) Reallocate(size uint64) []byte {
	if l.forced > 0 {
		size = l.forced
	}
	if size > l.limit-min(l.limit, l.reserved) || !l.setAccessible(size) || !l.commit(l.size, size) {
		l.growRefused, l.starved = true, l.starved || size <= l.limit-min(l.limit, l.reserved)
		return nil
	}
	l.size = size
	return l.space[:size:len(l.space)]
}

// bound describes what refused the growth of the memory.
func (l *linearMemory) bound() string {
	if l.starved {
		return "the server has"
	}
	return fmt.Sprintf("its limit of %d MiB", l.limit>>20)
}

// setAccessible makes exactly the first size bytes accessible. It reports whether the system permits it.
func (l *linearMemory) setAccessible(size uint64) bool {
	var err error
	switch {
	case size > l.accessible:
		if l.take != nil && (l.starved || !l.take(size-l.accessible)) { // a call asks once
			return false
		}
		if err = allow(l.space[l.accessible:size]); err != nil {
			l.returns(size - l.accessible)
		}
	case size < l.accessible:
		if err = forbid(l.space[size:l.accessible]); err == nil {
			l.returns(l.accessible - size)
		}
	}
	if err != nil {
		return false
	}
	l.accessible = size
	return true
}

func (l *linearMemory) returns(bytes uint64) {
	if l.give != nil {
		l.give(bytes)
	}
}

// lazyBytes is the length of the prefix of linear memory whose pages are allocated on first access. A page fault takes up to
// several microseconds during which the goroutine cannot be preempted, so all pages above the prefix are allocated when memory
// grows.
const lazyBytes = 2 << 20

// commit allocates the pages of a range above lazyBytes. It reports whether the system has the memory.
func (l *linearMemory) commit(from, to uint64) bool {
	// The kernel holds the lock of the process's mappings during each madvise, so the range is split.
	const chunk = 1 << 20
	for from = max(from, lazyBytes); from < to; from += chunk {
		if !populate(l.space[from:min(from+chunk, to)]) {
			return false
		}
	}
	return true
}

func populate(pages []byte) bool {
	if ok, done := advisePopulate(pages); done {
		return ok
	}
	for at := 0; at < len(pages); at += dirtypages.PageSize {
		pages[at] = 0 // the value is unchanged: the pages are new or were cleared
	}
	return true
}

// Free implements experimental.LinearMemory.
func (l *linearMemory) Free() {
	if l.space == nil {
		return
	}
	if err := release(l.space); err != nil {
		panic(fmt.Errorf("cannot unmap linear memory: %w", err)) // only possible if space is not a mapping
	}
	l.space = nil
	l.returns(l.accessible)
	l.accessible = 0
}

// clear zeroes a range. Large ranges are returned to the system, which provides zeroed pages on the next access.
func (l *linearMemory) clear(from, to uint64) {
	const large = 1 << 20
	if to <= from {
		return
	}
	if to-from >= large && discard(l.space[from:to]) {
		return
	}
	clear(l.space[from:to])
}
