#include "textflag.h"

DATA ·stopAddress(SB)/8, $stop<>(SB)
GLOBL ·stopAddress(SB), RODATA, $8

// stop is the signal handler. What it returns to restores all registers.
TEXT stop<>(SB), NOSPLIT|NOFRAME, $0
	MOVD $·request(SB), R9
	MOVD 0(R9), R8
	MOVD 8(R9), R0
	MOVD 16(R9), R1
	MOVD 24(R9), R2
	MOVD $0, R3
	MOVD $0, R4
	SVC
	CMP $0, R0
	BGE arrive
	NEG R0, R0
	MOVD $·failure(SB), R9
	MOVW R0, (R9)

arrive:
	MOVD $·arrived(SB), R0
add:
	LDAXRW (R0), R9
	ADDW $1, R9
	STLXRW R9, (R0), R10
	CBNZ R10, add
	MOVD $129, R1 // FUTEX_WAKE_PRIVATE
	MOVD $1, R2
	MOVD $98, R8 // futex
	SVC

wait:
	MOVD $·released(SB), R0
	LDARW (R0), R9
	CBNZ R9, leave
	MOVD $128, R1 // FUTEX_WAIT_PRIVATE
	MOVD $0, R2
	MOVD $0, R3
	MOVD $98, R8
	SVC
	JMP wait

leave:
	MOVD $·arrived(SB), R0
subtract:
	LDAXRW (R0), R9
	SUBW $1, R9
	STLXRW R9, (R0), R10
	CBNZ R10, subtract
	RET

// func load(number *uint32) uint32
TEXT ·load(SB), NOSPLIT, $0-12
	MOVD number+0(FP), R0
	LDARW (R0), R0
	MOVW R0, ret+8(FP)
	RET

// func release()
TEXT ·release(SB), NOSPLIT, $0-0
	MOVD $1, R0
	MOVD $·released(SB), R1
	STLRW R0, (R1)
	RET
