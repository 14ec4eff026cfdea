package engine

import (
	"context"
	"errors"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/code"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Load loads a module and prepares it for calls. An error is an *Error.
func Load(ctx context.Context, spec Spec) (*Module, error) {
	m := &Module{spec: spec.withDefaults(), pool: &pool{}}
	var err error
	if m.kind, err = kindOf(spec.Kind); err != nil {
		return nil, m.errorf(CodeInternal, err, "cannot run: %v", err)
	}
	m.entry = m.kind.entry()
	m.spec.Reused = m.spec.Reused && m.kind.reusable()
	program, err := code.Load(ctx, spec.Code)
	if errors.Is(err, code.ErrMiss) {
		return nil, m.errorf(CodeStale, err, "cannot run: %v", err)
	}
	if err != nil {
		return nil, m.errorf(CodeInternal, err, "cannot run: its compiled code cannot be loaded: %v", err)
	}
	m.program = program
	if failure := m.link(ctx); failure != nil {
		if err := program.Close(context.WithoutCancel(ctx)); err != nil {
			m.spec.Log.Warn("cannot close a module that failed to load", "plugin", m.spec.Name, "error", err)
		}
		return nil, failure
	}
	if !m.spec.Reused && program.Restorable {
		m.takeSnapshot(ctx)
	}
	m.deriver = newDeriver(m)
	m.trackCalls(0) // starts the idle timer
	return m, nil
}

// link checks the module and instantiates its imports. The limit of linear memory is enforced by the allocator instead of
// the runtime, because the allocator records that growth was refused.
func (m *Module) link(ctx context.Context) *Error {
	err := m.kind.check(m.program.Compiled)
	if err == nil {
		err = instantiateImports(ctx, m.program.Runtime, m.kind)
	}
	if err != nil {
		return m.errorf(CodeInvalidModule, err, "cannot run %s: %s", m.spec.File, visible.Bounded(err.Error(), 500))
	}
	if need := m.initialMemory(); need > m.spec.Memory {
		return m.errorf(CodeMemory, nil, "cannot run: its initial memory is %d MiB, and its limit is %d MiB", need>>20, m.spec.Memory>>20)
	}
	return nil
}

// initialMemory returns the size in bytes of the memory that a new instance has.
func (m *Module) initialMemory() int64 {
	return int64(m.program.Compiled.ExportedMemories()[abi.ExportMemory].Min()) * pageSize
}

// snapshotTime limits the time of the calls that precede a snapshot.
const snapshotTime = 10 * time.Second

// takeSnapshot creates the first instance and stores a snapshot of it. A module that leaves files open or crashes before
// its first call has no snapshot: each of its calls creates an instance.
func (m *Module) takeSnapshot(ctx context.Context) {
	limited := limit(ctx, min(m.spec.Time, snapshotTime))
	defer limited.release()
	inst, failure := m.newInstance(limited)
	if failure == nil {
		failure = m.kind.warm(limited, inst)
		if failure == nil && inst.resetFiles() {
			var err error
			if m.snapshot, err = inst.capture(limited); err == nil {
				m.pool.add(inst)
				return
			}
			failure = m.noCredit(limited, err)
		}
		inst.close()
	}
	if failure != nil {
		m.spec.Log.Debug("the module has no snapshot: each call creates an instance", "plugin", m.spec.Name, "reason", failure.Message)
	}
}
