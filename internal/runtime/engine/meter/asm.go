package meter

import "github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter/wasm"

// asm is a code buffer. Each method appends instructions.
type asm []byte

func (a *asm) op(ops ...wasm.Opcode) *asm {
	for _, op := range ops {
		*a = append(*a, byte(op))
	}
	return a
}

func (a *asm) index(op wasm.Opcode, index uint32) *asm {
	*a = wasm.AppendU32(append(*a, byte(op)), index)
	return a
}

func (a *asm) i32(v int32) *asm {
	*a = wasm.AppendS64(append(*a, byte(wasm.OpI32Const)), int64(v))
	return a
}

func (a *asm) i64(v int64) *asm {
	*a = wasm.AppendS64(append(*a, byte(wasm.OpI64Const)), v)
	return a
}

func (a *asm) get(locals ...uint32) *asm {
	for _, local := range locals {
		a.index(wasm.OpLocalGet, local)
	}
	return a
}

func (a *asm) set(local uint32) *asm { return a.index(wasm.OpLocalSet, local) }

// block opens a block, loop or if that has neither parameters nor results.
func (a *asm) block(op wasm.Opcode) *asm {
	*a = append(*a, byte(op), wasm.BlockVoid)
	return a
}

// raw appends encoded instructions.
func (a *asm) raw(instruction []byte) *asm {
	*a = append(*a, instruction...)
	return a
}
