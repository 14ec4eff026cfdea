package confine

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// attack is an action that a process without confinement can perform.
type attack struct {
	name    string
	run     func(job) error // returns nil if the attack succeeded
	stopped []string        // each of these layers alone stops the attack
	lacking []syscall.Errno // errors on systems where the attack fails even without confinement
}

// systemDependent lists, by attack, the layers that stop the attack on some systems only. A process without capabilities
// cannot trace a process with capabilities. /proc/PID/mem requires rights in the user namespace of process PID, and a
// process in a new user namespace may lack them.
var systemDependent = map[string][]string{
	"trace another process":              {LayerCapabilities},
	"open the memory of another process": {LayerCapabilities, LayerNamespaces, LayerHandles},
	// Without privileges in the host's namespaces, these depend on the system and on the user.
	"set the processors of another process": {LayerCapabilities},
	"create a BPF map":                      {LayerCapabilities, LayerNamespaces, LayerHandles, LayerRoot},
	"lock memory":                           {LayerLimits},
	"create an io_uring":                    {LayerLimits},
}

var attacks = []attack{
	{"read a file outside by absolute path", func(j job) error { return readAt(unix.AT_FDCWD, j.Base+"/secret") },
		[]string{LayerLandlock, LayerRoot}, nil},
	{"read a file outside by .. of a handle", func(job) error { return readAt(writeFD, "../secret") },
		[]string{LayerLandlock, LayerHandles}, nil},
	{"read a file outside through /proc/self/fd", func(job) error {
		return readAt(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d/../secret", readFD))
	}, []string{LayerLandlock, LayerHandles, LayerRoot}, nil},
	{"list a directory outside", func(j job) error { return listAt(unix.AT_FDCWD, j.Base) },
		[]string{LayerLandlock, LayerRoot}, nil},
	{"stat a file outside by absolute path", func(j job) error { return statAt(unix.AT_FDCWD, j.Base+"/secret") },
		[]string{LayerRoot}, nil},
	{"stat a file outside by .. of a handle", func(job) error { return statAt(readFD, "../secret") },
		[]string{LayerHandles}, nil},
	{"open a file outside with O_PATH", func(j job) error { return openAt(unix.AT_FDCWD, j.Base+"/secret", unix.O_PATH) },
		[]string{LayerRoot}, nil},
	{"create a file in a read-only directory", func(job) error { return openAt(readFD, "new", unix.O_CREAT|unix.O_WRONLY) },
		[]string{LayerLandlock, LayerHandles}, nil},
	{"write to a file in a read-only directory", func(job) error { return openAt(readFD, "file", unix.O_WRONLY) },
		[]string{LayerLandlock, LayerHandles}, nil},
	{"change the mode of a read-only file by descriptor", func(job) error {
		return withFile(readFD, "file", unix.O_RDONLY, func(fd int) error { return unix.Fchmod(fd, 0o600) })
	}, []string{LayerHandles}, nil},
	{"change the times of a read-only file by descriptor", func(job) error {
		return withFile(readFD, "file", unix.O_RDONLY, setTimes)
	}, []string{LayerHandles}, nil},
	{"change a mode by path", func(job) error { return unix.Fchmodat(writeFD, "file", 0o600, 0) }, []string{LayerSeccomp}, nil},
	{"change times by path", func(job) error {
		return unix.UtimesNanoAt(writeFD, "file", make([]unix.Timespec, 2), 0)
	}, []string{LayerSeccomp}, nil},
	{"change an owner by path", func(job) error { return unix.Fchownat(writeFD, "file", os.Getuid(), -1, 0) },
		[]string{LayerSeccomp}, nil},
	{"change an owner by descriptor", func(job) error {
		return withFile(writeFD, "file", unix.O_RDWR, func(fd int) error { return unix.Fchown(fd, os.Getuid(), -1) })
	}, []string{LayerSeccomp}, nil},
	{"set an extended attribute", func(job) error {
		return withFile(writeFD, "file", unix.O_RDWR, func(fd int) error { return unix.Fsetxattr(fd, "user.x", []byte("1"), 0) })
	}, []string{LayerSeccomp}, []syscall.Errno{unix.EOPNOTSUPP}},
	{"set the set-user-ID bit", func(job) error {
		return withFile(writeFD, "file", unix.O_RDWR, func(fd int) error { return unix.Fchmod(fd, unix.S_ISUID|0o755) })
	}, []string{LayerSeccomp}, nil},
	{"make a FIFO", func(job) error { return unix.Mknodat(writeFD, "fifo", unix.S_IFIFO|0o600, 0) },
		[]string{LayerLandlock, LayerSeccomp}, nil},
	{"map a file shared and writable", func(job) error {
		return withFile(writeFD, "file", unix.O_RDWR, func(fd int) error {
			_, err := unix.Mmap(fd, 0, 4, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
			return err
		})
	}, []string{LayerSeccomp}, nil},
	{"create an internet socket", func(job) error { return socket(unix.AF_INET) }, []string{LayerSeccomp}, nil},
	{"create a Unix socket", func(job) error { return socket(unix.AF_UNIX) }, []string{LayerSeccomp}, nil},
	{"connect to a TCP port", func(j job) error {
		return connect(unix.AF_INET, &unix.SockaddrInet4{Port: j.Port, Addr: [4]byte{127, 0, 0, 1}})
	}, []string{LayerNamespaces, LayerNetwork, LayerSeccomp}, nil},
	{"connect to an abstract socket", func(j job) error { return connect(unix.AF_UNIX, &unix.SockaddrUnix{Name: "@" + j.Abstract}) },
		[]string{LayerNamespaces, LayerScope, LayerSeccomp}, nil},
	{"start a program", func(job) error {
		_, err := syscall.ForkExec("/bin/true", []string{"true"}, &syscall.ProcAttr{})
		return err
	}, []string{LayerLandlock, LayerRoot, LayerSeccomp}, nil},
	{"signal another process", func(j job) error { return unix.Kill(j.Victim, 0) },
		[]string{LayerNamespaces, LayerScope, LayerSeccomp}, nil},
	{"trace another process", func(j job) error {
		_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(j.Victim), 0, 0, 0, 0)
		return asError(errno)
	}, []string{LayerNamespaces, LayerLandlock, LayerNetwork, LayerScope, LayerSeccomp}, []syscall.Errno{unix.EPERM}},
	{"open the memory of another process", func(j job) error {
		return openAt(unix.AT_FDCWD, "/proc/"+strconv.Itoa(j.Victim)+"/mem", unix.O_RDONLY)
	}, []string{LayerLandlock, LayerNetwork, LayerScope, LayerRoot}, []syscall.Errno{unix.EACCES, unix.EPERM}},
	{"change the root directory", func(job) error { return unix.Chroot("/") },
		[]string{LayerCapabilities, LayerSeccomp}, []syscall.Errno{unix.EPERM}},
	{"create a file in memory", func(job) error {
		fd, err := unix.MemfdCreate("x", 0)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}, []string{LayerSeccomp}, nil},
	{"set a resource limit", func(job) error {
		var l unix.Rlimit
		if err := unix.Prlimit(0, unix.RLIMIT_NOFILE, nil, &l); err != nil {
			return err
		}
		return unix.Prlimit(0, unix.RLIMIT_NOFILE, &l, nil)
	}, []string{LayerSeccomp}, nil},
	{"map memory that is writable and executable", func(job) error {
		b, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			return err
		}
		return unix.Munmap(b)
	}, []string{LayerSeccomp}, nil},
	{"create a device by a rename", func(job) error {
		if err := openAt(writeFD, "renamed", unix.O_CREAT|unix.O_WRONLY); err != nil {
			return err
		}
		return unix.Renameat2(writeFD, "renamed", writeFD, "target", unix.RENAME_WHITEOUT)
	}, []string{LayerSeccomp}, []syscall.Errno{unix.EINVAL, unix.EPERM}},
	{"preallocate blocks of a file", func(job) error {
		return withFile(writeFD, "file", unix.O_RDWR, func(fd int) error { return unix.Fallocate(fd, 0, 0, 1) })
	}, []string{LayerSeccomp}, []syscall.Errno{unix.EOPNOTSUPP}},
	{"get a descriptor of the process at the other end of the socket", func(job) error {
		const peerPIDFD = 77 // SO_PEERPIDFD
		fd, err := unix.GetsockoptInt(socketFD, unix.SOL_SOCKET, peerPIDFD)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}, []string{LayerSeccomp}, []syscall.Errno{unix.ENOPROTOOPT, unix.ENODATA, unix.ESRCH}},
	{"read the processors of another process", func(j job) error { return unix.SchedGetaffinity(j.Victim, new(unix.CPUSet)) },
		[]string{LayerNamespaces, LayerSeccomp}, nil},
	{"set the processors of another process", func(j job) error {
		var all unix.CPUSet
		all.Fill()
		return unix.SchedSetaffinity(j.Victim, &all)
	}, []string{LayerNamespaces, LayerSeccomp}, nil},
	{"read the processor time of another process", func(j job) error {
		clock := ^int32(j.Victim)<<3 | 2 // CPUCLOCK_SCHED
		return unix.ClockGettime(clock, new(unix.Timespec))
	}, []string{LayerNamespaces, LayerSeccomp}, nil},
	{"read a limit of another process", func(j job) error {
		return unix.Prlimit(j.Victim, unix.RLIMIT_NOFILE, nil, new(unix.Rlimit))
	}, []string{LayerNamespaces, LayerSeccomp}, nil},
	{"read an inherited descriptor that is not listed", func(job) error {
		_, err := unix.Pread(leakedFD, make([]byte, 1), 0)
		return err
	}, []string{LayerDescriptors}, nil},
}

