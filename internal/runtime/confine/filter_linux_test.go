//go:build amd64 || arm64

package confine

import (
	"encoding/binary"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/dirtypages"
)

const (
	testPID = 4711
	allowed = unix.SECCOMP_RET_ALLOW
	denied  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	unknown = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	killed  = unix.SECCOMP_RET_KILL_PROCESS
)

type args = [6]uint64

func TestFilter(t *testing.T) {
	vm, err := bpf.NewVM(filter(testPID))
	must(t, err)
	const goThread = unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SIGHAND | unix.CLONE_SYSVSEM | unix.CLONE_THREAD
	for _, test := range []struct {
		name string
		arch uint32
		call uint32
		args args
		want uint32
	}{
		{"read", auditArch, unix.SYS_READ, args{}, allowed},
		{"last allowed", auditArch, allowedHere[len(allowedHere)-1], args{}, allowed},
		{"32-bit x86", unix.AUDIT_ARCH_I386, unix.SYS_READ, args{}, killed},
		{"big-endian arm64", unix.AUDIT_ARCH_ARMEB, unix.SYS_READ, args{}, killed},
		{"x32 read", auditArch, x32 | unix.SYS_READ, args{}, unknown},
		{"unassigned number", auditArch, 1000, args{}, denied},
		{"negative number", auditArch, 0xffffffff, args{}, unknown},
		{"thread of Go", auditArch, unix.SYS_CLONE, args{goThread}, allowed},
		{"fork", auditArch, unix.SYS_CLONE, args{uint64(unix.SIGCHLD)}, denied},
		{"vfork", auditArch, unix.SYS_CLONE, args{unix.CLONE_VM | unix.CLONE_VFORK}, denied},
		{"thread in a new user namespace", auditArch, unix.SYS_CLONE, args{goThread | unix.CLONE_NEWUSER}, denied},
		{"thread in a new time namespace", auditArch, unix.SYS_CLONE, args{goThread | unix.CLONE_NEWTIME}, denied},
		{"clone3", auditArch, unix.SYS_CLONE3, args{}, unknown},
		{"tgkill to itself", auditArch, unix.SYS_TGKILL, args{testPID, 5, 6}, allowed},
		{"tgkill to another", auditArch, unix.SYS_TGKILL, args{testPID + 1}, denied},
		{"tgkill with a real-time signal", auditArch, unix.SYS_TGKILL, args{testPID, 5, 32}, denied},
		{"last standard signal", auditArch, unix.SYS_TGKILL, args{testPID, 5, 31}, allowed},
		{"kill itself", auditArch, unix.SYS_KILL, args{testPID}, denied},
		{"kill the group", auditArch, unix.SYS_KILL, args{0}, denied},
		{"kill everything", auditArch, unix.SYS_KILL, args{1<<64 - 1}, denied},
		{"kill the own group by number", auditArch, unix.SYS_KILL, args{1<<64 - testPID}, denied},
		{"tkill", auditArch, unix.SYS_TKILL, args{testPID}, denied},
		{"thread of glibc", auditArch, unix.SYS_CLONE, args{goThread | unix.CLONE_SETTLS | unix.CLONE_PARENT_SETTID | unix.CLONE_CHILD_CLEARTID}, allowed},
		{"thread with its own files", auditArch, unix.SYS_CLONE, args{goThread &^ unix.CLONE_FILES}, denied},
		{"thread with a descriptor", auditArch, unix.SYS_CLONE, args{goThread | unix.CLONE_PIDFD}, denied},
		{"thread of its own process", auditArch, unix.SYS_CLONE, args{goThread | unix.CLONE_PARENT}, denied},
		{"thread that is not traced", auditArch, unix.SYS_CLONE, args{goThread | unix.CLONE_UNTRACED}, denied},
		{"waiting", auditArch, unix.SYS_FUTEX, args{1: 128}, allowed},
		{"waking", auditArch, unix.SYS_FUTEX, args{1: 1 | 128}, allowed},
		{"waiting until a time", auditArch, unix.SYS_FUTEX, args{1: 9 | 128 | 256}, allowed},
		{"lock with priority inheritance", auditArch, unix.SYS_FUTEX, args{1: 6}, denied},
		{"requeue", auditArch, unix.SYS_FUTEX, args{1: 3 | 128}, denied},
		{"wake and change", auditArch, unix.SYS_FUTEX, args{1: 5 | 128}, denied},
		{"private mapping", auditArch, unix.SYS_MMAP, args{3: unix.MAP_PRIVATE | unix.MAP_ANON}, allowed},
		{"reservation of Go", auditArch, unix.SYS_MMAP, args{3: unix.MAP_PRIVATE | unix.MAP_ANON | unix.MAP_FIXED | unix.MAP_NORESERVE}, allowed},
		{"memory of vgetrandom", auditArch, unix.SYS_MMAP, args{2: 3, 3: unix.MAP_DROPPABLE | unix.MAP_ANON}, allowed},
		{"mapping of a file", auditArch, unix.SYS_MMAP, args{3: unix.MAP_PRIVATE}, denied},
		{"executable mapping", auditArch, unix.SYS_MMAP, args{2: unix.PROT_EXEC, 3: unix.MAP_PRIVATE | unix.MAP_ANON}, denied},
		{"locked mapping", auditArch, unix.SYS_MMAP, args{3: unix.MAP_PRIVATE | unix.MAP_ANON | unix.MAP_LOCKED}, denied},
		{"huge pages", auditArch, unix.SYS_MMAP, args{3: unix.MAP_PRIVATE | unix.MAP_ANON | unix.MAP_HUGETLB}, denied},
		{"making memory executable", auditArch, unix.SYS_MPROTECT, args{2: unix.PROT_READ | unix.PROT_EXEC}, allowed},
		{"making memory writable", auditArch, unix.SYS_MPROTECT, args{2: unix.PROT_READ | unix.PROT_WRITE}, allowed},
		{"making memory inaccessible", auditArch, unix.SYS_MPROTECT, args{2: 0}, allowed},
		{"writable and executable", auditArch, unix.SYS_MPROTECT, args{2: 7}, denied},
		{"protecting a stack", auditArch, unix.SYS_MPROTECT, args{2: unix.PROT_GROWSDOWN}, denied},
		{"returning memory", auditArch, unix.SYS_MADVISE, args{2: unix.MADV_DONTNEED}, allowed},
		{"allocating memory", auditArch, unix.SYS_MADVISE, args{2: 23}, allowed},
		{"merging memory", auditArch, unix.SYS_MADVISE, args{2: unix.MADV_MERGEABLE}, denied},
		{"paging memory out", auditArch, unix.SYS_MADVISE, args{2: unix.MADV_PAGEOUT}, denied},
		{"poisoning memory", auditArch, unix.SYS_MADVISE, args{2: unix.MADV_HWPOISON}, denied},
		{"monotonic clock", auditArch, unix.SYS_CLOCK_GETTIME, args{unix.CLOCK_MONOTONIC}, allowed},
		{"clock of another process", auditArch, unix.SYS_CLOCK_GETTIME, args{0xfffffffffffffff2}, denied},
		{"sleeping by the clock of another process", auditArch, unix.SYS_CLOCK_NANOSLEEP, args{0xfffffff2}, denied},
		{"resolution of the clock of another process", auditArch, unix.SYS_CLOCK_GETRES, args{0xfffffff2}, denied},
		{"waking the machine", auditArch, unix.SYS_CLOCK_NANOSLEEP, args{unix.CLOCK_BOOTTIME_ALARM}, denied},
		{"own processors", auditArch, unix.SYS_SCHED_GETAFFINITY, args{0, 8, 0x1000}, allowed},
		{"processors of another process", auditArch, unix.SYS_SCHED_GETAFFINITY, args{7, 8, 0x1000}, denied},
		{"random bytes", auditArch, unix.SYS_GETRANDOM, args{0x1000, 8}, allowed},
		{"random bytes of the blocking pool", auditArch, unix.SYS_GETRANDOM, args{0x1000, 8, unix.GRND_RANDOM}, denied},
		{"shared mapping", auditArch, unix.SYS_MMAP, args{3: unix.MAP_SHARED}, denied},
		{"mapping that grows like a stack, which RLIMIT_DATA does not count", auditArch, unix.SYS_MMAP, args{3: unix.MAP_PRIVATE | unix.MAP_ANON | unix.MAP_GROWSDOWN}, denied},
		{"validated shared mapping", auditArch, unix.SYS_MMAP, args{3: unix.MAP_SHARED_VALIDATE}, denied},
		{"mode bits", auditArch, unix.SYS_FCHMOD, args{1: 0o777}, allowed},
		{"set-user-ID", auditArch, unix.SYS_FCHMOD, args{1: 0o4755}, denied},
		{"set-group-ID", auditArch, unix.SYS_FCHMOD, args{1: 0o2755}, denied},
		{"times of an open file", auditArch, unix.SYS_UTIMENSAT, args{3, 0}, allowed},
		{"times by path", auditArch, unix.SYS_UTIMENSAT, args{3, 0x1000}, denied},
		{"times by path above 4 GiB", auditArch, unix.SYS_UTIMENSAT, args{3, 0xc000000000}, denied},
		{"naming a mapping", auditArch, unix.SYS_PRCTL, args{unix.PR_SET_VMA}, allowed},
		{"times of an open file by flags", auditArch, unix.SYS_UTIMENSAT, args{3, 0, 0, unix.AT_EMPTY_PATH}, denied},
		{"rename", auditArch, unix.SYS_RENAMEAT2, args{3, 0x1000, 3, 0x1000, 0}, allowed},
		{"rename to a new name", auditArch, unix.SYS_RENAMEAT2, args{3, 0x1000, 3, 0x1000, unix.RENAME_NOREPLACE}, allowed},
		{"rename that leaves a device", auditArch, unix.SYS_RENAMEAT2, args{3, 0x1000, 3, 0x1000, unix.RENAME_WHITEOUT}, denied},
		{"exchange of two files", auditArch, unix.SYS_RENAMEAT2, args{3, 0x1000, 3, 0x1000, unix.RENAME_EXCHANGE}, denied},
		{"hard link", auditArch, unix.SYS_LINKAT, args{3, 0x1000, 3, 0x1000, 0}, allowed},
		{"hard link to a descriptor", auditArch, unix.SYS_LINKAT, args{3, 0x1000, 3, 0x1000, unix.AT_EMPTY_PATH}, denied},
		{"hard link through a symbolic link", auditArch, unix.SYS_LINKAT, args{3, 0x1000, 3, 0x1000, unix.AT_SYMLINK_FOLLOW}, denied},
		{"removing a directory", auditArch, unix.SYS_UNLINKAT, args{3, 0x1000, unix.AT_REMOVEDIR}, allowed},
		{"naming something else", auditArch, unix.SYS_PRCTL, args{unix.PR_SET_VMA, 1}, denied},
		{"becoming dumpable", auditArch, unix.SYS_PRCTL, args{unix.PR_SET_DUMPABLE, 1}, denied},
		{"scanning pages", auditArch, unix.SYS_IOCTL, args{5, dirtypages.RequestScan}, allowed},
		{"protecting pages", auditArch, unix.SYS_IOCTL, args{5, dirtypages.RequestProtect}, allowed},
		{"input to a terminal", auditArch, unix.SYS_IOCTL, args{0, unix.TIOCSTI}, denied},
		{"reading a limit", auditArch, unix.SYS_PRLIMIT64, args{0, 7, 0, 0x1000}, allowed},
		{"setting a limit", auditArch, unix.SYS_PRLIMIT64, args{0, 7, 0xc000000000}, denied},
		{"reading another's limit", auditArch, unix.SYS_PRLIMIT64, args{1, 7, 0, 0x1000}, denied},
		{"F_GETFL", auditArch, unix.SYS_FCNTL, args{3, unix.F_GETFL}, allowed},
		{"F_DUPFD_CLOEXEC", auditArch, unix.SYS_FCNTL, args{3, unix.F_DUPFD_CLOEXEC}, allowed},
		{"keeping a descriptor from programs", auditArch, unix.SYS_FCNTL, args{3, unix.F_SETFD, unix.FD_CLOEXEC}, allowed},
		{"appending", auditArch, unix.SYS_FCNTL, args{3, unix.F_SETFL, unix.O_RDWR | unix.O_APPEND | unix.O_NONBLOCK | unix.O_SYNC}, allowed},
		{"O_ASYNC", auditArch, unix.SYS_FCNTL, args{3, unix.F_SETFL, unix.O_ASYNC}, denied},
		{"O_DIRECT", auditArch, unix.SYS_FCNTL, args{3, unix.F_SETFL, unix.O_DIRECT}, denied},
		{"O_NOATIME", auditArch, unix.SYS_FCNTL, args{3, unix.F_SETFL, unix.O_NOATIME}, denied},
		{"F_SETLEASE", auditArch, unix.SYS_FCNTL, args{3, unix.F_SETLEASE}, denied},
		{"F_SETLK", auditArch, unix.SYS_FCNTL, args{3, unix.F_SETLK}, denied},
		{"F_OFD_SETLK", auditArch, unix.SYS_FCNTL, args{3, unix.F_OFD_SETLK}, denied},
		{"F_SETSIG", auditArch, unix.SYS_FCNTL, args{3, 10}, denied},
		{"F_SETPIPE_SZ", auditArch, unix.SYS_FCNTL, args{3, unix.F_SETPIPE_SZ}, denied},
		{"F_ADD_SEALS", auditArch, unix.SYS_FCNTL, args{3, unix.F_ADD_SEALS}, denied},
		{"F_DUPFD without FD_CLOEXEC", auditArch, unix.SYS_FCNTL, args{3, unix.F_DUPFD}, denied},
		{"F_SETOWN", auditArch, unix.SYS_FCNTL, args{3, unix.F_SETOWN}, denied},
		{"F_NOTIFY", auditArch, unix.SYS_FCNTL, args{3, unix.F_NOTIFY}, denied},
	} {
		if got := decide(t, vm, test.arch, test.call, test.args); got != test.want {
			t.Errorf("%s: %#x, want %#x", test.name, got, test.want)
		}
	}
}

