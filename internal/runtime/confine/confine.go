// Package confine restricts a process that will read untrusted input: the worker that runs a module and the
// compiler that translates one. Both are this same executable, started by the host.
//
// The host calls Prepare on the command before it starts the process. The process calls Apply after it has read its
// trusted configuration and opened what it needs, and before it reads the first untrusted byte. Apply returns a Report:
// one Layer for each restriction, active or missing. A missing layer is not an error. Probe returns the Report that Apply
// would return, without restricting the caller.
//
// # Layers (Linux)
//
//   - namespaces (Prepare): user, mount, network, IPC and PID namespaces. The user and the group keep their
//     numbers, so files belong to the real user. Other owners appear as 65534 (the user nobody).
//   - parent_death: SIGKILL when the thread that started the process ends. A thread of the Go runtime ends
//     early only if a goroutine that is locked to it ends, so start the process from an unlocked goroutine.
//   - oom_score: the kernel ends this process before the host when memory is short.
//   - descriptors: inherited descriptors that Config.Keep does not list are closed. A descriptor without
//     FD_CLOEXEC counts as inherited, because Go sets the flag on all descriptors that it opens.
//   - threads: the threads of the process are limited, so that the host can start threads of its own: the kernel counts them by
//     user. Needs namespaces; Linux 5.14 and, if the user is root, Linux 6.14.
//   - no_new_privs: no program started later can gain rights. Landlock and seccomp require it.
//   - handles: each directory handle is replaced, under its number, by a clone of its mount. The parent of
//     a clone's root is the root itself, so ".." cannot leave a handle. Clones of read-only directories are
//     mounted read-only, which also stops changes of mode and times through descriptors. All of them have
//     nosuid, nodev and noexec. Needs CAP_SYS_ADMIN in the mount namespace, and Linux 5.12.
//   - root: Config.Root becomes the root directory. With handles active, nothing outside Config.Dirs and
//     Config.Root can be reached or seen, not even whether it exists. With root missing, Landlock hides the
//     contents only: existence, size, owner and times of any file remain visible (stat, O_PATH). With
//     handles missing, they remain visible through ".." of a handle, even after the change of root.
//   - capabilities: the effective, permitted, inheritable and ambient sets are emptied, and secure bits keep
//     execve from refilling them. A process of user 0 then accesses files as their owner, group or others
//     only.
//   - no_dump: no core dump, and no other process of the user may trace this one or read its memory.
//   - landlock: file contents and directory entries are reachable in Config.Dirs and Config.Root only, with
//     the access of each. ABI 1 (Linux 5.13) refuses each rename and link across directories with EXDEV;
//     from ABI 2 on, they are allowed. Landlock cannot exclude a path within a granted directory.
//   - landlock_network: bind and connect of TCP sockets are denied (ABI 4).
//   - landlock_scope: connections to abstract sockets of other processes, and signals to other processes, are
//     denied (ABI 6). Signals are denied only if the kernel still lets threads of one process signal each
//     other, which Go requires.
//   - limits: core dumps are disabled, and the limits in Config are set, and limits of what the kernel stores for the user: queued
//     signals, locked memory, message queues.
//   - seccomp: the allow list of system calls below.
//
// # Threads
//
// Landlock, no_new_privs, capabilities and parent_death belong to threads. A new thread inherits them from its creator,
// except parent_death. Apply sets them on every thread that exists: with syscall.AllThreadsSyscall, and in a program linked
// with cgo, where that function fails, with a signal handler. That is assembly code: C code in this package would make go link
// each program with the C linker, which takes longer.
//
// # Memory
//
// Config.Memory sets RLIMIT_DATA, not RLIMIT_AS: the Go runtime reserves more than 1 GiB of address space at
// start. RLIMIT_DATA counts private writable mappings, touched or not: about 75 MB for the empty worker,
// plus the stack of each thread with cgo (8 MiB by default), plus compiled code (counted while it is
// written), plus each linear memory that is mapped writable, plus the heap, which can grow to twice the size
// of the live objects. Reaching the limit ends the process with exit status 2.
//
// # System calls
//
// A call that is not listed fails with EPERM. A call of another architecture ends the process. A call of the
// x32 ABI fails with ENOSYS. clone3, sendfile, splice and copy_file_range fail with ENOSYS too, after which Go
// or a libc uses an older call. The lists are in syscalls_linux.go. These calls are allowed with conditions on
// their arguments:
//
//   - clone: threads only, which share memory, files and signal handlers. With an own table of files each thread could open
//     as many as RLIMIT_NOFILE.
//   - tgkill: this process only, and no real-time signals, which are queued. Go preempts goroutines with tgkill.
//   - futex: waiting and waking only.
//   - mmap: private anonymous memory that is not executable. Not with MAP_GROWSDOWN, since RLIMIT_DATA does not count the growth of
//     such a mapping, and not of a file, so that files change through write calls only, which clear set-user-ID bits.
//   - mprotect: executable memory cannot be written at the same time; wazero compiles to native code.
//   - madvise: not MADV_MERGEABLE, nor advice that the runtime does not use.
//   - clock_gettime, clock_getres, clock_nanosleep, sched_getaffinity: not of other processes.
//   - getrandom: not GRND_RANDOM.
//   - fchmod: without the set-user-ID, set-group-ID and sticky bits.
//   - utimensat: with a null path only, which changes an open file.
//   - renameat2: RENAME_NOREPLACE only. RENAME_WHITEOUT creates a device. linkat without flags.
//   - fcntl: descriptor flags, status flags without O_ASYNC, O_DIRECT and O_NOATIME, F_DUPFD_CLOEXEC.
//   - prctl: PR_SET_VMA only (the Go runtime names its mappings).
//   - arch_prctl (amd64): ARCH_SET_FS only (the Go runtime starts threads with it).
//   - prlimit64: reading limits of this process.
//   - ioctl: the requests of package dirtypages, on descriptors that the process opened before.
//
// Not listed, and so denied, are: everything by path that changes mode, owner, times or extended attributes
// (chmod, fchmodat, fchmodat2, the chown and setxattr families), socket, socketpair, connect, bind, listen
// and accept, all calls on sockets but read and write (sendmsg would put descriptors in flight, getsockopt give one of the host),
// execve, fork and vfork, kill, ptrace, process_vm_readv and process_vm_writev, pidfd_open,
// setns, unshare, chroot, chdir and mounts, io_uring, bpf, perf_event_open, keyctl, userfaultfd,
// memfd_create, other requests of ioctl, setrlimit, setpriority, mknodat, open_by_handle_at, and whatever makes the kernel store
// more for this user: epoll_create1 and epoll_ctl (the poller of the Go runtime exists before), eventfd2, pipe2, inotify, fanotify,
// timers, message queues, shared memory, semaphores, keys, and locks and leases of files (the host performs the locks of calls).
//
// seccomp cannot read strings or structures. So it cannot check paths, the flags of openat2 or the attributes
// of clone3.
package confine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/reexec"
)

