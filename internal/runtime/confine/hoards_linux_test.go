package confine

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// hoards are attempts to make the kernel store something that it counts by user or by namespace, or does not count at all. The host
// has the same user, so a process without limits could use up what the host needs.
var hoards = []attack{
	{"create an epoll instance", func(job) error { return descriptor(unix.EpollCreate1(unix.EPOLL_CLOEXEC)) }, []string{LayerSeccomp}, nil},
	{"watch a socket with epoll", func(job) error {
		// The network poller of the Go runtime exists: find its descriptor, since a process that was taken over could use it.
		event := unix.EpollEvent{Events: unix.EPOLLIN}
		for fd := 3; fd < 64; fd++ {
			err := unix.EpollCtl(fd, unix.EPOLL_CTL_ADD, socketFD, &event)
			if err == nil {
				return unix.EpollCtl(fd, unix.EPOLL_CTL_DEL, socketFD, nil)
			}
			if err != unix.EBADF && err != unix.EINVAL {
				return err
			}
		}
		return errors.New("found no epoll instance")
	}, []string{LayerSeccomp}, nil},
	{"create an eventfd", func(job) error { return descriptor(unix.Eventfd(0, unix.EFD_CLOEXEC)) }, []string{LayerSeccomp}, nil},
	{"create a pipe", func(job) error {
		var ends [2]int
		if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
			return err
		}
		return errors.Join(unix.Close(ends[0]), unix.Close(ends[1]))
	}, []string{LayerSeccomp}, nil},
	{"enlarge a pipe", func(job) error {
		_, err := unix.FcntlInt(1, unix.F_SETPIPE_SZ, 4096)
		return err
	}, []string{LayerSeccomp}, []syscall.Errno{unix.EBADF, unix.EBUSY}},
	{"put a descriptor in flight", func(job) error {
		return unix.Sendmsg(socketFD, []byte("x"), unix.UnixRights(socketFD), nil, unix.MSG_DONTWAIT)
	}, []string{LayerSeccomp}, nil},
	{"send data out of band", func(job) error {
		return unix.Sendto(socketFD, []byte("x"), unix.MSG_OOB|unix.MSG_DONTWAIT, nil)
	}, []string{LayerSeccomp}, []syscall.Errno{unix.EOPNOTSUPP}},
	{"queue a real-time signal by its thread", func(job) error { return unix.Tgkill(os.Getpid(), unix.Gettid(), 40) }, []string{LayerSeccomp}, nil},
	{"queue a signal with a value", func(job) error {
		info := [16]uint64{uint64(unix.SIGURG), 1<<64 - 1} // si_signo; si_code is SI_QUEUE
		return call(unix.SYS_RT_SIGQUEUEINFO, uintptr(os.Getpid()), uintptr(unix.SIGURG), uintptr(unsafe.Pointer(&info)), 0, 0)
	}, []string{LayerSeccomp}, nil},
	{"create a timer", func(job) error {
		var timer int32
		err := call(unix.SYS_TIMER_CREATE, unix.CLOCK_MONOTONIC, 0, uintptr(unsafe.Pointer(&timer)), 0, 0)
		if err == nil {
			err = call(unix.SYS_TIMER_DELETE, uintptr(timer), 0, 0, 0, 0)
		}
		return err
	}, []string{LayerSeccomp}, nil},
	{"create a timer descriptor", func(job) error { return descriptor(unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC)) },
		[]string{LayerSeccomp}, nil},
	{"create a signal descriptor", func(job) error { return descriptor(unix.Signalfd(-1, new(unix.Sigset_t), unix.SFD_CLOEXEC)) },
		[]string{LayerSeccomp}, nil},
	{"create an inotify instance", func(job) error { return descriptor(unix.InotifyInit1(unix.IN_CLOEXEC)) }, []string{LayerSeccomp}, nil},
	{"create a fanotify group", func(job) error {
		return descriptor(unix.FanotifyInit(unix.FAN_CLASS_NOTIF|unix.FAN_REPORT_FID|unix.FAN_CLOEXEC, 0))
	}, []string{LayerSeccomp}, []syscall.Errno{unix.EPERM, unix.EINVAL, unix.ENOSYS}},
	{"watch a directory by signals", func(job) error {
		return withFile(readFD, ".", unix.O_RDONLY|unix.O_DIRECTORY, func(fd int) error {
			_, err := unix.FcntlInt(uintptr(fd), unix.F_NOTIFY, 1) // DN_ACCESS
			return err
		})
	}, []string{LayerSeccomp}, []syscall.Errno{unix.EINVAL}},
	{"ask for signals about a file", func(job) error { return ownFile(unix.F_SETOWN, os.Getpid()) }, []string{LayerSeccomp}, nil},
	{"make a descriptor asynchronous", func(job) error {
		_, err := unix.FcntlInt(socketFD, unix.F_SETFL, unix.O_RDWR|unix.O_ASYNC)
		return errors.Join(err, restoreFlags())
	}, []string{LayerSeccomp}, nil},
	{"take a lease of a file", func(job) error { return ownFile(unix.F_SETLEASE, unix.F_RDLCK) },
		[]string{LayerSeccomp}, []syscall.Errno{unix.EINVAL, unix.EAGAIN, unix.EACCES}},
	{"lock a file that is granted to read", func(job) error {
		return withFile(readFD, "file", unix.O_RDONLY, func(fd int) error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) })
	}, []string{LayerSeccomp}, nil},
	{"lock a directory that is granted to write", func(job) error {
		return withFile(writeFD, ".", unix.O_RDONLY|unix.O_DIRECTORY, func(fd int) error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) })
	}, []string{LayerSeccomp}, nil},
	{"lock the directory of the compiled code", func(job) error {
		return withFile(rootFD, ".", unix.O_RDONLY|unix.O_DIRECTORY, func(fd int) error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) })
	}, []string{LayerSeccomp}, nil},
	{"lock a record of a file", func(job) error {
		return withFile(writeFD, "file", unix.O_RDWR, func(fd int) error {
			return unix.FcntlFlock(uintptr(fd), unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
		})
	}, []string{LayerSeccomp}, nil},
	{"lock a record of an open file description", func(job) error {
		return withFile(writeFD, "file", unix.O_RDWR, func(fd int) error {
			return unix.FcntlFlock(uintptr(fd), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
		})
	}, []string{LayerSeccomp}, nil},
	{"create a message queue", func(j job) error {
		name := queueName(j.Victim)
		attributes := [8]uintptr{1: 1, 2: 1} // one message of one byte, since all processes of the user share RLIMIT_MSGQUEUE
		return descriptor(systemCall(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(&name[0])), unix.O_CREAT|unix.O_EXCL|unix.O_RDWR, 0o600,
			uintptr(unsafe.Pointer(&attributes))))
	}, []string{LayerLandlock, LayerLimits, LayerSeccomp}, []syscall.Errno{unix.ENOSYS}},
	{"create shared memory", func(job) error {
		id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600)
		if err == nil {
			_, err = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
		}
		return err
	}, []string{LayerSeccomp}, []syscall.Errno{unix.ENOSYS}},
	{"create a semaphore", func(job) error {
		id, _, errno := unix.Syscall(unix.SYS_SEMGET, unix.IPC_PRIVATE, 1, unix.IPC_CREAT|0o600)
		if errno != 0 {
			return errno
		}
		return call(unix.SYS_SEMCTL, id, 0, unix.IPC_RMID, 0, 0)
	}, []string{LayerSeccomp}, []syscall.Errno{unix.ENOSYS}},
	{"add a key", func(job) error {
		_, err := unix.AddKey("user", "confine-test", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)
		return err
	}, []string{LayerSeccomp}, []syscall.Errno{unix.ENOSYS, unix.EPERM, unix.EACCES}},
	{"create an io_uring", func(job) error {
		var parameters [120]byte
		return descriptor(systemCall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&parameters)), 0, 0))
	}, []string{LayerSeccomp}, []syscall.Errno{unix.ENOSYS, unix.EPERM, unix.ENOMEM}},
	{"create a BPF map", func(job) error {
		attr := [16]uint32{2, 4, 4, 1} // BPF_MAP_TYPE_ARRAY, sizes of key and value, number of entries
		return descriptor(systemCall(unix.SYS_BPF, 0, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0))
	}, []string{LayerSeccomp}, []syscall.Errno{unix.EPERM, unix.ENOSYS}},
	{"create a userfaultfd", func(job) error {
		const userModeOnly = 1
		return descriptor(systemCall(unix.SYS_USERFAULTFD, unix.O_CLOEXEC|userModeOnly, 0, 0, 0))
	}, []string{LayerSeccomp}, []syscall.Errno{unix.EPERM, unix.ENOSYS}},
	{"have memory merged with that of other processes", func(job) error { return advise(unix.MADV_MERGEABLE) },
		[]string{LayerSeccomp}, []syscall.Errno{unix.EINVAL}},
	{"lock memory", func(job) error {
		b, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			return err
		}
		return errors.Join(unix.Mlock(b), unix.Munmap(b))
	}, []string{LayerSeccomp}, nil},
	{"map huge pages of the system", func(job) error {
		b, err := unix.Mmap(-1, 0, 2<<20, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_HUGETLB|unix.MAP_NORESERVE)
		if err != nil {
			return err
		}
		return unix.Munmap(b)
	}, []string{LayerSeccomp}, []syscall.Errno{unix.EINVAL, unix.ENOMEM}},
	{"open a pseudoterminal", func(job) error { return openAt(unix.AT_FDCWD, "/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY) },
		[]string{LayerLandlock, LayerRoot}, []syscall.Errno{unix.ENOENT, unix.EACCES, unix.EIO, unix.ENOSPC}},
}

// descriptor closes a descriptor that a system call has returned.
func descriptor(fd int, err error) error {
	if err == nil {
		err = unix.Close(fd)
	}
	return err
}

// queueName returns the name of the message queue of the attacker of a process. Each attacker has its own: a queue that exists can be
// opened in spite of RLIMIT_MSGQUEUE.
func queueName(victim int) []byte { return fmt.Appendf(nil, "confine-test-%d\x00", victim) }

// removeQueue removes the message queue of an attacker if it exists. Landlock denies opening a queue, which the kernel has created by then.
func removeQueue(victim int) {
	name := queueName(victim)
	_ = call(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(&name[0])), 0, 0, 0, 0)
}

func systemCall(number, a1, a2, a3, a4 uintptr) (int, error) {
	n, _, errno := unix.Syscall6(number, a1, a2, a3, a4, 0, 0)
	return int(n), asError(errno)
}

func call(number, a1, a2, a3, a4, a5 uintptr) error {
	_, _, errno := unix.Syscall6(number, a1, a2, a3, a4, a5, 0)
	return asError(errno)
}

// ownFile makes a request of fcntl for a new file.
func ownFile(command, argument int) error {
	return withFile(writeFD, "own", unix.O_CREAT|unix.O_RDONLY, func(fd int) error {
		_, err := unix.FcntlInt(uintptr(fd), command, argument)
		return err
	})
}

func restoreFlags() error {
	_, err := unix.FcntlInt(socketFD, unix.F_SETFL, unix.O_RDWR)
	return err
}

func advise(advice int) error {
	b, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	return errors.Join(unix.Madvise(b, advice), unix.Munmap(b))
}
