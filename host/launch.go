package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/host/config"
	"github.com/bulkhead-mcp/bulkhead/host/engine"
	"github.com/bulkhead-mcp/bulkhead/host/engine/code"
	"github.com/bulkhead-mcp/bulkhead/host/internal/confine"
	"github.com/bulkhead-mcp/bulkhead/host/internal/grant"
	"github.com/bulkhead-mcp/bulkhead/host/internal/worker"
	"github.com/bulkhead-mcp/bulkhead/host/internal/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/host/sandbox"
)

// newWorker makes what runs the plugin's calls. It starts nothing.
func (p *plugin) newWorker() *worker.Supervisor {
	p.started.Store(true)
	return worker.New(worker.Config{
		Plugin: p.name, Command: p.host.workerCommand, Limits: p.workerLimits(), Queue: p.grant.Limits.Queue,
		Prepare: p.prepare, Pool: p.host.pool, Log: p.log,
	})
}

func (p *plugin) workerLimits() wire.Limits {
	l := p.grant.Limits
	return wire.Limits{
		Memory: l.Memory, Input: l.Input, Output: l.Output, Fuel: l.Fuel, Time: l.Time,
		Operations: l.Operations, LogSize: int(l.Log), Files: l.Files, Concurrency: l.Concurrency,
	}
}

func (p *plugin) module() code.Module {
	return code.Module{Name: p.name, File: p.manifest.ModuleFile(), SHA256: p.manifest.Module.SHA256}
}

// prepare says what a worker of the plugin is started with: its module is compiled if it is not, and what it is
// granted is resolved into handles.
func (p *plugin) prepare(ctx context.Context) (*worker.Launch, error) {
	compiled, err := p.host.store.Ensure(ctx, p.module(), code.Foreground)
	if err != nil {
		return nil, engine.CodeError(p.name, p.manifest.ModuleFile(), err)
	}
	set, err := grant.Resolve(grant.Config{
		Plugin: p.name, Grant: p.grant, Places: p.host.places, Own: p.host.own, Writable: p.host.writable(), Log: p.log,
	})
	if err != nil {
		return nil, errors.Join(p.sandboxError(err), compiled.Close())
	}
	release := func() {
		if err := errors.Join(set.Close(), compiled.Close()); err != nil {
			p.log.Warn("release what a worker process was granted", "error", err)
		}
	}
	l, err := p.launch(set, compiled)
	if err != nil {
		release()
		return nil, p.sandboxError(err)
	}
	l.Release = release
	return l, nil
}

// sandboxError is the failure of a plugin whose grant cannot be set up.
func (p *plugin) sandboxError(err error) *engine.Error {
	p.log.Error("the sandbox cannot be set up", "error", err)
	return &engine.Error{Code: failureSandbox, Plugin: p.name, Message: "cannot run: " + err.Error(), Err: err}
}

