//go:build amd64 || arm64

package confine

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// rule allows a system call if its arguments meet all conditions.
type rule struct {
	call uint32
	when []condition
}

// condition compares 32 bits of an argument: word&mask == value.
type condition struct {
	word        uint32 // offset in struct seccomp_data
	mask, value uint32
}

// Offsets in struct seccomp_data. Arguments are 64-bit numbers; both supported architectures are little-endian.
const (
	callOffset = 0
	archOffset = 4
	argOffset  = 16
)

// low compares the lower 32 bits of an argument. The kernel reads only these bits of an int.
func low(arg, mask, value uint32) condition {
	return condition{argOffset + 8*arg, mask, value}
}

// flags matches an argument whose lower 32 bits have no other bits than those in allowed.
func flags(arg, allowed uint32) condition { return low(arg, ^allowed, 0) }

// null matches an argument that is zero in all 64 bits.
func null(arg uint32) []condition {
	return []condition{low(arg, every, 0), {argOffset + 8*arg + 4, every, 0}}
}

const every = 1<<32 - 1

// x32 is a bit that is set in the numbers of calls of the x32 ABI. seccomp reports the architecture of amd64 for them.
const x32 = 1 << 30

// installFilter installs the filter of this process.
func installFilter() error {
	if err := probeSeccomp(); err != nil {
		return err
	}
	return install(filter(uint32(os.Getpid())))
}

// install sets no_new_privs and installs a filter on all threads.
func install(filter []bpf.Instruction) error {
	program, err := bpf.Assemble(filter)
	if err != nil {
		return err
	}
	instructions := make([]unix.SockFilter, len(program))
	for i, in := range program {
		instructions[i] = unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil { // TSYNC sets it on the other threads
		return err
	}
	prog := unix.SockFprog{Len: uint16(len(instructions)), Filter: &instructions[0]}
	thread, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(instructions)
	if errno != 0 {
		return errno
	}
	if thread != 0 {
		return fmt.Errorf("cannot install the seccomp filter on thread %d: the thread has a seccomp filter that the other threads do not have", thread)
	}
	return nil
}

func probeSeccomp() error {
	action := uint32(unix.SECCOMP_RET_ERRNO)
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action))); errno != 0 {
		return missingError("the kernel lacks system call filters, or a container's policy denies them: " + errno.Error())
	}
	return nil
}

// filter returns the BPF program for the process with the number pid. The rules for signals compare their target with pid.
func filter(pid uint32) []bpf.Instruction {
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: archOffset, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: auditArch, SkipTrue: 1},
		bpf.RetConstant{Val: unix.SECCOMP_RET_KILL_PROCESS},
		bpf.LoadAbsolute{Off: callOffset, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: x32, SkipTrue: 1},
		answer(unix.ENOSYS),
	}
	// Since Linux 5.11 the kernel knows in advance which calls are allowed with any arguments, so these may come last.
	for _, r := range append(rules(pid), rulesHere()...) {
		program = append(program, r.compile()...)
	}
	program = append(program, bpf.LoadAbsolute{Off: callOffset, Size: 4})
	for _, calls := range [][]uint32{allowedCalls[:], allowedHere[:]} {
		for _, call := range calls {
			program = append(program, oneCall(call, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW})...)
		}
	}
	for _, call := range unknownCalls {
		program = append(program, oneCall(call, answer(unix.ENOSYS))...)
	}
	return append(program, answer(unix.EPERM))
}

func answer(errno unix.Errno) bpf.Instruction {
	return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(errno)}
}

func oneCall(call uint32, answer bpf.Instruction) []bpf.Instruction {
	return []bpf.Instruction{bpf.JumpIf{Cond: bpf.JumpEqual, Val: call, SkipFalse: 1}, answer}
}

// compile returns instructions that allow the call if it matches, and otherwise continue after the rule. They load the
// number of the call again, because the conditions of the previous rule have overwritten it.
func (r rule) compile() []bpf.Instruction {
	body := []bpf.Instruction{bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}}
	prepend := func(c condition) {
		test := []bpf.Instruction{bpf.LoadAbsolute{Off: c.word, Size: 4}}
		if c.mask != every {
			test = append(test, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: c.mask})
		}
		test = append(test, bpf.JumpIf{Cond: bpf.JumpEqual, Val: c.value, SkipFalse: uint8(len(body))})
		body = append(test, body...)
	}
	for _, c := range r.when {
		prepend(c)
	}
	prepend(condition{callOffset, every, r.call})
	return body
}