// Names of layers, in the order of a Report.
const (
	LayerNamespaces   = "namespaces"
	LayerParentDeath  = "parent_death"
	LayerOOMScore     = "oom_score"
	LayerDescriptors  = "descriptors"
	LayerThreads      = "threads"
	LayerNoNewPrivs   = "no_new_privs"
	LayerHandles      = "handles"
	LayerRoot         = "root"
	LayerCapabilities = "capabilities"
	LayerNoDump       = "no_dump"
	LayerLandlock     = "landlock"
	LayerNetwork      = "landlock_network"
	LayerScope        = "landlock_scope"
	LayerLimits       = "limits"
	LayerSeccomp      = "seccomp"
)

// States of a Layer.
const (
	Active  = "active"
	Missing = "missing"
)

// Layer is one restriction and whether it is in force.
type Layer struct {
	Name   string `json:"name"`
	State  string `json:"state"`            // Active or Missing
	Reason string `json:"reason,omitempty"` // why the layer is missing, or what an active layer does not restrict
}

// Report lists every layer once.
type Report []Layer

// Active reports whether the named layer is active.
func (r Report) Active(name string) bool {
	for _, l := range r {
		if l.Name == name {
			return l.State == Active
		}
	}
	return false
}

// Missing returns the layers that are not in force.
func (r Report) Missing() []Layer {
	var missing []Layer
	for _, l := range r {
		if l.State != Active {
			missing = append(missing, l)
		}
	}
	return missing
}

