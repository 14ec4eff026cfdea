package engine

import "golang.org/x/sys/unix"

// adviseWrite is MADV_POPULATE_WRITE, which exists since Linux 5.14. Tests replace it.
var adviseWrite = 23

// advisePopulate has the kernel allocate pages, and reports whether the system has the memory. done is false if the kernel
// does not support MADV_POPULATE_WRITE.
func advisePopulate(pages []byte) (ok, done bool) {
	err := unix.Madvise(pages, adviseWrite)
	return err == nil, err == nil || err != unix.EINVAL
}

// discard returns pages to the system, which provides zeroed pages on the next access. It reports success.
func discard(pages []byte) bool { return unix.Madvise(pages, unix.MADV_DONTNEED) == nil }
