package confine

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// threads makes system calls on every thread.
type threads struct {
	withCgo bool  // C code may have started threads, so syscall.AllThreadsSyscall fails
	tasks   int   // with cgo: descriptor of /proc/self/task, which counts the threads and is unreachable after some layers
	missing error // why tasks is not open
}

func openThreads() threads {
	const noCall = ^uintptr(0)
	if _, _, errno := syscall.AllThreadsSyscall(noCall, 0, 0, 0); errno != syscall.ENOTSUP {
		return threads{}
	}
	return countedThreads("/proc/self/task")
}

// countedThreads returns threads whose number is that of the directories in dir.
func countedThreads(dir string) threads {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return threads{withCgo: true, missing: missingError("the threads cannot be counted: " + dir + ": " + err.Error())}
	}
	return threads{withCgo: true, tasks: fd}
}

// close must be called before untrusted input is read: the descriptor leads to the whole of /proc.
func (t threads) close() {
	if t.withCgo && t.missing == nil {
		unix.Close(t.tasks)
	}
}

//go:uintptrescapes
func (t threads) call(number, a1, a2, a3 uintptr) error {
	if t.missing != nil {
		return t.missing
	}
	if t.withCgo {
		return signalThreads(t.tasks, number, a1, a2, a3)
	}
	if _, _, errno := syscall.AllThreadsSyscall(number, a1, a2, a3); errno != 0 {
		return errno
	}
	return nil
}
