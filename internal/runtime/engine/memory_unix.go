//go:build unix

package engine

import "golang.org/x/sys/unix"

// reserve reserves address space that is not accessible.
func reserve(size uint64) ([]byte, error) {
	return unix.Mmap(-1, 0, int(size), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
}

// allow makes pages accessible.
func allow(pages []byte) error { return unix.Mprotect(pages, unix.PROT_READ|unix.PROT_WRITE) }

// forbid makes pages inaccessible. Their content is kept.
func forbid(pages []byte) error { return unix.Mprotect(pages, unix.PROT_NONE) }

// release ends a reservation.
func release(space []byte) error { return unix.Munmap(space) }
