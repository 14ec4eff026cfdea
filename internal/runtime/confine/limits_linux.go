package confine

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// queuedSignals is the limit of signals that wait to be received. The Go runtime needs none: a signal that cannot be queued is
// delivered without its information, except for real-time signals.
const queuedSignals = 256

// kernelLimits returns the limits of what the kernel stores for a process beyond its memory, most of which it counts by user, and of
// the address space. That one bounds what RLIMIT_DATA does not count: page tables, and pages that were written before mprotect made
// them read-only. used is the size of the present address space.
func kernelLimits(c Config, used uint64) []limit {
	return []limit{
		{"RLIMIT_SIGPENDING", unix.RLIMIT_SIGPENDING, queuedSignals, true},
		{"RLIMIT_MEMLOCK", unix.RLIMIT_MEMLOCK, 0, true},
		{"RLIMIT_MSGQUEUE", unix.RLIMIT_MSGQUEUE, 0, true},
		{"RLIMIT_AS", unix.RLIMIT_AS, used + c.AddressSpace, used > 0 && c.AddressSpace > 0},
	}
}

// addressSpace returns the size of the address space of this process in bytes.
func addressSpace() (uint64, error) {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, missingError("the address space cannot be measured: " + err.Error())
	}
	first, _, _ := bytes.Cut(statm, []byte(" "))
	pages, err := strconv.ParseUint(string(first), 10, 48)
	if err != nil {
		return 0, fmt.Errorf("/proc/self/statm: %w", err)
	}
	return pages * uint64(os.Getpagesize()), nil
}

// limitThreads limits the threads of this process. The kernel limits threads by user, not by process. So the limit takes effect
// in namespaces only: a user namespace counts its own threads since Linux 5.14, but not those of the superuser; a PID namespace
// has a highest ID of its own since Linux 6.14.
func (a *application) limitThreads() error {
	switch {
	case a.Threads == 0:
		return missingError("no limit is given")
	case os.Getpid() != 1:
		return missingError(noThreadLimit)
	}
	byUser, byID, err := threadCounters(kernelRelease(), os.Geteuid() == 0, inOwnUserNamespace())
	if byUser {
		if err := lowerLimit(unix.RLIMIT_NPROC, a.Threads); err != nil {
			return fmt.Errorf("RLIMIT_NPROC: %w", err)
		}
	}
	if byID { // else the file would set the highest ID of the whole system
		err = withoutHighestPID(os.Geteuid() == 0, os.WriteFile(highestPID, []byte(strconv.FormatUint(threadMargin+a.Threads, 10)), 0))
	}
	return err
}

// withoutHighestPID returns the error of a process whose highest ID cannot be set for the reason err.
func withoutHighestPID(superuser bool, err error) error {
	if err == nil || !superuser {
		return nil
	}
	return missingError("the superuser is limited by the highest process ID only: " + err.Error())
}

// threadCounters returns how a kernel limits the threads of a process in a PID namespace of its own: by its user, and by the highest ID of
// the namespace. The error says that neither applies.
func threadCounters(release string, superuser, ownUsers bool) (byUser, byID bool, err error) {
	byUser, byID = ownUsers && isAtLeast(release, 5, 14), isAtLeast(release, 6, 14)
	switch {
	case byID:
	case superuser:
		err = missingError(superuserThreads)
	case !byUser:
		err = missingError(oldThreadLimit)
	}
	return byUser, byID, err
}

// highestPID is the file of the highest process ID, which belongs to the PID namespace since Linux 6.14.
const highestPID = "/proc/sys/kernel/pid_max"

const (
	noThreadLimit    = "without namespaces of its own, a limit would count the threads of all processes of the user"
	superuserThreads = "the kernel limits threads of the superuser since Linux 6.14 only"
	oldThreadLimit   = "the kernel counts threads by user namespace since Linux 5.14 only"
)

// probeThreads returns the error that limitThreads would return.
func probeThreads(namespaces error) error {
	if namespaces != nil {
		return missingError(noThreadLimit)
	}
	superuser := os.Geteuid() == 0
	_, byID, err := threadCounters(kernelRelease(), superuser, true)
	if byID {
		err = withoutHighestPID(superuser, accessible(highestPID))
	}
	return err
}

// inOwnUserNamespace reports whether this process is in the user namespace that Prepare requests, which has a single user.
func inOwnUserNamespace() bool {
	users, _ := os.ReadFile("/proc/self/uid_map") // empty without user namespaces
	return hasSingleUser(users)
}

func hasSingleUser(uidMap []byte) bool {
	fields := bytes.Fields(uidMap)
	return len(fields) == 3 && string(fields[2]) == "1"
}

// kernelRelease returns the release of the kernel, such as "6.14.0-29-generic"; empty if it is unknown.
func kernelRelease() string {
	var name unix.Utsname
	_ = unix.Uname(&name) // sets nothing if it fails
	return unix.ByteSliceToString(name.Release[:])
}

// isAtLeast compares a release of the kernel with a version. A number that cannot be parsed is 0.
func isAtLeast(release string, major, minor int) bool {
	var x, y int
	_, _ = fmt.Sscanf(release, "%d.%d", &x, &y)
	return x > major || x == major && y >= minor
}
