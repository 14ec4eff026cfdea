package confine

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Apply confines this process, all of its threads included, for the rest of its life. It must be called at most once. An
// error means that a layer which the system supports could not be applied; the process is then in an unknown state and
// must exit.
func Apply(c Config) (Report, error) {
	a := application{Config: c, threads: openThreads()}
	defer a.threads.close()
	startPoller()
	space, unmeasured := addressSpace()
	for _, d := range a.dirs() {
		if err := checkDir(d.FD); err != nil {
			return nil, err
		}
	}
	a.layer(LayerNamespaces, inNamespaces)
	a.layer(LayerParentDeath, a.dieWithParent)
	a.layer(LayerOOMScore, func() error { return raiseOOMScore(oomScoreFile) })
	a.layer(LayerDescriptors, a.closeInherited)
	a.layer(LayerThreads, a.limitThreads)
	a.layer(LayerNoNewPrivs, a.setNoNewPrivs)
	a.layer(LayerHandles, a.detachHandles)
	a.layer(LayerRoot, a.changeRoot)
	a.layer(LayerCapabilities, a.dropCapabilities)
	a.layer(LayerNoDump, func() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) })
	a.landlock()
	// After the last call of a.threads: syscall.AllThreadsSyscall waits forever if no signal can be queued.
	a.layer(LayerLimits, func() error { return errors.Join(unmeasured, setLimits(a.Config, kernelLimits(a.Config, space)...)) })
	a.layer(LayerSeccomp, installFilter)
	return a.report, a.err
}

// startPoller creates the network poller of the Go runtime, whose system calls the filter denies later: its descriptors cannot then
// watch further files. The runtime would create it with the first file or timer, and would end the process if that failed. A timer
// with a channel starts only when a goroutine waits for it.
func startPoller() { time.AfterFunc(time.Hour, func() {}).Stop() }

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

// inNamespaces returns an error unless Prepare has created new namespaces. Process number 1 proves a new PID namespace:
// in a namespace shared with the host that number belongs to an older process. Prepare creates all namespaces or none.
func inNamespaces() error {
	if os.Getpid() != 1 {
		return missingError("the process was started without new namespaces")
	}
	return nil
}

// dieWithParent sets PR_SET_PDEATHSIG again, because execve clears the setting of Prepare for a program with more rights
// than its caller. The setting belongs to a thread and is not inherited, so it is set on all threads. If the parent has
// ended before, this process detects EOF on its socket.
func (a *application) dieWithParent() error {
	return a.threads.call(unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0)
}

func (a *application) setNoNewPrivs() error {
	return a.threads.call(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0)
}

// oomScore is the value of oom_score_adj. The kernel adds it to the share of memory, in thousandths, that the process uses,
// and kills the process with the highest sum.
const oomScore = 500

const oomScoreFile = "/proc/self/oom_score_adj"

// raiseOOMScore must run before no_dump, after which the file oom_score_adj belongs to root.
func raiseOOMScore(file string) error {
	if err := os.WriteFile(file, []byte(strconv.Itoa(oomScore)), 0); err != nil {
		return missingError(err.Error())
	}
	return nil
}

// closeInherited closes the inherited descriptors that Config.Keep does not list. The descriptors of the Go runtime and
// of this program have FD_CLOEXEC and stay open.
func (a *application) closeInherited() error {
	if a.Keep == nil {
		return missingError("the caller gives no list of descriptors to keep")
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
		if err != nil && err != unix.EBADF { // EBADF: the descriptor of /proc/self/fd itself, which is closed by now
			return fmt.Errorf("descriptor %d: %w", fd, err)
		}
	}
	return nil
}
