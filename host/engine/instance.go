package engine

import (
	"bytes"
	"context"
	"crypto/rand"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental/sysfs"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// instance is a running module with its own memory. It runs one call at a time.
type instance struct {
	owner   *Module
	module  api.Module
	entry   api.Function
	current *call    // while it runs
	said    *lineLog // on stderr, which is where a crash is explained
	printed *lineLog // on stdout
}

func (m *Module) instantiate(ctx context.Context, l *loaded) (*instance, error) {
	inst := &instance{
		owner:   m,
		said:    &lineLog{log: m.spec.Log, level: hclog.Warn},
		printed: &lineLog{log: m.spec.Log, level: hclog.Info},
	}
	started := &call{ctx: ctx, module: m}
	inst.current = started
	mod, err := l.runtime.InstantiateModule(context.WithValue(ctx, callKey{}, started), l.compiled, m.moduleConfig(inst))
	inst.flush()
	inst.current = nil
	if err != nil {
		return nil, m.explain(ctx, err, started.ended)
	}
	inst.module = mod
	inst.entry = mod.ExportedFunction(abi.ExportCall)
	return inst, nil
}

// moduleConfig is what WASI gives an instance. wazero's own clocks and randomness are fixed ones, its
// sleep knows no context, and its default start function is a program's.
func (m *Module) moduleConfig(inst *instance) wazero.ModuleConfig {
	config := wazero.NewModuleConfig().
		WithName(""). // several instances of a module live side by side
		WithStartFunctions(abi.ExportInitialize).
		WithArgs(m.spec.Name).
		WithSysWalltime().
		WithSysNanotime().
		WithNanosleep(inst.sleep).
		WithOsyield(runtime.Gosched).
		WithRandSource(rand.Reader).
		WithStdout(inst.printed).
		WithStderr(inst.said)
	for name, value := range m.spec.Env {
		config = config.WithEnv(name, value)
	}
	if m.spec.FS != nil {
		mounts := wazero.NewFSConfig().(sysfs.FSConfig).WithSysFSMount(m.spec.FS(inst.fault), "/")
		config = config.WithFSConfig(mounts)
	}
	return config
}

// fault keeps an error of the file system's for the call that met it.
func (i *instance) fault(err error) {
	if i.current != nil {
		i.current.fault(err)
	}
}

// sleep heeds the end of the call, which wazero's own sleep does not.
func (i *instance) sleep(ns int64) {
	timer := time.NewTimer(time.Duration(ns))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-i.current.ctx.Done():
		i.current.checkTime()
	}
}

// call runs one request. After an error the instance must not be used again.
func (i *instance) call(ctx context.Context, request []byte) (Response, *Error) {
	c := &call{ctx: ctx, module: i.owner, request: request, hasRequest: true}
	i.current, i.said.kept = c, nil
	defer func() { i.current = nil }()
	stack := [1]uint64{uint64(len(request))}
	err := i.entry.CallWithStack(context.WithValue(ctx, callKey{}, c), stack[:])
	i.flush()
	if err != nil {
		failure := i.owner.explain(ctx, err, c.ended)
		failure.Detail = strings.TrimSpace(strings.Join(i.said.kept, "\n") + "\n" + failure.Detail)
		return Response{}, failure
	}
	if !c.hasResponse {
		return Response{}, i.owner.fail(CodeNoResponse, nil, "returned without an answer")
	}
	return Response{Body: c.response, Faults: c.faults}, nil
}

// flush logs lines that have no end yet.
func (i *instance) flush() {
	i.said.flush()
	i.printed.flush()
}

// lineLog turns what a module prints into lines of the host's log.
type lineLog struct {
	log   hclog.Logger
	level hclog.Level
	line  []byte
	kept  []string // the first and the last lines, for the error of a crash
}

// keptLines is how many lines an error repeats of the beginning, where a crash says its reason, and of
// the end.
const keptLines = 10

func (l *lineLog) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			l.keep(rest)
			break
		}
		l.keep(rest[:end])
		l.flush()
		rest = rest[end+1:]
	}
	return len(p), nil
}

// keep drops what makes a line longer than a log line may be.
func (l *lineLog) keep(p []byte) {
	l.line = append(l.line, p[:min(len(p), max(0, maxLogLine+1-len(l.line)))]...)
}

func (l *lineLog) flush() {
	if len(l.line) == 0 {
		return
	}
	text := bounded(string(l.line), maxLogLine)
	l.line = l.line[:0]
	l.log.Log(l.level, text)
	if l.kept = append(l.kept, text); len(l.kept) > 2*keptLines {
		l.kept = slices.Delete(l.kept, keptLines, keptLines+1)
	}
}