func TestFilterDenies(t *testing.T) {
	vm, err := bpf.NewVM(filter(testPID))
	must(t, err)
	for name, call := range map[string]uint32{
		"socket": unix.SYS_SOCKET, "socketpair": unix.SYS_SOCKETPAIR, "connect": unix.SYS_CONNECT, "bind": unix.SYS_BIND,
		"sendto": unix.SYS_SENDTO, "sendmsg": unix.SYS_SENDMSG, "sendmmsg": unix.SYS_SENDMMSG, "recvfrom": unix.SYS_RECVFROM,
		"recvmsg": unix.SYS_RECVMSG, "recvmmsg": unix.SYS_RECVMMSG, "getsockopt": unix.SYS_GETSOCKOPT,
		"getsockname": unix.SYS_GETSOCKNAME, "getpeername": unix.SYS_GETPEERNAME, "shutdown": unix.SYS_SHUTDOWN,
		"epoll_create1": unix.SYS_EPOLL_CREATE1, "epoll_ctl": unix.SYS_EPOLL_CTL, "eventfd2": unix.SYS_EVENTFD2,
		"timerfd_create": unix.SYS_TIMERFD_CREATE, "signalfd4": unix.SYS_SIGNALFD4, "inotify_add_watch": unix.SYS_INOTIFY_ADD_WATCH,
		"fanotify_mark": unix.SYS_FANOTIFY_MARK, "kill": unix.SYS_KILL, "tkill": unix.SYS_TKILL, "rt_sigtimedwait": unix.SYS_RT_SIGTIMEDWAIT,
		"flock": unix.SYS_FLOCK, "fallocate": unix.SYS_FALLOCATE, "fadvise64": unix.SYS_FADVISE64, "mincore": unix.SYS_MINCORE, "mlock": unix.SYS_MLOCK,
		"mlock2": unix.SYS_MLOCK2, "mlockall": unix.SYS_MLOCKALL, "mremap": unix.SYS_MREMAP, "msync": unix.SYS_MSYNC, "mbind": unix.SYS_MBIND,
		"pkey_alloc": unix.SYS_PKEY_ALLOC, "request_key": unix.SYS_REQUEST_KEY, "get_robust_list": unix.SYS_GET_ROBUST_LIST,
		"kcmp": unix.SYS_KCMP, "getpgid": unix.SYS_GETPGID, "getsid": unix.SYS_GETSID, "getpriority": unix.SYS_GETPRIORITY,
		"ioprio_get": unix.SYS_IOPRIO_GET, "ioprio_set": unix.SYS_IOPRIO_SET, "sched_getscheduler": unix.SYS_SCHED_GETSCHEDULER,
		"sched_getattr": unix.SYS_SCHED_GETATTR, "vmsplice": unix.SYS_VMSPLICE, "tee": unix.SYS_TEE, "close_range": unix.SYS_CLOSE_RANGE,
		"membarrier": unix.SYS_MEMBARRIER, "setsid": unix.SYS_SETSID, "setpgid": unix.SYS_SETPGID, "statfs": unix.SYS_STATFS,
		"listen": unix.SYS_LISTEN, "accept": unix.SYS_ACCEPT, "accept4": unix.SYS_ACCEPT4, "setsockopt": unix.SYS_SETSOCKOPT,
		"execve": unix.SYS_EXECVE, "execveat": unix.SYS_EXECVEAT, "ptrace": unix.SYS_PTRACE, "seccomp": unix.SYS_SECCOMP,
		"process_vm_readv": unix.SYS_PROCESS_VM_READV, "process_vm_writev": unix.SYS_PROCESS_VM_WRITEV,
		"process_madvise": unix.SYS_PROCESS_MADVISE, "pidfd_open": unix.SYS_PIDFD_OPEN, "pidfd_getfd": unix.SYS_PIDFD_GETFD,
		"pidfd_send_signal": unix.SYS_PIDFD_SEND_SIGNAL, "rt_sigqueueinfo": unix.SYS_RT_SIGQUEUEINFO,
		"rt_tgsigqueueinfo": unix.SYS_RT_TGSIGQUEUEINFO, "setns": unix.SYS_SETNS, "unshare": unix.SYS_UNSHARE,
		"chroot": unix.SYS_CHROOT, "chdir": unix.SYS_CHDIR, "fchdir": unix.SYS_FCHDIR, "pivot_root": unix.SYS_PIVOT_ROOT,
		"mount": unix.SYS_MOUNT, "umount2": unix.SYS_UMOUNT2, "open_tree": unix.SYS_OPEN_TREE, "move_mount": unix.SYS_MOVE_MOUNT,
		"fsopen": unix.SYS_FSOPEN, "mount_setattr": unix.SYS_MOUNT_SETATTR, "io_uring_setup": unix.SYS_IO_URING_SETUP,
		"io_uring_enter": unix.SYS_IO_URING_ENTER, "io_setup": unix.SYS_IO_SETUP, "bpf": unix.SYS_BPF,
		"perf_event_open": unix.SYS_PERF_EVENT_OPEN, "keyctl": unix.SYS_KEYCTL, "add_key": unix.SYS_ADD_KEY,
		"userfaultfd": unix.SYS_USERFAULTFD, "memfd_create": unix.SYS_MEMFD_CREATE, "memfd_secret": unix.SYS_MEMFD_SECRET,
		"ioctl": unix.SYS_IOCTL, "setrlimit": unix.SYS_SETRLIMIT, "setpriority": unix.SYS_SETPRIORITY,
		"sched_setattr": unix.SYS_SCHED_SETATTR, "sched_setaffinity": unix.SYS_SCHED_SETAFFINITY, "mknodat": unix.SYS_MKNODAT,
		"fchmodat": unix.SYS_FCHMODAT, "fchmodat2": unix.SYS_FCHMODAT2, "fchown": unix.SYS_FCHOWN, "fchownat": unix.SYS_FCHOWNAT,
		"setxattr": unix.SYS_SETXATTR, "lsetxattr": unix.SYS_LSETXATTR, "fsetxattr": unix.SYS_FSETXATTR,
		"removexattr": unix.SYS_REMOVEXATTR, "fremovexattr": unix.SYS_FREMOVEXATTR, "setuid": unix.SYS_SETUID,
		"capset": unix.SYS_CAPSET, "open_by_handle_at": unix.SYS_OPEN_BY_HANDLE_AT, "name_to_handle_at": unix.SYS_NAME_TO_HANDLE_AT,
		"inotify_init1": unix.SYS_INOTIFY_INIT1, "fanotify_init": unix.SYS_FANOTIFY_INIT, "syslog": unix.SYS_SYSLOG,
		"init_module": unix.SYS_INIT_MODULE, "finit_module": unix.SYS_FINIT_MODULE, "kexec_load": unix.SYS_KEXEC_LOAD,
		"shmget": unix.SYS_SHMGET, "msgget": unix.SYS_MSGGET, "semget": unix.SYS_SEMGET, "mq_open": unix.SYS_MQ_OPEN,
		"timer_create": unix.SYS_TIMER_CREATE, "setitimer": unix.SYS_SETITIMER, "personality": unix.SYS_PERSONALITY,
		"quotactl": unix.SYS_QUOTACTL, "truncate": unix.SYS_TRUNCATE, "dup3": unix.SYS_DUP3, "pipe2": unix.SYS_PIPE2,
		"landlock_restrict_self": unix.SYS_LANDLOCK_RESTRICT_SELF, "remap_file_pages": unix.SYS_REMAP_FILE_PAGES,
	} {
		// Arguments that satisfy the conditions of other calls must not help.
		for _, a := range []args{{}, {testPID, 0, 0, unix.MAP_PRIVATE | unix.MAP_ANON}, {unix.CLONE_THREAD | unix.CLONE_VM, unix.F_GETFL}} {
			if got := decide(t, vm, auditArch, call, a); got != denied {
				t.Errorf("%s%v: %#x", name, a, got)
			}
		}
	}
}

// decide runs the filter. The VM reads big-endian words, and the kernel reads words in the byte order of the
// machine, which is little-endian. So each word is stored big-endian, and the words of an argument are in the
// kernel's order: the lower word is first.
func decide(t *testing.T, vm *bpf.VM, arch, call uint32, a args) uint32 {
	t.Helper()
	data := make([]byte, 64)
	binary.BigEndian.PutUint32(data[0:], call)
	binary.BigEndian.PutUint32(data[4:], arch)
	for i, value := range a {
		binary.BigEndian.PutUint32(data[16+8*i:], uint32(value))
		binary.BigEndian.PutUint32(data[20+8*i:], uint32(value>>32))
	}
	verdict, err := vm.Run(data)
	must(t, err)
	return uint32(verdict)
}
