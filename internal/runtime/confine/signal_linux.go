//go:build amd64 || arm64

package confine

import (
	"math"
	"runtime"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// stopSignal is reserved by the C library, to stop all threads, so no thread blocks it for long: pthread_sigmask leaves
	// it unblocked, and so does the Go runtime.
	stopSignal = 33

	futexWait = 128 // FUTEX_WAIT_PRIVATE
	futexWake = 129 // FUTEX_WAKE_PRIVATE
)

// kernelAction is the kernel's struct sigaction.
type kernelAction struct {
	handler  uintptr
	flags    uint64
	restorer uintptr
	mask     uint64
}

// stopAddress is the address of the signal handler, which makes the request on its thread, and keeps the thread until all others
// have made it: a thread that starts another one must not do so halfway, since the new one inherits the restrictions of its
// creator. It is assembly code, since it interrupts code of the runtime and of C.
var stopAddress uintptr

// State of signalThreads that the signal handler uses.
var (
	//lint:ignore U1000 the handler, which is assembly code, reads it
	request  [4]uintptr // a system call and its arguments
	arrived  uint32     // number of threads in the handler
	released uint32     // whether they may leave it
	failure  uint32     // error number of the request on one of them
)

// round is what signalThreads would have on its stack if that could grow.
var round struct {
	sync.Mutex
	action, previous kernelAction
	all, unblocked   uint64
	stat             unix.Stat_t
	timeout          unix.Timespec
}

// signalThreads makes a system call on the calling thread and, if that succeeds, on all others. tasks is a descriptor of
// /proc/self/task.
func signalThreads(tasks int, number, a1, a2, a3 uintptr) error {
	round.Lock()
	defer round.Unlock()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if _, _, errno := syscall.RawSyscall6(number, a1, a2, a3, 0, 0, 0); errno != 0 {
		return errno
	}
	for load(&arrived) != 0 { // threads that leave the handler after the preceding call
		runtime.Gosched()
	}
	request = [4]uintptr{number, a1, a2, a3}
	failure, released = 0, 0
	round.all, round.timeout = math.MaxUint64, unix.Timespec{Nsec: 1e6}
	if errno := stopOthers(uintptr(tasks)); errno != 0 {
		return errno
	}
	if failure != 0 {
		return syscall.Errno(failure)
	}
	return nil
}

// stopOthers runs the handler on all other threads. While they are in it, they may hold locks of the runtime, so this function
// neither allocates nor lets its stack grow, and it blocks signals, so that it is not preempted.
//
// The signals go to the process, and each reaches a thread that does not handle one yet. Threads are counted, not listed: the
// numbers in /proc are those of the host's PID namespace. A thread outside of the handler can start and end threads until it
// arrives, so the count is compared with the number of those that had arrived before.
//
//go:nosplit
//go:norace
func stopOthers(tasks uintptr) (errno syscall.Errno) {
	r := &round
	syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&r.all)), uintptr(unsafe.Pointer(&r.unblocked)), 8, 0, 0)
	// The flags of the runtime's handlers suit: an alternate stack, and all signals blocked.
	syscall.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGURG), 0, uintptr(unsafe.Pointer(&r.action)), 8, 0, 0)
	r.action.handler = stopAddress
	syscall.RawSyscall6(unix.SYS_RT_SIGACTION, stopSignal, uintptr(unsafe.Pointer(&r.action)), uintptr(unsafe.Pointer(&r.previous)), 8, 0, 0)
	process, _, _ := syscall.RawSyscall6(unix.SYS_GETPID, 0, 0, 0, 0, 0, 0)
	for {
		here := load(&arrived)
		if _, _, errno = syscall.RawSyscall6(unix.SYS_FSTAT, tasks, uintptr(unsafe.Pointer(&r.stat)), 0, 0, 0, 0); errno != 0 {
			break
		}
		others := uint32(r.stat.Nlink) - 3 // without the entries . and .., and without this thread
		if here == others {
			break
		}
		for range others - here {
			syscall.RawSyscall6(unix.SYS_KILL, process, stopSignal, 0, 0, 0, 0)
		}
		// Until a thread arrives. After the timeout, threads may have started or ended.
		syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&arrived)), futexWait, uintptr(here), uintptr(unsafe.Pointer(&r.timeout)), 0, 0)
	}
	r.action.handler = 1 // SIG_IGN discards the signals that no thread has taken
	syscall.RawSyscall6(unix.SYS_RT_SIGACTION, stopSignal, uintptr(unsafe.Pointer(&r.action)), 0, 8, 0, 0)
	release()
	syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&released)), futexWake, math.MaxInt32, 0, 0, 0)
	syscall.RawSyscall6(unix.SYS_RT_SIGACTION, stopSignal, uintptr(unsafe.Pointer(&r.previous)), 0, 8, 0, 0)
	syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&r.unblocked)), 0, 8, 0, 0)
	return errno
}

// load reads a number that other threads change. The functions of sync/atomic may call the race detector.
//
//go:noescape
func load(number *uint32) uint32

// release sets released.
func release()
