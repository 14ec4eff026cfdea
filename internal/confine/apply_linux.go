package confine

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Apply confines this process, all of its threads included, for the rest of its life. It is called once. An
// error means that a layer which the system offers failed, so that the process is in an unknown state and
// must end.
func Apply(c Config) (Report, error) {
	a := application{Config: c}
	for _, d := range a.dirs() {
		if err := checkDir(d.FD); err != nil {
			return nil, err
		}
	}
	a.layer(LayerNamespaces, inNamespaces)
	a.layer(LayerParentDeath, dieWithParent)
	a.layer(LayerOOMScore, raiseOOMScore)
	a.layer(LayerDescriptors, a.closeInherited)
	a.layer(LayerNoNewPrivs, setNoNewPrivs)
	a.layer(LayerHandles, a.detachHandles)
	a.layer(LayerRoot, a.changeRoot)
	a.layer(LayerCapabilities, dropCapabilities)
	a.layer(LayerNoDump, func() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) })
	a.landlock()
	a.layer(LayerLimits, func() error { return setLimits(a.Config) })
	a.layer(LayerSeccomp, installFilter)
	return a.report, a.err
}

// dirs returns all directories that stay usable, Root included.
func (a *application) dirs() []Dir {
	if a.Root == nil {
		return a.Dirs
	}
	return append(slices.Clip(a.Dirs), *a.Root)
}

func checkDir(fd int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("confinement: descriptor %d: %w", fd, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return fmt.Errorf("confinement: descriptor %d: not a directory", fd)
	}
	return nil
}

// inNamespaces reports what Prepare did. The host never has process number 1 in a PID namespace that it
// shares with a process it starts, so number 1 proves a new one; Prepare sets all namespaces or none.
func inNamespaces() error {
	if os.Getpid() != 1 {
		return missingError("the process was started without new namespaces")
	}
	return nil
}

// dieWithParent repeats what Prepare asked for: execve clears it for a program with more rights than its
// caller. The setting belongs to a thread and is not inherited, hence all threads. Whether the parent has
// ended already shows at the end of the socket.
func dieWithParent() error {
	err := allThreads(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0)
	if err == unix.ENOTSUP {
		err = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
	}
	return err
}

// oomScore is added to the share of memory, in thousandths, that the process uses.
const oomScore = 500

// raiseOOMScore comes before no_dump, after which the file belongs to root.
func raiseOOMScore() error {
	f, err := os.OpenFile("/proc/self/oom_score_adj", os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(strconv.Itoa(oomScore))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return missingError(err.Error())
	}
	return nil
}

// closeInherited closes the descriptors that came through execve and are not listed. Those of the Go runtime
// and of this program have FD_CLOEXEC.
func (a *application) closeInherited() error {
	if a.Keep == nil {
		return missingError("no list of descriptors to keep")
	}
	keep := slices.Clone(a.Keep)
	for _, d := range a.dirs() {
		keep = append(keep, d.FD)
	}
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return missingError(err.Error())
	}
	for _, entry := range entries {
		fd, err := strconv.Atoi(entry.Name())
		if err != nil {
			return err
		}
		if fd <= 2 || slices.Contains(keep, fd) {
			continue
		}
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err == nil && flags&unix.FD_CLOEXEC == 0 {
			err = unix.Close(fd)
		}
		if err != nil && err != unix.EBADF { // EBADF: the directory that was listed
			return fmt.Errorf("descriptor %d: %w", fd, err)
		}
	}
	return nil
}

func setNoNewPrivs() error {
	err := allThreads(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0)
	if err == unix.ENOTSUP {
		// Enough for seccomp: installing a filter on all threads sets it on all of them.
		if err = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err == nil {
			err = missingError(cgoReason + "; set on one thread, and by seccomp on all")
		}
	}
	return err
}

const cgoReason = "the program is linked with cgo: build it with CGO_ENABLED=0"

// allThreads makes a system call on every thread. ENOTSUP: see cgoReason.
func allThreads(call, a1, a2, a3 uintptr) error {
	if _, _, errno := syscall.AllThreadsSyscall(call, a1, a2, a3); errno != 0 {
		return errno
	}
	return nil
}
