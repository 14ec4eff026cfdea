//go:build !cgo

package confine

import "syscall"

// threads makes system calls on every thread.
type threads struct {
	missing error // why that is impossible
}

func openThreads() threads { return threads{} }

func (threads) close() {}

//go:uintptrescapes
func (threads) call(number, a1, a2, a3 uintptr) error {
	if _, _, errno := syscall.AllThreadsSyscall(number, a1, a2, a3); errno != 0 {
		return errno
	}
	return nil
}