func init() {
	attacks = append(attacks, hoards...)
	scenarios["probe"] = func(job) (Report, map[string]string, error) { return Probe(), nil, nil }
	scenarios["attacks"] = func(j job) (Report, map[string]string, error) {
		report, err := Apply(j.Config)
		tries := map[string]func() error{}
		for _, a := range attacks {
			tries[a.name] = func() error { return a.run(j) }
		}
		return report, checks(tries), err
	}
}

// TestEachLayerStopsAttacksAlone applies one layer at a time. Without layers, each attack must succeed: this shows that the
// layer stops the attack.
func TestEachLayerStopsAttacksAlone(t *testing.T) {
	offered := run(t, job{Scenario: "probe"}, options{noNamespaces: true}).Report
	results := map[string]map[string]string{} // results of attacks by layer; "" means no layer
	for _, l := range append(Report{{Name: "", State: Active}}, offered...) {
		if l.State != Active {
			t.Logf("%s is not tested: %s", l.Name, l.Reason)
			continue
		}
		only := []string{l.Name, LayerNoNewPrivs}
		needs := slices.Contains([]string{LayerNamespaces, LayerHandles, LayerRoot}, l.Name)
		results[l.Name] = runAttacks(t, only, options{noNamespaces: !needs}).Results
	}
	for _, a := range attacks {
		if bare := results[""][a.name]; bare != "" {
			if !slices.ContainsFunc(a.lacking, func(e syscall.Errno) bool { return e.Error() == bare }) {
				t.Errorf("without confinement, %s: %s", a.name, bare)
			}
			continue
		}
		for layer, outcomes := range results {
			want := slices.Contains(a.stopped, layer)
			if layer == LayerHandles || layer == LayerRoot {
				want = want || slices.Contains(a.stopped, LayerNamespaces)
			}
			if slices.Contains(systemDependent[a.name], layer) {
				continue
			}
			if stopped := outcomes[a.name] != ""; stopped != want {
				t.Errorf("%q stops %q: %t, want %t (%s)", layer, a.name, stopped, want, outcomes[a.name])
			}
		}
	}
}