// Unexpected returns the layers that are not in force although the system supports them. The cause may be temporary, such as a
// directory that was moved concurrently.
func (r Report) Unexpected() []Layer {
	return slices.DeleteFunc(r.Missing(), func(l Layer) bool { return !supported().Active(l.Name) })
}

var supported = sync.OnceValue(Probe)

// Check returns an error if the report is incomplete: a layer is missing that the system supports or, if all layers are required,
// any layer.
func (r Report) Check(required bool) error {
	if missing := r.Missing(); required && len(missing) > 0 {
		return fmt.Errorf(`confinement = "required" in [server], but this system lacks layers of confinement: %s`, Describe(missing))
	}
	if missing := r.Unexpected(); len(missing) > 0 {
		return transientError{fmt.Errorf("its process could not be confined: layers are missing that this system supports: %s", Describe(missing))}
	}
	return nil
}

// transientError is the error of a process that did not start, or not confined, and that may start later.
type transientError struct{ error }

func (e transientError) Unwrap() error { return e.error }

// IsTransient reports whether a process may start later. err is from Start or Report.Check.
func IsTransient(err error) bool {
	_, ok := errors.AsType[transientError](err)
	return ok || reexec.IsTransient(err)
}

// Describe returns the names of layers with their reasons.
func Describe(layers []Layer) string {
	var names []string
	for _, l := range layers {
		names = append(names, l.Name+" ("+l.Reason+")")
	}
	return strings.Join(names, ", ")
}

// Dir is an open directory that stays usable: its contents can be read and, if Write is set, changed.
type Dir struct {
	FD    int // opened with O_RDONLY or O_PATH; keeps its number
	Write bool
}

// Config defines what the process can still use after Apply. The zero value leaves no file accessible and sets no limit.
type Config struct {
	// Dirs are the directories below which files stay reachable. Apply may replace what their descriptors
	// refer to (see the layer "handles"), so open nothing beneath them before Apply.
	Dirs []Dir

	// Root becomes the root directory and the working directory if the system allows that. Otherwise its contents stay
	// reachable by their old path: see Report.Active(LayerRoot). If nil, the root directory is unchanged.
	Root *Dir

	// Keep lists inherited descriptors that stay open, besides 0, 1, 2, Dirs and Root. Nil: all stay open.
	Keep []int

	Memory       uint64        // RLIMIT_DATA in bytes; reaching it ends the process with exit status 2; 0: not set
	AddressSpace uint64        // RLIMIT_AS on Linux, in bytes beyond what the process has mapped before Apply; 0: not set
	Threads      uint64        // maximum of threads on Linux; reaching it ends the process with exit status 2; 0: not set
	OpenFiles    uint64        // RLIMIT_NOFILE; 0: not set
	FileSize     uint64        // RLIMIT_FSIZE in bytes; writes beyond it fail with EFBIG; 0: not set
	CPU          time.Duration // RLIMIT_CPU of the whole process, rounded up to seconds; reaching it sends SIGKILL; 0: not set

	off map[string]bool // layers that tests leave out
}

// missingError is the reason why a layer is not in force.
type missingError string

func (e missingError) Error() string { return string(e) }

// application collects the report of one Apply.
type application struct {
	Config
	threads threads
	report  Report
	err     error
}

// layer applies one layer and records the outcome. Once a layer has failed, it does nothing.
func (a *application) layer(name string, apply func() error) {
	if a.err != nil {
		return
	}
	err := error(missingError("switched off"))
	if !a.off[name] {
		err = apply()
	}
	a.record(name, "", err)
}

func (a *application) record(name, note string, err error) {
	if reason, missing := err.(missingError); missing {
		a.report = append(a.report, Layer{name, Missing, string(reason)})
	} else if err != nil {
		a.err = fmt.Errorf("confinement: %s: %w", name, err)
	} else {
		a.report = append(a.report, Layer{name, Active, note})
	}
}
