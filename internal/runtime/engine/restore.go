package engine

import (
	"bytes"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/dirtypages"
)

// writtenPages finds the dirty pages of a linear memory. While the kernel records writes, a restore copies the pages that
// the kernel reports as written. These pages stay writable, so every later restore copies them again: a page fault in the
// next call costs more than copying a page in vain. After a number of copied bytes (see isDue) all pages are compared,
// which verifies the record, and a new record begins.
type writtenPages struct {
	tracked *dirtypages.Memory // nil: each restore compares all pages
	size    int                // writes to the first size bytes are recorded; 0: there is no record
	first   int                // bytes that the first restore since the record began copied
	copied  int                // bytes that all restores since the record began copied
}

// minRecord is the minimum number of bytes that are copied before a new record begins. The restores of a few hundred calls
// of a small plugin copy as much, so that the comparison and the page faults after it, which take some 150 µs, add little
// to each restore.
const minRecord = 64 << 20

// isDue reports whether a new record should begin. If one call wrote far more pages than the others, the restores of
// later calls copy these pages too, but at most 16 times.
func (w *writtenPages) isDue() bool { return w.copied >= max(minRecord, 16*w.first, w.size) }

// largeRestore is the number of bytes from which on a restore is long enough to call busy: copying them takes some 200 µs.
const largeRestore = 1 << 20

// restore copies image to the beginning of the memory and clears the rest. It calls busy before it compares the memory, or
// copies or clears much of it. It reports whether the system has the memory, and whether a write was missing in the record.
func (l *linearMemory) restore(image []byte, busy func()) (ok, missed bool) {
	if uint64(len(image)) > l.accessible && !l.setAccessible(uint64(len(image))) {
		return false, false
	}
	if l.size >= uint64(len(image))+largeRestore {
		busy()
	}
	recorded := l.copyWritten(image, busy)
	if !recorded || l.written.isDue() {
		busy()
		missed = l.copyDifferent(image) > 0 && recorded
		l.record(len(image), missed)
	}
	l.clear(uint64(len(image)), l.size)
	l.growRefused, l.starved = false, false
	return true, missed
}

// copyWritten copies the pages of image that were written since the record began. It reports whether there is a record.
func (l *linearMemory) copyWritten(image []byte, busy func()) bool {
	w := &l.written
	if w.size == 0 || w.size != len(image) {
		return false
	}
	bytes := 0
	err := w.tracked.Written(len(image), func(from, to int) {
		if bytes += to - from; bytes >= largeRestore {
			busy()
		}
		copyChunked(l.space[from:to], image[from:to])
	})
	if err != nil {
		w.size, w.tracked = 0, nil
		return false
	}
	if w.copied == 0 {
		w.first = bytes
	}
	w.copied += bytes
	return true
}

// copyDifferent copies the pages that differ from image, and returns their number.
func (l *linearMemory) copyDifferent(image []byte) int {
	different := 0
	for at := 0; at < len(image); at += dirtypages.PageSize {
		end := min(at+dirtypages.PageSize, len(image))
		if !bytes.Equal(l.space[at:end], image[at:end]) {
			copy(l.space[at:end], image[at:end])
			different++
		}
	}
	return different
}

// record begins a new record of writes to the first size bytes, which equal the image. If the kernel missed a write, the
// records of all memories are not used any more.
func (l *linearMemory) record(size int, missed bool) {
	w := &l.written
	if missed {
		w.tracked.Distrust()
	}
	*w = writtenPages{tracked: w.tracked}
	if w.tracked == nil || w.tracked.Protect(size) != nil {
		w.tracked = nil
		return
	}
	w.size = size
}
