//go:build amd64 || arm64

package confine

import (
	"golang.org/x/sys/unix"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/dirtypages"
)

// allowedCalls are allowed with any arguments: none of these selects another process, another object than those that the
// process has opened, or another operation.
var allowedCalls = [...]uint32{
	// Go runtime: scheduler and signals.
	unix.SYS_SCHED_YIELD, unix.SYS_NANOSLEEP, unix.SYS_RESTART_SYSCALL, unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK,
	unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK, unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
	// Go runtime: memory, and the network poller, which exists already.
	unix.SYS_MUNMAP, unix.SYS_EPOLL_PWAIT,
	// glibc, in programs that use cgo: if the first thread has registered an rseq area, and a later thread cannot, glibc
	// aborts the process.
	unix.SYS_RSEQ,
	// Information about this process, and the time: harmless.
	unix.SYS_GETTIMEOFDAY, unix.SYS_GETRUSAGE,
	unix.SYS_GETPPID, unix.SYS_GETUID, unix.SYS_GETEUID, unix.SYS_GETGID, unix.SYS_GETEGID,
	// The connection to the host, which is a socket, and pipes.
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_WRITEV, unix.SYS_CLOSE,
	// Files, which Landlock and the handles restrict. The flags of openat2 are in memory, out of reach of a filter, so those
	// of openat are not restricted either.
	unix.SYS_OPENAT, unix.SYS_OPENAT2, unix.SYS_FSTAT, unix.SYS_FSTATFS, unix.SYS_STATX, unix.SYS_LSEEK, unix.SYS_GETDENTS64,
	unix.SYS_PREAD64, unix.SYS_PWRITE64, unix.SYS_READLINKAT, unix.SYS_MKDIRAT, unix.SYS_RENAMEAT, unix.SYS_SYMLINKAT,
	unix.SYS_FTRUNCATE, unix.SYS_FSYNC, unix.SYS_FDATASYNC,
}

// unknownCalls get ENOSYS, after which Go or a libc uses an older call.
var unknownCalls = [...]uint32{
	unix.SYS_CLONE3, unix.SYS_SENDFILE, unix.SYS_SPLICE, unix.SYS_COPY_FILE_RANGE,
}

// Values of arguments that package unix lacks.
const (
	opWait, opWake             = 0, 1 // FUTEX_WAIT, FUTEX_WAKE
	opWaitBitset, opWakeBitset = 9, 10
	futexFlags                 = 128 | 256 // FUTEX_PRIVATE_FLAG, FUTEX_CLOCK_REALTIME
	cloneDetached              = 0x400000  // CLONE_DETACHED, which has no effect; musl sets it
	lastOwnClock               = 7         // CLOCK_BOOTTIME; negative numbers are clocks of other processes
	lastStandardSignal         = 31        // signals with higher numbers are queued
)

// rules returns the calls that are allowed with conditions. Several rules for one call are alternatives. Calls that the Go runtime
// makes often come first. The package comment gives the reasons.
func rules(pid uint32) []rule {
	const (
		thread    = unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_SYSVSEM | unix.CLONE_THREAD
		libc      = unix.CLONE_SETTLS | unix.CLONE_PARENT_SETTID | unix.CLONE_CHILD_SETTID | unix.CLONE_CHILD_CLEARTID | cloneDetached
		access    = unix.PROT_READ | unix.PROT_WRITE
		anonymous = unix.MAP_PRIVATE | unix.MAP_ANON
		placement = unix.MAP_FIXED | unix.MAP_FIXED_NOREPLACE | unix.MAP_NORESERVE | unix.MAP_STACK
	)
	var all []rule
	// oneOf allows a call if bits of an argument have one of the values.
	oneOf := func(call, arg, mask uint32, values ...uint32) {
		for _, value := range values {
			all = append(all, rule{call, []condition{low(arg, mask, value)}})
		}
	}
	oneOf(unix.SYS_FUTEX, 1, ^uint32(futexFlags), opWait, opWake, opWaitBitset, opWakeBitset)
	oneOf(unix.SYS_MADVISE, 2, every, unix.MADV_DONTNEED, unix.MADV_FREE, unix.MADV_HUGEPAGE, unix.MADV_NOHUGEPAGE,
		unix.MADV_POPULATE_WRITE, unix.MADV_COLLAPSE)
	oneOf(unix.SYS_FCNTL, 1, every, unix.F_GETFD, unix.F_GETFL, unix.F_DUPFD_CLOEXEC)
	oneOf(unix.SYS_IOCTL, 1, every, dirtypages.RequestRegister, dirtypages.RequestProtect, dirtypages.RequestScan)
	for _, call := range []uint32{unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_GETRES, unix.SYS_CLOCK_NANOSLEEP} {
		all = append(all, rule{call, []condition{flags(0, lastOwnClock)}})
	}
	return append(all, []rule{
		{unix.SYS_MPROTECT, []condition{flags(2, access)}},
		{unix.SYS_MPROTECT, []condition{low(2, every, unix.PROT_READ|unix.PROT_EXEC)}},
		{unix.SYS_MMAP, []condition{flags(2, access), low(3, ^uint32(placement), anonymous)}},
		{unix.SYS_MMAP, []condition{flags(2, access), low(3, every, unix.MAP_DROPPABLE|unix.MAP_ANON)}},
		{unix.SYS_CLONE, []condition{low(0, ^uint32(libc), thread)}},
		{unix.SYS_TGKILL, []condition{low(0, every, pid), flags(2, lastStandardSignal)}},
		{unix.SYS_SCHED_GETAFFINITY, []condition{low(0, every, 0)}},
		{unix.SYS_GETRANDOM, []condition{flags(2, unix.GRND_NONBLOCK)}},
		{unix.SYS_PRCTL, []condition{low(0, every, unix.PR_SET_VMA), low(1, every, unix.PR_SET_VMA_ANON_NAME)}},
		{unix.SYS_PRLIMIT64, append(null(2), low(0, every, 0))},
		{unix.SYS_FCNTL, []condition{low(1, every, unix.F_SETFD), flags(2, unix.FD_CLOEXEC)}},
		{unix.SYS_FCNTL, []condition{low(1, every, unix.F_SETFL), low(2, unix.O_ASYNC|unix.O_DIRECT|unix.O_NOATIME, 0)}},
		{unix.SYS_FCHMOD, []condition{low(1, unix.S_ISUID|unix.S_ISGID|unix.S_ISVTX, 0)}},
		{unix.SYS_UTIMENSAT, append(null(1), low(3, every, 0))},
		{unix.SYS_UNLINKAT, []condition{flags(2, unix.AT_REMOVEDIR)}},
		{unix.SYS_LINKAT, []condition{low(4, every, 0)}},
		{unix.SYS_RENAMEAT2, []condition{flags(4, unix.RENAME_NOREPLACE)}},
	}...)
}
