//go:build amd64 || arm64

package confine

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func init() {
	scenarios["rounds"] = rounds
	scenarios["one thread fails"] = oneThreadFails
}

// rounds sets an attribute of all threads many times, while threads start threads and end, and compares it for each thread. A
// new thread inherits the attribute, so a thread that lacks it has missed a round. The I/O priority has no privileges, and can be
// read from outside of its thread.
func rounds(j job) (Report, map[string]string, error) {
	stop := startAndEndThreads()
	defer stop()
	if withCgo() {
		// No signal can be queued then, so a signal reaches one thread at a time. syscall.AllThreadsSyscall would wait forever.
		if err := unix.Setrlimit(unix.RLIMIT_SIGPENDING, &unix.Rlimit{}); err != nil {
			return nil, nil, err
		}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := signalState()
	if err != nil {
		return nil, nil, err
	}
	t := openThreads()
	defer t.close()
	results := map[string]string{}
	for i := range 200 {
		const process, bestEffort = 1, 2 << 13
		want := uintptr(bestEffort | i%8)
		if err := t.call(unix.SYS_IOPRIO_SET, process, 0, want); err != nil {
			return nil, nil, err
		}
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			return nil, nil, err
		}
		for _, task := range tasks {
			number, err := strconv.Atoi(task.Name())
			if err != nil {
				return nil, nil, err
			}
			got, _, errno := unix.Syscall(unix.SYS_IOPRIO_GET, process, uintptr(number), 0)
			if errno == 0 && got != want && (withCgo() || !ends(number)) {
				results[fmt.Sprintf("round %d, thread %d", i, number)] = fmt.Sprintf("I/O priority %#x, want %#x", got, want)
			}
		}
	}
	after, err := signalState()
	if after != before {
		results["signals"] = fmt.Sprintf("before: %s\nafter: %s", before, after)
	}
	return nil, results, err
}

// ends reports whether a thread ends soon. syscall.AllThreadsSyscall leaves out a thread that has already left the Go runtime to end, and so
// runs no further code.
func ends(thread int) bool {
	for range 1000 {
		if err := unix.Tgkill(os.Getpid(), thread, 0); err == unix.ESRCH {
			return true
		}
		time.Sleep(time.Millisecond)
	}
	return false
}

// signalState returns the handler of stopSignal, and the blocked and pending signals of the calling thread.
func signalState() (string, error) {
	var action kernelAction
	if _, _, errno := syscall.RawSyscall6(unix.SYS_RT_SIGACTION, stopSignal, 0, uintptr(unsafe.Pointer(&action)), 8, 0, 0); errno != 0 {
		return "", errno
	}
	status, err := os.ReadFile("/proc/thread-self/status")
	state := fmt.Sprintf("%+v", action)
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "SigBlk:") || strings.HasPrefix(line, "ShdPnd:") {
			state += " " + strings.TrimSpace(line)
		}
	}
	return state, err
}

// oneThreadFails makes a system call that succeeds on the first thread only.
func oneThreadFails(job) (Report, map[string]string, error) {
	fd, err := unix.Open("/dev/null", unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	t := openThreads()
	defer t.close()
	if err := t.call(unix.SYS_CLOSE, uintptr(fd), 0, 0); !errors.Is(err, unix.EBADF) {
		return nil, nil, fmt.Errorf("got the error %v, want %v", err, unix.EBADF)
	}
	return nil, nil, nil
}

func TestNoThreadMissesRound(t *testing.T) {
	for where, what := range run(t, job{Scenario: "rounds"}, options{noNamespaces: true}).Results {
		t.Errorf("%s: %s", where, what)
	}
}

func TestFailureOnOneThreadIsReported(t *testing.T) {
	if !withCgo() {
		t.Skip("syscall.AllThreadsSyscall ends the process if the results of threads differ")
	}
	run(t, job{Scenario: "one thread fails"}, options{noNamespaces: true})
}

func TestThreadsThatCannotBeCountedAreNotWaitedFor(t *testing.T) {
	if err := signalThreads(-1, unix.SYS_GETPID, 0, 0, 0); !errors.Is(err, unix.EBADF) {
		t.Errorf("without a descriptor of the threads: got %v", err)
	}
}
