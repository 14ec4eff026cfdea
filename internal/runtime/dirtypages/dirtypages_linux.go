package dirtypages

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Requests of ioctl that a Tracker makes. The system call filter of a process that uses a Tracker must allow the exported
// ones.
const (
	requestAPI = 0xc018aa3f // UFFDIO_API; only Open makes it

	RequestRegister = 0xc020aa00 // UFFDIO_REGISTER
	RequestProtect  = 0xc018aa06 // UFFDIO_WRITEPROTECT
	RequestScan     = 0xc0606610 // PAGEMAP_SCAN
)

const (
	apiVersion      = 0xaa
	featureUnmapped = 1 << 13 // UFFD_FEATURE_WP_UNPOPULATED: pages that are not allocated yet are protected, too
	featureAsync    = 1 << 15 // UFFD_FEATURE_WP_ASYNC: the kernel resolves faults itself
	userModeOnly    = 1       // UFFD_USER_MODE_ONLY needs no privilege; asynchronous faults in system calls are resolved anyway
	registerProtect = 2       // UFFDIO_REGISTER_MODE_WP
	protectOn       = 1       // UFFDIO_WRITEPROTECT_MODE_WP
	pageIsWritten   = 2       // PAGE_IS_WRITTEN
	scanCheckAsync  = 2       // PM_SCAN_CHECK_WPASYNC: fails if the memory is not tracked
)

// Tracker records writes to memories of this process.
type Tracker struct {
	faults, pagemap int
	distrusted      atomic.Bool
}

var errDistrusted = errors.New("the record of written pages was incomplete")

// Open returns a Tracker. A process that confines itself must call Open before.
func Open() (*Tracker, error) {
	faults, _, errno := unix.Syscall(unix.SYS_USERFAULTFD, unix.O_CLOEXEC|unix.O_NONBLOCK|userModeOnly, 0, 0)
	if errno != 0 {
		return nil, fmt.Errorf("%w: userfaultfd: %w", errUnsupported, errno)
	}
	t := &Tracker{faults: int(faults), pagemap: -1}
	api := [3]uint64{apiVersion, featureUnmapped | featureAsync, 0}
	err := ioctl(t.faults, requestAPI, unsafe.Pointer(&api))
	if err == nil {
		t.pagemap, err = unix.Open("/proc/self/pagemap", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	}
	if err == nil {
		err = t.probe()
	}
	if err != nil {
		t.Close()
		return nil, fmt.Errorf("%w: %w", errUnsupported, err)
	}
	return t, nil
}

// probe tries the Tracker on one page.
func (t *Tracker) probe() error {
	page, err := unix.Mmap(-1, 0, PageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	defer unix.Munmap(page) //nolint:errcheck // the mapping is local to this function
	m, err := t.Track(page)
	if err == nil {
		err = m.Protect(PageSize)
	}
	for _, want := range []int{0, PageSize} {
		written := 0
		if err == nil {
			err = m.Written(PageSize, func(from, to int) { written += to - from })
		}
		if err == nil && written != want {
			err = fmt.Errorf("%d bytes are reported as written, want %d", written, want)
		}
		page[0] = 1
	}
	return err
}

// Close releases the Tracker. Writes to its memories are no longer recorded.
func (t *Tracker) Close() {
	_ = unix.Close(t.faults)
	if t.pagemap >= 0 {
		_ = unix.Close(t.pagemap)
	}
}

// Memory is a mapping whose writes can be recorded. It is used by one goroutine at a time.
type Memory struct {
	tracker *Tracker
	start   uint64
	found   [64]region // the kernel writes to it; a Memory is on the heap, so that this address does not change
}

// region is a struct page_region of the kernel: addresses of a range of pages.
type region struct {
	start, end uint64
	_          uint64 // categories
}

// Track returns a Memory that tracks writes to mapping, which must be private and anonymous. It disables huge pages for
// the mapping.
func (t *Tracker) Track(mapping []byte) (*Memory, error) {
	if err := unix.Madvise(mapping, unix.MADV_NOHUGEPAGE); err != nil && err != unix.EINVAL { // EINVAL: a kernel without huge pages
		return nil, os.NewSyscallError("madvise", err)
	}
	m := &Memory{tracker: t, start: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(mapping))))}
	request := [4]uint64{m.start, uint64(len(mapping)), registerProtect, 0}
	if err := ioctl(t.faults, RequestRegister, unsafe.Pointer(&request)); err != nil {
		return nil, err
	}
	return m, nil
}

// Distrust must be called if the kernel did not record a write to m. From then on, Protect and Written fail for all
// memories of the Tracker.
func (m *Memory) Distrust() { m.tracker.distrusted.Store(true) }

// Protect begins a new record of writes to the first size bytes. All pages of this range count as not written at first.
func (m *Memory) Protect(size int) error {
	if m.tracker.distrusted.Load() {
		return errDistrusted
	}
	request := [3]uint64{m.start, uint64(size), protectOn}
	return ioctl(m.tracker.faults, RequestProtect, unsafe.Pointer(&request))
}

// Written calls page with the offsets of each range of pages that was written since Protect, in ascending order. size must
// equal the size passed to Protect. The pages stay writable, and further calls of Written report them again.
func (m *Memory) Written(size int, page func(from, to int)) error {
	if m.tracker.distrusted.Load() {
		return errDistrusted
	}
	end := m.start + uint64(size)
	for at := m.start; at < end; {
		scan := scanRequest{
			size: uint64(unsafe.Sizeof(scanRequest{})), flags: scanCheckAsync, start: at, end: end,
			regions: uint64(uintptr(unsafe.Pointer(&m.found))), count: uint64(len(m.found)), mask: pageIsWritten, result: pageIsWritten,
		}
		n, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(m.tracker.pagemap), RequestScan, uintptr(unsafe.Pointer(&scan)))
		if errno != 0 {
			return os.NewSyscallError("PAGEMAP_SCAN", errno)
		}
		for _, r := range m.found[:n] {
			page(int(r.start-m.start), int(r.end-m.start))
		}
		if scan.walkEnd <= at { // without this check a faulty kernel would cause an endless loop
			return os.NewSyscallError("PAGEMAP_SCAN", unix.EIO)
		}
		at = scan.walkEnd
	}
	return nil
}

// scanRequest is the kernel's struct pm_scan_arg.
type scanRequest struct {
	size, flags, start, end, walkEnd, regions, count, maxPages, inverted, mask, anyOf, result uint64
}

func ioctl(fd int, request uintptr, argument unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(argument)); errno != 0 {
		return os.NewSyscallError(fmt.Sprintf("ioctl %#x", request), errno)
	}
	return nil
}
