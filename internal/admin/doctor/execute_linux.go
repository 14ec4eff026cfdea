package doctor

import "golang.org/x/sys/unix"

// canExecute reports whether this process may make memory executable after it has written there, as each module needs. MemoryDenyWriteExecute= of
// systemd forbids it for a service and what it starts.
func canExecute() bool {
	page, err := unix.Mmap(-1, 0, unix.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return true // for another reason
	}
	defer func() { _ = unix.Munmap(page) }()
	return unix.Mprotect(page, unix.PROT_READ|unix.PROT_EXEC) == nil
}
