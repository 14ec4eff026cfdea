package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/bulkhead-mcp/bulkhead/host/engine/code"
	"github.com/bulkhead-mcp/bulkhead/host/engine/meter"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// loaded is a module in memory.
type loaded struct {
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
	program  *code.Program
	globals  []meter.Global
	image    *image // that instances are put back to; nil: they cannot or shall not be
	pool     *pool
	resting  bool // its instances have been released
}

func (l *loaded) close(ctx context.Context) error {
	l.pool.work.Wait()
	l.pool.drain()
	return l.program.Close(ctx)
}

// Warm compiles the module into the cache on disk if it is not there yet, so that the first call need
// not. It leaves nothing in memory that no call asked for.
func (m *Module) Warm(ctx context.Context) error {
	if m.engine.config.Store == nil || m.Loaded() {
		return nil
	}
	return m.codeError(ctx, m.engine.config.Store.Warm(ctx, m.named()))
}

func (m *Module) named() code.Module {
	return code.Module{Name: m.spec.Name, File: m.spec.File, SHA256: m.spec.SHA256}
}

// compile loads the module.
func (m *Module) compile(ctx context.Context) (*loaded, error) {
	program, err := m.program(ctx)
	if err != nil {
		return nil, err
	}
	l := &loaded{runtime: program.Runtime, compiled: program.Compiled, program: program, globals: program.Globals, pool: newPool()}
	if err := m.instantiable(ctx, l); err != nil {
		return nil, errors.Join(err, program.Close(context.WithoutCancel(ctx)))
	}
	if !m.spec.Reused && program.Restorable {
		m.takeImage(ctx, l)
	}
	return l, nil
}

// program loads the module's code, which is compiled first if there is none.
func (m *Module) program(ctx context.Context) (*code.Program, error) {
	if m.spec.Code != "" {
		program, err := code.Load(ctx, m.spec.Code)
		if errors.Is(err, code.ErrMiss) {
			return nil, m.fail(CodeStale, err, "cannot run: %v", err)
		}
		if err != nil {
			return nil, m.fail(CodeInternal, err, "cannot run: its compiled code cannot be loaded: %v", err)
		}
		return program, nil
	}
	store := m.engine.config.Store
	if store == nil {
		return nil, m.fail(CodeInternal, nil, "cannot run: there is neither compiled code nor a store of it")
	}
	program, err := m.ensured(ctx, store)
	if errors.Is(err, code.ErrMiss) { // it was discarded
		program, err = m.ensured(ctx, store)
	}
	return program, m.codeError(ctx, err)
}

// ensured loads code of the store's, and discards it if that is not possible.
func (m *Module) ensured(ctx context.Context, store *code.Store) (*code.Program, error) {
	found, err := store.Ensure(ctx, m.named(), code.Foreground)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	program, err := code.Load(ctx, found.Dir)
	if errors.Is(err, code.ErrMiss) {
		m.engine.log.Warn("compiled code cannot be used here, and is made anew", "plugin", m.spec.Name, "dir", found.Dir)
		return nil, errors.Join(err, store.Discard(found))
	}
	return program, err
}

// codeError is the *Error for an error of the store's; nil for nil.
func (m *Module) codeError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if stopped := m.stopped(ctx); stopped != nil && !errors.As(err, new(*code.Error)) {
		return stopped
	}
	return StoreError(m.spec.Name, m.spec.File, err)
}

// StoreError is the *Error for an error of a code.Store, which could not provide the code of a module.
func StoreError(plugin, file string, err error) *Error {
	fail := func(c Code, format string, args ...any) *Error {
		return &Error{Code: c, Plugin: plugin, Message: fmt.Sprintf(format, args...), Err: err}
	}
	failure := (*code.Error)(nil)
	if !errors.As(err, &failure) {
		return fail(CodeInternal, "cannot run: %v", err)
	}
	text := bounded(failure.Text, 500)
	switch failure.Reason {
	case code.Missing:
		return fail(CodeModuleMissing, "cannot run: %s", text)
	case code.Digest:
		return fail(CodeDigest, "cannot run: %s", text)
	case code.Invalid:
		return fail(CodeInvalidModule, "cannot run %s: %s", file, text)
	}
	return fail(CodeInternal, "cannot run: %s", text)
}

// instantiable gives a program what it imports. Memory is not the runtime's to bound, but the allocator's, which
// notices what it refuses.
func (m *Module) instantiable(ctx context.Context, l *loaded) error {
	err := checkABI(l.compiled)
	if err == nil {
		err = provide(ctx, l.runtime)
	}
	if err != nil {
		return m.fail(CodeInvalidModule, err, "cannot run %s: %s", m.spec.File, bounded(err.Error(), 500))
	}
	if need := int64(l.compiled.ExportedMemories()[abi.ExportMemory].Min()) * pageSize; need > m.spec.Memory {
		return m.fail(CodeMemory, nil, "cannot run: it begins with %d MiB of memory, and its limit is %d", need>>20, m.spec.Memory>>20)
	}
	return nil
}

// imageTime bounds the making of an image.
const imageTime = 10 * time.Second

// takeImage makes the first instance and keeps its state. A module that leaves files open, or crashes
// before its first call, has none: each of its calls gets an instance that is made for it.
func (m *Module) takeImage(ctx context.Context, l *loaded) {
	ctx, cancel := context.WithTimeout(ctx, min(m.spec.Time, imageTime))
	defer cancel()
	inst, failure := m.fresh(ctx, l)
	if failure == nil {
		failure = inst.try(ctx)
		if failure == nil && inst.untouched() {
			l.image = inst.snapshot()
			l.pool.put(inst)
			return
		}
		inst.close()
	}
	if failure != nil {
		m.engine.log.Debug("no image is kept", "plugin", m.spec.Name, "reason", failure.Message)
	}
}
