package engine

import (
	"context"
	"runtime"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/experimental/sysfs"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter"
)

// instance is a running module with its own memory. It runs one call at a time.
type instance struct {
	owner     *Module
	creator   context.Context // of the call for which the instance is created; nil afterwards
	module    api.Module
	entry     api.Function
	fuel      api.MutableGlobal
	stack     api.MutableGlobal
	errno     api.MutableGlobal
	globals   []api.Global // the module's own mutable globals
	memory    *linearMemory
	files     handleCounter // nil: no file system
	current   *execution    // nil between calls
	stdout    *lineLog
	stderr    *lineLog
	panicked  panicText               // of the current call
	sources   sources                 // sources of a derive instance
	functions map[string]api.Function // exports of a module of the kind Extism by name
	kernel    kernelMemory            // of a module of the kind Extism
	spent     bool                    // the instance must not run another call
	cost      uint64                  // the credit of the instance besides its linear memory

	startFuel int64 // fuel used by the module's start function
	initFuel  int64 // fuel used by _initialize; 0 if the instance was restored from a snapshot instead
}

// handleCounter is implemented by file systems whose state a call can change. Reset removes that state, and reports whether none
// remains: open files and directories, with their positions, and the position of the preopened descriptor of "/".
type handleCounter interface{ Reset() bool }

// instantiate creates an instance, which must be initialized or restored before its first call.
func (m *Module) instantiate(ctx context.Context) (_ *instance, failure *Error) {
	inst := &instance{owner: m, creator: ctx, sources: newSources()}
	inst.kernel.instance = inst
	inst.stderr = &lineLog{instance: inst, level: hclog.Warn}
	inst.stdout = &lineLog{instance: inst, level: hclog.Info}
	started := newExecution(ctx, m, inst)
	inst.current = started
	defer func() {
		inst.current = nil
		if r := recover(); r != nil { // allocate panics with an error
			err, ok := r.(error)
			if !ok {
				panic(r)
			}
			if failure, ok = r.(*Error); !ok {
				failure = m.errorf(CodeMemory, err, "cannot run: its linear memory cannot be allocated")
			}
			inst.free()
		}
	}()
	ctx = context.WithValue(ctx, executionKey{}, started)
	ctx = experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(inst.allocate))
	mod, err := m.program.Runtime.InstantiateModule(ctx, m.program.Compiled, m.moduleConfig(inst))
	inst.flush()
	if err != nil {
		failure := m.callError(ctx, err, started, inst)
		inst.free()
		return nil, failure
	}
	inst.module = mod
	inst.kernel.reset()                        // the start function may have left blocks, which only the first call would find
	inst.entry = mod.ExportedFunction(m.entry) // nil if it depends on the request
	inst.bindCounters(mod)
	inst.startFuel = started.fuelUsed()
	for _, g := range m.program.Globals {
		inst.globals = append(inst.globals, mod.ExportedGlobal(g.Export))
	}
	return inst, nil
}

// bindCounters looks up the module's counters. The first host function to be called does this, because a start function
// may call the host before InstantiateModule returns.
func (i *instance) bindCounters(mod api.Module) {
	if i.fuel == nil {
		i.fuel = mod.ExportedGlobal(meter.ExportFuel).(api.MutableGlobal)
		i.stack = mod.ExportedGlobal(meter.ExportStack).(api.MutableGlobal)
		i.errno = mod.ExportedGlobal(meter.ExportErrno).(api.MutableGlobal)
	}
}

// allocate maps an instance's linear memory. It panics on failure, because wazero's allocators cannot return an error.
func (i *instance) allocate(_, _ uint64) experimental.LinearMemory {
	tracker := i.owner.spec.Tracker
	if i.owner.spec.Reused || !i.owner.program.Restorable { // the instance is never restored
		tracker = nil
	}
	if !i.take(instanceCost) {
		panic(ErrRefused)
	}
	i.cost = instanceCost
	memory, err := newLinearMemory(uint64(i.owner.spec.Memory), tracker)
	if err != nil {
		panic(err)
	}
	memory.take, memory.give = i.take, i.give
	i.memory = memory
	return memory
}

// free unmaps the memories of an instance that has no module.
func (i *instance) free() {
	if i.memory != nil {
		i.memory.Free()
	}
	i.kernel.close()
	i.giveCost()
}

// giveCost returns the credit that allocate took.
func (i *instance) giveCost() {
	i.give(i.cost)
	i.cost = 0
}

