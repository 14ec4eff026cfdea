package confine

import (
	"fmt"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	readAccess  = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	writeAccess = readAccess | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_DIR |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER

	// erratumSignals is the bit of an erratum that is fixed. A kernel with the erratum also denies scoped signals between
	// threads of one process that are in different domains. Apply restricts each thread separately, so each thread has
	// its own domain.
	erratumSignals = 1 << 1
)

// landlockABI returns the ABI version of the kernel, and a bit set of fixed errata. The bit set is 0 before Linux 6.15, the
// first version that reports errata.
func landlockABI() (version, errata int, err error) {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch errno {
	case 0:
	case unix.ENOSYS, unix.EPERM:
		return 0, 0, missingError("the kernel lacks Landlock (Linux 5.13), or a container's policy denies it")
	case unix.EOPNOTSUPP:
		return 0, 0, missingError("Landlock is disabled at boot: see the kernel parameter lsm=")
	default:
		return 0, 0, errno
	}
	e, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_ERRATA)
	if errno == 0 {
		errata = int(e)
	}
	return int(v), errata, nil
}

// fileRights returns the file access rights that an ABI version supports.
func fileRights(abi int) uint64 {
	rights := uint64(unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1)
	if abi >= 2 {
		rights |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= 3 {
		rights |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= 5 {
		rights |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	return rights
}

// offer describes which of the three layers of Landlock the kernel supports.
type offer struct {
	rules                 unix.LandlockRulesetAttr
	files, network, scope error
	fileNote, scopeNote   string
}

func landlockOffer() (offer, error) {
	abi, errata, err := landlockABI()
	if reason, missing := err.(missingError); missing {
		return offer{files: reason, network: reason, scope: reason}, nil
	} else if err != nil {
		return offer{}, err
	}
	return offerOf(abi, errata), nil
}

// offerOf describes what a kernel with this ABI version and these fixed errata supports.
func offerOf(abi, errata int) offer {
	o := offer{rules: unix.LandlockRulesetAttr{Handled_access_fs: fileRights(abi)}}
	var notes []string
	if abi < 2 {
		notes = append(notes, "renames and links across directories fail with EXDEV")
	}
	if abi < 3 {
		notes = append(notes, "truncate is not restricted")
	}
	o.fileNote = strings.Join(append([]string{fmt.Sprintf("ABI %d", abi)}, notes...), "; ")
	if abi >= 4 {
		o.rules.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	} else {
		o.network = missingError(fmt.Sprintf("Landlock ABI %d has no network rules: they require ABI 4 (Linux 6.7)", abi))
	}
	switch {
	case abi < 6:
		o.scope = missingError(fmt.Sprintf("Landlock ABI %d has no scopes: they require ABI 6 (Linux 6.12)", abi))
	case errata&erratumSignals == 0:
		o.rules.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
		o.scopeNote = "abstract sockets only: this kernel would refuse signals between threads"
	default:
		o.rules.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	return o
}

// landlock applies up to three layers with one rule set.
func (a *application) landlock() {
	if a.err != nil {
		return
	}
	o, err := landlockOffer()
	if err != nil {
		a.record(LayerLandlock, "", err)
		return
	}
	const off = missingError("switched off")
	if a.off[LayerLandlock] {
		o.files, o.rules.Handled_access_fs = off, 0
	}
	if a.off[LayerNetwork] {
		o.network, o.rules.Handled_access_net = off, 0
	}
	if a.off[LayerScope] {
		o.scope, o.rules.Scoped = off, 0
	}
	if o.rules != (unix.LandlockRulesetAttr{}) {
		err = a.restrict(o.rules)
	}
	if reason, missing := err.(missingError); missing {
		o.files, o.network, o.scope = reason, reason, reason
	} else if err != nil {
		a.record(LayerLandlock, "", err)
		return
	}
	a.record(LayerLandlock, o.fileNote, o.files)
	a.record(LayerNetwork, "", o.network)
	a.record(LayerScope, o.scopeNote, o.scope)
}

// restrict creates a rule set and enforces it on every thread.
func (a *application) restrict(rules unix.LandlockRulesetAttr) error {
	const size = unsafe.Sizeof(rules.Handled_access_fs) * 3 // size of the attributes of ABI 6; older kernels accept trailing zeros
	set, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&rules)), size, 0)
	if errno != 0 {
		return fmt.Errorf("landlock_create_ruleset: %w", errno)
	}
	defer unix.Close(int(set))
	for _, d := range a.dirs() {
		if rules.Handled_access_fs == 0 {
			break
		}
		access := uint64(readAccess)
		if d.Write {
			access = writeAccess
		}
		rule := unix.LandlockPathBeneathAttr{Allowed_access: access & rules.Handled_access_fs, Parent_fd: int32(d.FD)}
		_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, set, unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
		if errno != 0 {
			return fmt.Errorf("landlock_add_rule: descriptor %d: %w", d.FD, errno)
		}
	}
	return a.threads.call(unix.SYS_LANDLOCK_RESTRICT_SELF, set, 0, 0)
}
