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

	"github.com/bulkhead-mcp/bulkhead/host/engine/meter"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// instance is a running module with its own memory. It runs one call at a time.
type instance struct {
	owner   *Module
	module  api.Module
	entry   api.Function
	fuel    api.MutableGlobal
	stack   api.MutableGlobal
	globals []api.Global // mutable ones of the module's own
	memory  *linear
	files   handles  // nil: it has none
	idle    int      // handles that are open between calls
	current *call    // while it runs
	said    *lineLog // on stderr, which is where a crash is explained
	printed *lineLog // on stdout
}

// handles is what a file tree may tell of itself: how many files and directories are open, and whether the
// descriptor of "/" that every instance begins with is not as it was.
type handles interface {
	Handles() int
	Altered() bool
}

// instantiate makes an instance, which is of no use before it is initialized or put into the state of an
// image.
func (m *Module) instantiate(ctx context.Context) (_ *instance, failure *Error) {
	inst := &instance{owner: m}
	inst.said = &lineLog{instance: inst, level: hclog.Warn}
	inst.printed = &lineLog{instance: inst, level: hclog.Info}
	started := newCall(ctx, m, inst)
	inst.current = started
	defer func() {
		inst.current = nil
		if fault := recover(); fault != nil { // wazero has no way to report that there is no memory
			err, ok := fault.(error)
			if !ok {
				panic(fault)
			}
			failure = m.fail(CodeMemory, err, "cannot run: there is no memory for it")
		}
	}()
	ctx = context.WithValue(ctx, callKey{}, started)
	ctx = experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(inst.allocate))
	mod, err := m.program.Runtime.InstantiateModule(ctx, m.program.Compiled, m.moduleConfig(inst))
	inst.flush()
	if err != nil {
		failure := m.explain(ctx, err, started, inst)
		if inst.memory != nil {
			inst.memory.Free()
		}
		return nil, failure
	}
	inst.module = mod
	inst.entry = mod.ExportedFunction(abi.ExportCall)
	inst.meet(mod)
	for _, g := range m.program.Globals {
		inst.globals = append(inst.globals, mod.ExportedGlobal(g.Export))
	}
	if inst.files != nil {
		inst.idle = inst.files.Handles()
	}
	return inst, nil
}

// meet finds the counters of the module, which may call the host before it is there as a whole.
func (i *instance) meet(mod api.Module) {
	if i.fuel == nil {
		i.fuel = mod.ExportedGlobal(meter.ExportFuel).(api.MutableGlobal)
		i.stack = mod.ExportedGlobal(meter.ExportStack).(api.MutableGlobal)
	}
}

// allocate gives an instance its linear memory. A panic is the only way to refuse.
func (i *instance) allocate(_, _ uint64) experimental.LinearMemory {
	memory, err := newLinear(uint64(i.owner.spec.Memory))
	if err != nil {
		panic(err)
	}
	i.memory = memory
	return memory
}

// moduleConfig is what WASI gives an instance. wazero's own clocks and randomness are fixed ones, its
// sleep knows no context, and its default start function is a program's.
func (m *Module) moduleConfig(inst *instance) wazero.ModuleConfig {
	config := wazero.NewModuleConfig().
		WithName("").         // several instances of a module live side by side
		WithStartFunctions(). // _initialize is called when the instance is known
		WithArgs(m.spec.Name).
		WithSysWalltime().
		WithSysNanotime().
		WithNanosleep(inst.sleep).
		WithOsyield(runtime.Gosched).
		WithRandSource(random{inst}).
		WithStdout(inst.printed).
		WithStderr(inst.said)
	for name, value := range m.spec.Env {
		config = config.WithEnv(name, value)
	}
	if m.spec.FS != nil {
		files := m.spec.FS(inst)
		inst.files, _ = files.(handles)
		config = config.WithFSConfig(wazero.NewFSConfig().(sysfs.FSConfig).WithSysFSMount(&tree{files, inst}, "/"))
	}
	return config
}

var _ Caller = (*instance)(nil)

// Fault implements Caller.
func (i *instance) Fault(err error) {
	if i.current != nil {
		i.current.fault(err)
	}
}

// Context implements Caller.
func (i *instance) Context() context.Context {
	if i.current == nil {
		return context.Background()
	}
	return i.current.ctx
}

// sleep heeds the end of the call, which wazero's own sleep does not.
func (i *instance) sleep(ns int64) {
	i.current.busy()
	timer := time.NewTimer(time.Duration(ns))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-i.current.ctx.Done():
		i.current.checkTime()
	}
}

// initialize runs _initialize, if there is one.
func (i *instance) initialize(ctx context.Context) *Error {
	f := i.module.ExportedFunction(abi.ExportInitialize)
	if f == nil {
		return nil
	}
	c := newCall(ctx, i.owner, i)
	if err := i.run(c, f); err != nil {
		return i.owner.explain(ctx, err, c, i)
	}
	return nil
}

// run calls a function of the module's.
func (i *instance) run(c *call, f api.Function, parameters ...uint64) error {
	i.current, i.said.kept, i.said.logged, i.printed.logged = c, nil, 0, 0
	defer func() { i.current = nil }()
	c.begin()
	stack := [1]uint64{}
	copy(stack[:], parameters)
	err := f.CallWithStack(context.WithValue(c.ctx, callKey{}, c), stack[:])
	i.flush()
	return err
}

// call runs one request. After an error the instance must not be used again.
func (i *instance) call(ctx context.Context, r Request) (Response, *Error) {
	c := newCall(ctx, i.owner, i)
	c.request, c.hasRequest, c.busy = envelope(ctx, r.Method, r.Params), true, r.busy
	return i.answer(c)
}

// try has the module say what it has handlers for, by which it gets ready for other calls.
func (i *instance) try(ctx context.Context) *Error {
	c := newCall(ctx, i.owner, i)
	c.request, c.hasRequest, c.trial = []byte(`{"method":"`+abi.MethodDescribe+`"}`), true, true
	_, failure := i.answer(c)
	return failure
}

func (i *instance) answer(c *call) (Response, *Error) {
	if err := i.run(c, i.entry, uint64(len(c.request))); err != nil {
		failure := i.owner.explain(c.ctx, err, c, i)
		failure.Detail = strings.TrimSpace(strings.Join(i.said.kept, "\n") + "\n" + failure.Detail)
		return Response{Fuel: c.used()}, failure
	}
	response := Response{Body: c.response, Faults: c.faults, Fuel: c.used()}
	if !c.hasResponse {
		return response, i.owner.fail(CodeNoResponse, nil, "returned without an answer")
	}
	return response, nil
}

// untouched reports whether the instance has the descriptors that it had before its calls.
func (i *instance) untouched() bool {
	return i.files == nil || i.files.Handles() == i.idle && !i.files.Altered()
}

// close releases the instance.
func (i *instance) close() {
	if err := i.module.Close(context.Background()); err != nil {
		i.owner.spec.Log.Warn("close an instance", "plugin", i.owner.spec.Name, "error", err)
	}
}

// flush logs lines that have no end yet.
func (i *instance) flush() {
	i.said.flush()
	i.printed.flush()
}