func TestAllLayersStopEveryAttack(t *testing.T) {
	for _, o := range []options{{}, {noNamespaces: true}} {
		answer := runAttacks(t, nil, o)
		for _, a := range attacks {
			possible := slices.ContainsFunc(a.stopped, answer.Report.Active)
			if possible && answer.Results[a.name] == "" {
				t.Errorf("with the options %+v, the attack %q succeeds", o, a.name)
			}
		}
	}
}

// runAttacks runs all attacks in a child, against a victim process, a TCP port and an abstract socket.
func runAttacks(t *testing.T, only []string, o options) outcome {
	t.Helper()
	victim := exec.Command("sleep", "600")
	must(t, victim.Start())
	defer victim.Wait()
	defer victim.Process.Kill()
	defer removeQueue(victim.Process.Pid)
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer tcp.Close()
	name := "bulkhead-confine-" + strconv.Itoa(os.Getpid())
	abstract, err := net.Listen("unix", "@"+name)
	must(t, err)
	defer abstract.Close()
	return run(t, job{
		Scenario: "attacks", Only: only, Victim: victim.Process.Pid,
		Port: tcp.Addr().(*net.TCPAddr).Port, Abstract: name,
	}, o)
}

func asError(errno syscall.Errno) error {
	if errno != 0 {
		return errno
	}
	return nil
}

func openAt(dir int, name string, flags int) error {
	return withFile(dir, name, flags, func(int) error { return nil })
}

func withFile(dir int, name string, flags int, do func(int) error) error {
	fd, err := unix.Openat(dir, name, flags|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return do(fd)
}

func readAt(dir int, name string) error {
	return withFile(dir, name, unix.O_RDONLY, func(fd int) error {
		_, err := unix.Read(fd, make([]byte, 1))
		return err
	})
}

func listAt(dir int, name string) error {
	return withFile(dir, filepath.Clean(name), unix.O_RDONLY|unix.O_DIRECTORY, func(fd int) error {
		_, err := unix.Getdents(fd, make([]byte, 4096))
		return err
	})
}

func statAt(dir int, name string) error {
	return unix.Fstatat(dir, name, new(unix.Stat_t), unix.AT_SYMLINK_NOFOLLOW)
}

// setTimes changes the times of an open file, as futimens does: unix.UtimesNanoAt cannot pass a null path.
func setTimes(fd int) error {
	_, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(fd), 0, 0, 0, 0, 0)
	return asError(errno)
}

func socket(family int) error {
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func connect(family int, to unix.Sockaddr) error {
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Connect(fd, to)
}
