package engine

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// reserve reserves address space that is not accessible.
func reserve(size uint64) ([]byte, error) {
	base, err := windows.VirtualAlloc(0, uintptr(size), windows.MEM_RESERVE, windows.PAGE_NOACCESS)
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*byte)(pointer(base)), size), nil
}

// pointer converts an address outside of Go's heap. The conversion is indirect, because vet reports a direct conversion.
func pointer(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

func address(pages []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(pages))) }

// allow makes pages accessible. Pages that become accessible for the first time are committed, and count towards the memory
// limit of the process.
func allow(pages []byte) error {
	_, err := windows.VirtualAlloc(address(pages), uintptr(len(pages)), windows.MEM_COMMIT, windows.PAGE_READWRITE)
	return err
}

// forbid makes pages inaccessible. Their content is kept.
func forbid(pages []byte) error {
	var old uint32
	return windows.VirtualProtect(address(pages), uintptr(len(pages)), windows.PAGE_NOACCESS, &old)
}

// release ends a reservation.
func release(space []byte) error { return windows.VirtualFree(address(space), 0, windows.MEM_RELEASE) }
