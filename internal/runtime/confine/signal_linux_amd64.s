#include "textflag.h"

DATA ·stopAddress(SB)/8, $stop<>(SB)
GLOBL ·stopAddress(SB), RODATA, $8

// stop is the signal handler. What it returns to restores all registers.
TEXT stop<>(SB), NOSPLIT|NOFRAME, $0
	MOVQ ·request+0(SB), AX
	MOVQ ·request+8(SB), DI
	MOVQ ·request+16(SB), SI
	MOVQ ·request+24(SB), DX
	XORL R10, R10
	XORL R8, R8
	SYSCALL
	TESTQ AX, AX
	JGE arrive
	NEGQ AX
	MOVL AX, ·failure(SB)

arrive:
	LOCK
	INCL ·arrived(SB)
	LEAQ ·arrived(SB), DI
	MOVL $129, SI // FUTEX_WAKE_PRIVATE
	MOVL $1, DX
	MOVL $202, AX // futex
	SYSCALL

wait:
	CMPL ·released(SB), $0
	JNE leave
	LEAQ ·released(SB), DI
	MOVL $128, SI // FUTEX_WAIT_PRIVATE
	XORL DX, DX
	XORL R10, R10
	MOVL $202, AX
	SYSCALL
	JMP wait

leave:
	LOCK
	DECL ·arrived(SB)
	RET

// func load(number *uint32) uint32
TEXT ·load(SB), NOSPLIT, $0-12
	MOVQ number+0(FP), AX
	MOVL (AX), AX
	MOVL AX, ret+8(FP)
	RET

// func release()
TEXT ·release(SB), NOSPLIT, $0-0
	MOVL $1, AX
	XCHGL AX, ·released(SB)
	RET