// moduleConfig configures WASI for an instance. It replaces defaults of wazero: deterministic clocks and random numbers, a
// sleep that ignores contexts, and a call of the start function of commands (_start).
func (m *Module) moduleConfig(inst *instance) wazero.ModuleConfig {
	config := wazero.NewModuleConfig().
		WithName("").        // allows several instances of a module
		WithStartFunctions() // none: the kind runs what has to run
	if m.derives() {
		return inst.configureSources(config)
	}
	config = config.
		WithArgs(m.spec.Name).
		WithSysWalltime().
		WithSysNanotime().
		WithNanosleep(inst.sleep).
		WithOsyield(runtime.Gosched).
		WithRandSource(randomSource{inst}).
		WithStdout(inst.stdout).
		WithStderr(inst.stderr)
	for name, value := range m.spec.Env {
		config = config.WithEnv(name, value)
	}
	if m.spec.FS != nil {
		files := m.spec.FS(inst)
		inst.files, _ = files.(handleCounter)
		config = config.WithFSConfig(wazero.NewFSConfig().(sysfs.FSConfig).WithSysFSMount(&meteredFS{files, inst}, "/"))
	}
	return m.kind.configure(inst, config)
}

var _ Caller = (*instance)(nil)

// Fault implements Caller.
func (i *instance) Fault(err error) {
	if i.current != nil {
		i.current.fault(err)
	}
}

// Errno implements Caller. It may be called before the module is instantiated, since wazero opens the root of the tree then.
func (i *instance) Errno(errno uint16) {
	if i.errno != nil {
		i.errno.Set(uint64(errno))
	}
}

// Context implements Caller.
func (i *instance) Context() context.Context {
	if i.current == nil {
		return context.Background()
	}
	return i.current.ctx
}

// sleep implements WASI's sleep. It aborts the call when the call's context ends.
func (i *instance) sleep(ns int64) {
	i.current.busy()
	timer := time.NewTimer(time.Duration(ns))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-i.current.ctx.Done():
		i.current.checkContext()
	}
}

// invoke runs an exported function as the execution c.
func (i *instance) invoke(c *execution, f api.Function, parameters ...uint64) error {
	i.current, i.stderr.kept, i.stderr.logged, i.stdout.logged, i.panicked = c, nil, 0, 0, panicText{}
	defer func() { i.current = nil }()
	c.resetCounters()
	stack := [2]uint64{}
	copy(stack[:], parameters)
	err := f.CallWithStack(context.WithValue(c.ctx, executionKey{}, c), stack[:])
	c.returned = stack[0]
	i.flush()
	return err
}

// call runs one request. After an error the instance must not be used again.
func (i *instance) call(ctx context.Context, r Prepared) (Held, *Error) {
	c := newExecution(ctx, i.owner, i)
	c.busy = r.busy
	response, failure := i.owner.kind.handle(c, r)
	if failure != nil {
		c.uncover()
	}
	return response, failure
}

// respond runs an exported function as the call c. The Held has everything but the body.
func (i *instance) respond(c *execution, f api.Function, parameters ...uint64) (Held, *Error) {
	if err := i.invoke(c, f, parameters...); err != nil && !c.exited(err) {
		failure := i.owner.callError(c.ctx, err, c, i)
		failure.Detail = strings.TrimSpace(strings.Join(i.stderr.kept, "\n") + "\n" + failure.Detail)
		failure.Printed = c.printed.lines
		return Held{Result: call.Result{Fuel: c.fuelUsed()}}, failure
	}
	return c.held(nil), nil
}

// held returns the result of c with a body. Its Release releases the instance.
func (c *execution) held(body []byte) Held {
	i := c.instance
	return Held{
		Result: call.Result{Body: body, Fuel: c.fuelUsed(), StartFuel: i.startFuel + i.initFuel, Memory: int64(i.memory.size)},
		Faults: c.faults, execution: c,
	}
}

// resetFiles removes the state of the file system, and reports whether none remains. A file that is open has a position that calls change,
// so a module whose start function leaves one open cannot be restored.
func (i *instance) resetFiles() bool { return i.files == nil || i.files.Reset() }

func (i *instance) close() {
	i.kernel.close()
	if err := i.module.Close(context.Background()); err != nil {
		i.owner.spec.Log.Warn("cannot close an instance", "plugin", i.owner.spec.Name, "error", err)
	}
	i.giveCost()
}

// flush logs incomplete last lines.
func (i *instance) flush() {
	i.stderr.flush()
	i.stdout.flush()
}
