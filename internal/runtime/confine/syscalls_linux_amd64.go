package confine

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

var allowedHere = [...]uint32{unix.SYS_NEWFSTATAT}

func rulesHere() []rule {
	const setFS = 0x1002 // ARCH_SET_FS: the register of thread-local storage
	return []rule{{unix.SYS_ARCH_PRCTL, []condition{low(0, every, setFS)}}}
}
