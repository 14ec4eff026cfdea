package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/bulkhead-mcp/bulkhead/internal/config"
	"github.com/bulkhead-mcp/bulkhead/internal/confine"
	"github.com/bulkhead-mcp/bulkhead/internal/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/engine/code"
	"github.com/bulkhead-mcp/bulkhead/internal/grant"
	"github.com/bulkhead-mcp/bulkhead/internal/ownedpath"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/vfs"
	"github.com/bulkhead-mcp/bulkhead/internal/worker"
	"github.com/bulkhead-mcp/bulkhead/internal/worker/wire"
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
	ask := l.Output // of a notification
	if len(p.grant.HTTP) > 0 {
		ask = max(ask, l.HTTPRequest/3*4)
	}
	return wire.Limits{
		Ask:    int(ask) + 1<<20, // a URL, headers, and what git asks for
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
		return nil, worker.CodeError(p.name, p.manifest.ModuleFile(), err)
	}
	if err := makeState(p.host.places, p.grant); err != nil {
		return nil, errors.Join(p.sandboxError(fmt.Errorf("state folder: %s", ownedpath.Explain(err))), compiled.Close())
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
		Discard:  func() error { return p.host.store.Discard(compiled) },
	}
	l.Setup = wire.Setup{
		Plugin: p.name, Limits: p.workerLimits(), Reused: p.grant.Reused,
		Code:  wire.Code{File: p.manifest.ModuleFile(), Dir: compiled.Dir, Root: l.Inherit(compiled.Handle())},
		Locks: l.Inherit(set.Locks), Own: set.Own, Deny: p.grant.Deny, Messages: p.manifest.Offers.Logging,
		LogLevel: int8(p.log.GetLevel()), HTTP: len(p.grant.HTTP) > 0,
		Env: p.grant.Env, Cwd: p.host.places.Cwd, Project: p.host.places.Project, Zone: p.host.zone(),
	}
	for _, m := range set.Mounts {
		mount := wire.Mount{Path: m.Path, Write: m.Write, State: m.State, InGit: vfs.InGitDirectory(m.Path), File: l.Inherit(m.Dir), Staged: m.Absent && m.Dir != nil}
		for _, id := range m.Anchors {
			mount.Anchors = append(mount.Anchors, wire.FileID(id))
		}
		l.Setup.Mounts = append(l.Setup.Mounts, mount)
	}
	for _, r := range set.Repos {
		l.Setup.Repos = append(l.Setup.Repos, wire.Repo{Path: r.Path, Write: r.Write, File: l.Inherit(r.Dir)})
		l.Setup.Remotes = append(l.Setup.Remotes, r.Remotes...)
	}
	for _, t := range p.tools {
		if t.number > 0 { // in the order of the numbers
			l.Setup.Schemas = append(l.Setup.Schemas, t.Output)
		}
	}
	var err error
	if l.Setup.GitUser, err = json.Marshal(p.host.gitUser()); err != nil {
		return nil, fmt.Errorf("git's configuration of the user: %w", err)
	}
	l.Bound(compiled.Size, p.host.pool.Budget())
	return l, nil
}

// writable gives the resolved directories that some plugin may write: links below them may be plugin-made.
func (h *Host) writable() []string {
	var grants []config.Grant
	for _, p := range h.plugins {
		if p.problem == "" {
			grants = append(grants, p.grant)
		}
	}
	return grant.Writable(h.places, grants...)
}

// systemLayers is what the system offers to confine processes with.
var systemLayers = sync.OnceValue(confine.Probe)

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
	for _, layer := range missing {
		if report.Active(confine.LayerNamespaces) && systemLayers().Active(layer.Name) { // as where a directory was moved meanwhile: another try may do
			return fmt.Errorf("its process could not be confined: %s (%s)", layer.Name, layer.Reason)
		}
	}
	h.warnConfinement.Do(func() {
		h.log.Warn("worker processes are not confined in every way; `bulkhead doctor` explains", "missing", text)
	})
	return nil
}
