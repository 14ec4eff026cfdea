package confine

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// hasCapability reports whether a capability is effective.
func hasCapability(number uint) bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	_ = unix.Capget(&header, &data[0]) // sets nothing if it fails
	return data[number/32].Effective&(1<<(number%32)) != 0
}

// Secure bits and their locks (linux/securebits.h). noRoot: user 0 gets no capabilities automatically. noSetuidFixup: a
// change of the user changes no capabilities. noKeepCaps: keeping capabilities over a change of the user stays disabled.
// noAmbientRaise: no capability can become ambient.
const (
	noRoot         = 1<<0 | 1<<1
	noSetuidFixup  = 1<<2 | 1<<3
	noKeepCaps     = 1 << 5
	noAmbientRaise = 1<<6 | 1<<7
)

// dropCapabilities empties the capability sets of every thread, except the bounding set. Emptying the permitted and the
// inheritable set empties the ambient set too. The bounding set only limits which capabilities execve may add, and the
// secure bits and no_new_privs let execve add none. Emptying it would take one call per capability and thread, which takes
// longer than all other layers.
func (a *application) dropCapabilities() error {
	if hasCapability(unix.CAP_SETPCAP) {
		err := a.threads.call(unix.SYS_PRCTL, unix.PR_SET_SECUREBITS, noRoot|noSetuidFixup|noKeepCaps|noAmbientRaise, 0)
		if err != nil {
			return err
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	return a.threads.call(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&data[0])), 0)
}
