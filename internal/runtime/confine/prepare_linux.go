package confine

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/bulkhead-mcp/bulkhead/internal/base/reexec"
)

// options of prepare.
type options struct {
	noNamespaces bool // start without namespaces, which tests compare
}

// Prepare sets the attributes of a process that will call Apply, before Start: an empty environment, a
// process group of its own, SIGKILL when the starting thread ends, and new namespaces where the system
// permits them. It returns LayerNamespaces. The reason of this layer says why namespaces are missing, which
// the started process cannot know. Variables may be appended to cmd.Env afterwards.
func Prepare(cmd *exec.Cmd) Layer { return prepare(cmd, options{}) }

func prepare(cmd *exec.Cmd, o options) Layer {
	cmd.Env = []string{}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	if o.noNamespaces {
		return Layer{LayerNamespaces, Missing, "switched off"}
	}
	flags, err := permitted.available()
	if err != nil {
		return Layer{LayerNamespaces, Missing, err.Error()}
	}
	setNamespaces(cmd.SysProcAttr, flags)
	return Layer{Name: LayerNamespaces, State: Active}
}

// Start starts a command that Prepare has prepared. If namespaces cannot be created now, although the system permits them, that is an
// error for which IsTransient is true: a process without them is never started instead.
func Start(cmd *exec.Cmd) error {
	return explainStart(cmd.SysProcAttr, cmd.Start())
}

func explainStart(attr *syscall.SysProcAttr, err error) error {
	if attr != nil && attr.Cloneflags != 0 && errors.Is(err, unix.ENOSPC) {
		return transientError{fmt.Errorf("all namespaces that the user may have are in use (see user.max_user_namespaces and its siblings): %w", err)}
	}
	return err
}

const (
	otherNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWPID
	allNamespaces   = unix.CLONE_NEWUSER | otherNamespaces
)

// setNamespaces requests the namespaces in flags. The IDs of user and group stay the same. The ambient capabilities survive
// execve for a user other than 0; Apply uses them (chroot, clones of mounts, secure bits) and drops them.
func setNamespaces(attr *syscall.SysProcAttr, flags uintptr) {
	attr.Cloneflags = flags
	attr.AmbientCaps = []uintptr{unix.CAP_SYS_CHROOT, unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP}
	if flags&unix.CLONE_NEWUSER != 0 {
		uid, gid := os.Geteuid(), os.Getegid()
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	}
}

// permitted is what the system permits to this process.
var permitted = namespaces{try: tryNamespaces, superuser: os.Geteuid() == 0}

// namespaces finds out once which namespaces the system permits, so that all confined processes have the same ones.
type namespaces struct {
	try       func(flags uintptr) error
	superuser bool // whether this process may create namespaces without a user namespace

	mu    sync.Mutex
	found bool
	flags uintptr
	err   error
}

// available returns the flags of the namespaces that the system permits: all of them, or all but the user namespace if the
// superuser may create only those. The error says why there are none. While a lack of processes, descriptors or memory keeps it from
// finding out, it assumes all: Start fails then.
func (n *namespaces) available() (uintptr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.found {
		return n.flags, n.err
	}
	err := n.try(allNamespaces)
	n.flags = allNamespaces
	if err != nil && !isTemporary(err) {
		n.flags = 0
		if n.superuser {
			if other := n.try(otherNamespaces); other == nil {
				n.flags, err = otherNamespaces, nil
			} else if isTemporary(other) {
				err = other
			}
		}
	}
	if isTemporary(err) {
		return allNamespaces, nil
	}
	n.found, n.err = true, err
	return n.flags, n.err
}

func isTemporary(err error) bool {
	return reexec.IsTransient(err) || errors.Is(err, unix.EINTR)
}

// tryNamespaces creates a process in new namespaces that starts no program. The program's path is longer than the kernel
// allows, so ENAMETOOLONG proves that everything before execve worked, including chroot.
func tryNamespaces(flags uintptr) error {
	attr := syscall.ProcAttr{Sys: &syscall.SysProcAttr{Chroot: "/"}}
	setNamespaces(attr.Sys, flags)
	pid, err := syscall.ForkExec(strings.Repeat("x", unix.PathMax+1), []string{"none"}, &attr)
	if err == syscall.ENAMETOOLONG {
		return nil
	}
	if err == nil {
		err = endOf(pid)
	}
	return fmt.Errorf("the system refuses new namespaces (see user.max_user_namespaces, AppArmor and the container's policy): %w", err)
}

// endOf waits for a process that has ended without an error of execve: a seccomp filter, as a service manager sets one, has killed it.
func endOf(pid int) error {
	var status syscall.WaitStatus
	for {
		if _, err := syscall.Wait4(pid, &status, 0, nil); err != syscall.EINTR {
			return cmp.Or(err, fmt.Errorf("the process that tried was ended: %s", status.Signal()))
		}
	}
}
