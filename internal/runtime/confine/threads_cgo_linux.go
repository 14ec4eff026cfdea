package confine

/*
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	// The C library reserves this signal to stop all threads, so no thread blocks it for long: pthread_sigmask leaves it
	// unblocked, and so does the Go runtime. The C library does not let a program handle it, hence the direct system calls.
	stop_signal = 33,
	futex_wait = 128, // FUTEX_WAIT_PRIVATE
	futex_wake = 129, // FUTEX_WAKE_PRIVATE
};

// The kernel's struct sigaction.
struct action {
	void (*handler)(int);
	unsigned long flags;
	unsigned long rest[4]; // address of the code that returns from the handler, on some architectures; blocked signals
};

static long request[4]; // a system call and its arguments
static int arrived;     // number of threads in stop
static int released;    // whether they may leave it
static int failure;     // error number of the request on one of them

// stop makes the request on a thread, and keeps the thread until all other threads have made it, since a thread that starts
// another one must not do so halfway: the new thread inherits the restrictions of its creator.
static void stop(int number) {
	int saved = errno;
	if (syscall(request[0], request[1], request[2], request[3], 0L, 0L) == -1)
		__atomic_store_n(&failure, errno, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&arrived, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &arrived, futex_wake, 1, 0L);
	while (!__atomic_load_n(&released, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &released, futex_wait, 0, 0L);
	__atomic_sub_fetch(&arrived, 1, __ATOMIC_SEQ_CST);
	errno = saved;
}

// all_threads makes a system call on the calling thread and, if that succeeds, on all others. It returns an error number.
// tasks is a descriptor of /proc/self/task.
//
// The signals go to the process, and each reaches a thread that does not handle one yet. Threads are counted, not listed: the
// numbers in /proc are those of the host's PID namespace. A thread outside of stop can start and end threads until it
// arrives, so the count is compared with the number of those that had arrived before.
static int all_threads(int tasks, long call, long a1, long a2, long a3) {
	if (syscall(call, a1, a2, a3, 0L, 0L) == -1)
		return errno;
	while (__atomic_load_n(&arrived, __ATOMIC_SEQ_CST)) // threads that leave stop after the preceding call
		sched_yield();
	request[0] = call, request[1] = a1, request[2] = a2, request[3] = a3;
	failure = released = 0;

	uint64_t set = 1ull << (stop_signal - 1), unblocked;
	struct action action, previous;
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, &unblocked, sizeof set);
	// The Go runtime's flags suit: an alternate stack, and all signals blocked.
	syscall(SYS_rt_sigaction, SIGURG, 0L, &action, sizeof set);
	action.handler = stop;
	syscall(SYS_rt_sigaction, stop_signal, &action, &previous, sizeof set);
	for (;;) {
		int here = __atomic_load_n(&arrived, __ATOMIC_SEQ_CST);
		struct stat st;
		if (fstat(tasks, &st) == -1) {
			failure = errno;
			break;
		}
		int others = (int)st.st_nlink - 3; // without the entries . and .., and without this thread
		if (here == others)
			break;
		for (int i = here; i < others; i++)
			kill(getpid(), stop_signal);
		long timeout[2] = {0, 1000000}; // seconds and nanoseconds; then threads may have started or ended
		syscall(SYS_futex, &arrived, futex_wait, here, timeout);
	}
	action.handler = SIG_IGN; // discards the signals that no thread has taken
	syscall(SYS_rt_sigaction, stop_signal, &action, 0L, sizeof set);
	__atomic_store_n(&released, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &released, futex_wake, INT_MAX);
	syscall(SYS_rt_sigaction, stop_signal, &previous, 0L, sizeof set);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &unblocked, 0L, sizeof set);
	return failure;
}
*/
import "C"

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// threads makes system calls on every thread. A program without cgo has syscall.AllThreadsSyscall for that, which fails with
// ENOTSUP if C code could have started threads.
type threads struct {
	tasks   int   // descriptor of /proc/self/task, which counts the threads and is unreachable after some layers
	missing error // why tasks is not open
}

func openThreads() threads {
	fd, err := unix.Open("/proc/self/task", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return threads{missing: missingError("the threads cannot be counted: /proc/self/task: " + err.Error())}
	}
	return threads{tasks: fd}
}

// close must be called before untrusted input is read: the descriptor leads to the whole of /proc.
func (t threads) close() {
	if t.missing == nil {
		unix.Close(t.tasks)
	}
}

//go:uintptrescapes
func (t threads) call(number, a1, a2, a3 uintptr) error {
	if t.missing != nil {
		return t.missing
	}
	if errno := C.all_threads(C.int(t.tasks), C.long(number), C.long(a1), C.long(a2), C.long(a3)); errno != 0 {
		return syscall.Errno(errno)
	}
	return nil
}