// launch describes a worker that gets a set of handles.
func (p *plugin) launch(set *grant.Set, compiled *code.Code) (*worker.Launch, error) {
	l := &worker.Launch{
		Stale: func() string {
			if changed, which := set.Changed(); changed {
				return which
			}
			return ""
		},
		Confined: p.host.confined,
		Create:   set.Create,
	}
	inherit := func(file *os.File) int {
		if file == nil {
			return 0
		}
		l.Files = append(l.Files, file)
		return worker.FirstFile + len(l.Files) - 1
	}
	l.Setup = wire.Setup{
		Plugin: p.name, Limits: p.workerLimits(), Reused: p.grant.Reused,
		Code:  wire.Code{File: p.manifest.ModuleFile(), Dir: compiled.Dir, Root: inherit(compiled.Handle())},
		Locks: inherit(set.Locks), Own: set.Own, Deny: p.grant.Deny, Messages: p.manifest.Offers.Logging,
		LogLevel: int8(levelOf(p.log)),
	}
	state := ""
	for _, m := range set.Mounts {
		mount := wire.Mount{Path: m.Path, Write: m.Write, State: m.State, File: inherit(m.Dir), Staged: m.Absent && m.Dir != nil}
		for _, id := range m.Anchors {
			mount.Anchors = append(mount.Anchors, wire.FileID(id))
		}
		l.Setup.Mounts = append(l.Setup.Mounts, mount)
		if m.State {
			state = m.Path
		}
	}
	for _, r := range set.Repos {
		if r.Dir != nil {
			l.Setup.Repos = append(l.Setup.Repos, wire.Repo{Path: r.Path, Write: r.Write, File: inherit(r.Dir)})
		}
		l.Setup.Remotes = append(l.Setup.Remotes, r.Remotes...)
	}
	for name, value := range sandbox.Environment(p.grant, p.host.places, mountPaths(set), state, p.host.zone()) {
		l.Setup.Env = append(l.Setup.Env, wire.EnvPair{Name: name, Value: value})
	}
	for _, t := range p.tools {
		if t.Output != nil {
			l.Setup.Schemas = append(l.Setup.Schemas, t.Output)
		}
	}
	var err error
	if l.Setup.GitUser, err = json.Marshal(p.host.gitUser()); err != nil {
		return nil, fmt.Errorf("git's configuration of the user: %w", err)
	}
	l.Setup.Confine = wire.Confine{Memory: dataLimit(l.Setup.Limits, compiled.Size), OpenFiles: openFiles(l.Setup)}
	return l, nil
}

// levelOf is the least level that a logger writes.
func levelOf(log hclog.Logger) hclog.Level { return log.GetLevel() }

func mountPaths(set *grant.Set) []string {
	var paths []string
	for _, m := range set.Mounts {
		paths = append(paths, m.Path)
	}
	return paths
}

// A worker's memory beside what its calls may take, in bytes. The figures are measured; docs/security.md has the
// formula for admins.
const (
	runtimeMemory = 160 << 20 // the Go runtime, this program, and what the collector has not given back
	perCodeByte   = 8         // of compiled code: wazero keeps a copy, and decodes the module
	perCall       = 24 << 20  // native stacks and the host's own state of a call
)

// dataLimit is the worker's RLIMIT_DATA: the last resort, since reaching it ends all of its calls.
func dataLimit(l wire.Limits, codeSize int64) uint64 {
	calls := int64(l.Concurrency)
	instances := calls + 2 // the image, and one that is being reset
	return uint64(runtimeMemory + perCodeByte*codeSize + instances*l.Memory + calls*(perCall+2*l.Input+3*l.Output))
}

// openFiles is the worker's RLIMIT_NOFILE: each call has a file tree of its own, and each operation some more.
func openFiles(s wire.Setup) uint64 {
	return uint64(64 + len(s.Mounts) + len(s.Repos) + (s.Limits.Concurrency+2)*(s.Limits.Files+16))
}

// findWritable gives the resolved directories that some plugin may write: links below them may be plugin-made.
func (h *Host) findWritable() []string {
	var grants []config.Grant
	for _, p := range h.plugins {
		if p.problem == "" {
			grants = append(grants, p.grant)
		}
	}
	return grant.Writable(h.places, grants...)
}

// confined judges the confinement of a worker, and says once which layers are missing.
func (h *Host) confined(report confine.Report) error {
	missing := report.Missing()
	if len(missing) == 0 {
		return nil
	}
	var names []string
	for _, layer := range missing {
		names = append(names, layer.Name+" ("+layer.Reason+")")
	}
	text := strings.Join(names, ", ")
	if h.confinementRequired {
		return fmt.Errorf(`this system cannot confine worker processes as confinement = "required" in [server] wants: missing are %s`, text)
	}
	h.warnConfinement.Do(func() {
		h.log.Warn("worker processes are not confined in every way; `bulkhead doctor` explains", "missing", text)
	})
	return nil
}
