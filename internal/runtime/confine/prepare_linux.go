package confine

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Options of Prepare.
type Options struct {
	NoNamespaces bool // start without namespaces, for example after Start failed with them
}

// Prepare sets the attributes of a process that will call Apply, before cmd.Start: an empty environment, a
// process group of its own, SIGKILL when the starting thread ends, and new namespaces where the system
// allows them. It returns LayerNamespaces. The reason of this layer says why namespaces are missing, which
// the started process cannot know. Variables may be appended to cmd.Env afterwards.
func Prepare(cmd *exec.Cmd, o Options) Layer {
	cmd.Env = []string{}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	if o.NoNamespaces {
		return Layer{LayerNamespaces, Missing, "switched off"}
	}
	flags, err := availableNamespaces()
	if err != nil {
		return Layer{LayerNamespaces, Missing, err.Error()}
	}
	setNamespaces(cmd.SysProcAttr, flags)
	return Layer{Name: LayerNamespaces, State: Active}
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

// availableNamespaces returns the flags of the namespaces that can be created. It tries all namespaces, and, if that fails
// for the superuser, all but the user namespace.
var availableNamespaces = sync.OnceValues(func() (uintptr, error) {
	err := tryNamespaces(allNamespaces)
	if err == nil {
		return allNamespaces, nil
	}
	if os.Geteuid() == 0 && tryNamespaces(otherNamespaces) == nil {
		return otherNamespaces, nil
	}
	return 0, err
})

// tryNamespaces creates a process in new namespaces that starts no program. The program's path is longer than the kernel
// allows, so ENAMETOOLONG proves that everything before execve worked, including chroot.
func tryNamespaces(flags uintptr) error {
	attr := syscall.ProcAttr{Sys: &syscall.SysProcAttr{Chroot: "/"}}
	setNamespaces(attr.Sys, flags)
	_, err := syscall.ForkExec(strings.Repeat("x", unix.PathMax+1), []string{"none"}, &attr)
	if err == syscall.ENAMETOOLONG {
		return nil
	}
	return fmt.Errorf("the system refuses new namespaces (see user.max_user_namespaces, AppArmor and the container's policy): %w", err)
}
