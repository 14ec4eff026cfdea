//go:build amd64 || arm64

package confine

import (
	"golang.org/x/sys/unix"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/dirtypages"
)

// allowedCalls are allowed with any arguments.
var allowedCalls = [...]uint32{
	// Go runtime: scheduler and signals.
	unix.SYS_FUTEX, unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP,
	unix.SYS_RESTART_SYSCALL, unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN,
	unix.SYS_SIGALTSTACK, unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
	// Go runtime: memory.
	unix.SYS_MUNMAP, unix.SYS_MPROTECT, unix.SYS_MADVISE, unix.SYS_MINCORE,
	// Go runtime: network poller. It starts with the first descriptor that can be polled.
	unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2,
	// glibc, in programs that use cgo: if the first thread has registered an rseq area, and a later thread cannot, glibc
	// aborts the process.
	unix.SYS_RSEQ,
	// Information about this process, and the time: harmless.
	unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_GETRES, unix.SYS_GETTIMEOFDAY, unix.SYS_GETRANDOM, unix.SYS_GETRUSAGE,
	unix.SYS_GETPPID, unix.SYS_GETUID, unix.SYS_GETEUID, unix.SYS_GETGID, unix.SYS_GETEGID,
	// Inherited sockets and pipes.
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_READV, unix.SYS_WRITEV, unix.SYS_CLOSE, unix.SYS_SHUTDOWN,
	unix.SYS_SENDTO, unix.SYS_RECVFROM, unix.SYS_SENDMSG, unix.SYS_RECVMSG,
	unix.SYS_GETSOCKOPT, unix.SYS_GETSOCKNAME, unix.SYS_GETPEERNAME,
	// Files, which Landlock and the handles restrict.
	unix.SYS_OPENAT, unix.SYS_OPENAT2, unix.SYS_FSTAT, unix.SYS_FSTATFS, unix.SYS_STATX, unix.SYS_LSEEK, unix.SYS_GETDENTS64,
	unix.SYS_PREAD64, unix.SYS_PWRITE64, unix.SYS_READLINKAT, unix.SYS_MKDIRAT, unix.SYS_UNLINKAT,
	unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_LINKAT, unix.SYS_SYMLINKAT, unix.SYS_FTRUNCATE,
	unix.SYS_FALLOCATE, unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_FLOCK, unix.SYS_FADVISE64,
}

// unknownCalls get ENOSYS, after which Go or a libc uses an older call.
var unknownCalls = [...]uint32{
	unix.SYS_CLONE3, unix.SYS_SENDFILE, unix.SYS_SPLICE, unix.SYS_COPY_FILE_RANGE,
}

// rules returns the calls that are allowed with conditions. Several rules for one call are alternatives. The package
// comment gives the reasons.
func rules(pid uint32) []rule {
	const (
		namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
			unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWTIME
		thread = unix.CLONE_THREAD | unix.CLONE_VM
		shared = unix.MAP_SHARED // also set in MAP_SHARED_VALIDATE, and in no other type of mapping
	)
	all := []rule{
		{unix.SYS_CLONE, []condition{low(0, thread|namespaces, thread)}},
		{unix.SYS_TGKILL, []condition{low(0, every, pid)}},
		{unix.SYS_KILL, []condition{low(0, every, pid)}},
		{unix.SYS_MMAP, []condition{low(3, shared|unix.MAP_GROWSDOWN, 0)}},
		{unix.SYS_FCHMOD, []condition{low(1, unix.S_ISUID|unix.S_ISGID|unix.S_ISVTX, 0)}},
		{unix.SYS_UTIMENSAT, null(1)},
		{unix.SYS_PRCTL, []condition{low(0, every, unix.PR_SET_VMA)}},
		{unix.SYS_PRLIMIT64, append(null(2), low(0, every, 0))},
	}
	for _, command := range []uint32{unix.F_GETFD, unix.F_SETFD, unix.F_GETFL, unix.F_SETFL, unix.F_DUPFD_CLOEXEC} {
		all = append(all, rule{unix.SYS_FCNTL, []condition{low(1, every, command)}})
	}
	for _, request := range []uint32{dirtypages.RequestRegister, dirtypages.RequestProtect, dirtypages.RequestScan} {
		all = append(all, rule{unix.SYS_IOCTL, []condition{low(1, every, request)}})
	}
	return all
}
