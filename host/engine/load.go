package engine

import (
	"context"
	"errors"
	"time"

	"github.com/bulkhead-mcp/bulkhead/host/engine/code"
	"github.com/bulkhead-mcp/bulkhead/host/visible"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Load loads a module, ready for calls. An error is an *Error.
func Load(ctx context.Context, spec Spec) (*Module, error) {
	m := &Module{spec: spec.complete(), pool: newPool()}
	program, err := code.Load(ctx, spec.Code)
	if errors.Is(err, code.ErrMiss) {
		return nil, m.fail(CodeStale, err, "cannot run: %v", err)
	}
	if err != nil {
		return nil, m.fail(CodeInternal, err, "cannot run: its compiled code cannot be loaded: %v", err)
	}
	m.program = program
	if failure := m.provide(ctx); failure != nil {
		if err := program.Close(context.WithoutCancel(ctx)); err != nil {
			m.spec.Log.Warn("close", "plugin", m.spec.Name, "error", err)
		}
		return nil, failure
	}
	if !m.spec.Reused && program.Restorable {
		m.takeImage(ctx)
	}
	m.expect(0) // no call: what is not used is released after a while
	return m, nil
}

// provide checks the module and gives it what it imports. Memory is not the runtime's to bound, but the
// allocator's, which notices what it refuses.
func (m *Module) provide(ctx context.Context) *Error {
	err := checkABI(m.program.Compiled)
	if err == nil {
		err = instantiateImports(ctx, m.program.Runtime)
	}
	if err != nil {
		return m.fail(CodeInvalidModule, err, "cannot run %s: %s", m.spec.File, visible.Bounded(err.Error(), 500))
	}
	if need := int64(m.program.Compiled.ExportedMemories()[abi.ExportMemory].Min()) * pageSize; need > m.spec.Memory {
		return m.fail(CodeMemory, nil, "cannot run: it begins with %d MiB of memory, and its limit is %d", need>>20, m.spec.Memory>>20)
	}
	return nil
}

// imageTime bounds the making of an image.
const imageTime = 10 * time.Second

// takeImage makes the first instance and keeps its state. A module that leaves files open, or crashes
// before its first call, has none: each of its calls gets an instance that is made for it.
func (m *Module) takeImage(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, min(m.spec.Time, imageTime))
	defer cancel()
	inst, failure := m.fresh(ctx)
	if failure == nil {
		failure = inst.try(ctx)
		if failure == nil && inst.untouched() {
			m.image = inst.snapshot()
			m.pool.put(inst)
			return
		}
		inst.close()
	}
	if failure != nil {
		m.spec.Log.Debug("no image is kept", "plugin", m.spec.Name, "reason", failure.Message)
	}
}
