package dispatch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/base/ownedpath"
	"github.com/bulkhead-mcp/bulkhead/internal/base/platform"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/command"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/derived"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/code"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/grant"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/vfs"
)

// newWorker returns the Supervisor that runs the plugin's calls. It does not start a process.
func (p *plugin) newWorker() *worker.Supervisor {
	p.runner.started.Store(true)
	return worker.New(worker.Config{
		Plugin: p.Name, Command: p.dispatcher.workerCommand, Limits: p.workerLimits(), Queue: p.Grant.Limits.Queue,
		Prepare: func(ctx context.Context) (*worker.Launch, error) { return p.runner.plugin.Load().prepare(ctx) }, Pool: p.dispatcher.pool, Log: p.Log,
		CallsOthers: p.IsHost(),
	})
}

func (p *plugin) workerLimits() wire.Limits {
	l := p.Grant.Limits
	operation := l.Output // size limit of a notification
	if len(p.Grant.HTTP) > 0 {
		operation = max(operation, l.HTTPRequest/3*4)
	}
	return wire.Limits{
		OperationBytes: int(operation) + 1<<20, // 1 MiB more, for a URL, headers, and the request of a git operation
		Memory:         l.Memory, Input: l.Input, Output: l.Output, Fuel: l.Fuel, Time: l.Time,
		Operations: l.Operations, LogSize: int(l.Log), Files: l.Files, Concurrency: l.Concurrency,
	}
}

func (p *plugin) module() code.Module {
	return code.Module{Name: p.Name, File: p.Manifest.ModuleFile(), SHA256: p.Manifest.Module.SHA256}
}

// prepare returns the Launch of a worker of the plugin. It compiles the module if necessary, and resolves the grant to handles.
func (p *plugin) prepare(ctx context.Context) (*worker.Launch, error) {
	if err := p.checkGrant(""); err != nil {
		return nil, err
	}
	p.runner.compiling.Add(1)
	compiled, err := p.verifiedCode(ctx)
	p.runner.compiling.Add(-1)
	if err != nil {
		return nil, worker.CodeError(p.Name, p.Manifest.ModuleFile(), err)
	}
	if err := makeState(p.view.catalog.Places, p.Grant); err != nil {
		return nil, errors.Join(p.sandboxError(fmt.Errorf("state directory: %s", ownedpath.Explain(err))), compiled.Close())
	}
	set, err := grant.Resolve(grant.Config{
		Plugin: p.Name, Grant: p.Grant, Places: p.view.catalog.Places, Own: p.view.catalog.HostFiles, Writable: p.view.generation.writable(), Log: p.Log,
	})
	if err != nil {
		return nil, errors.Join(p.sandboxError(err), compiled.Close())
	}
	locks, err := p.locker(set)
	if err != nil {
		return nil, errors.Join(p.sandboxError(err), set.Close(), compiled.Close())
	}
	kept := p.openDerived(set, compiled)
	release := func() {
		locks.Close()
		if err := errors.Join(set.Close(), compiled.Close(), kept.Close()); err != nil {
			p.Log.Warn("cannot release the handles of a worker process", "error", err)
		}
	}
	l, err := p.launch(ctx, set, compiled, locks)
	if err != nil {
		release()
		return nil, p.sandboxError(err)
	}
	if kept != nil {
		l.Setup.Derived = wire.Derived{Kept: true, Tag: kept.Tag[:], Older: l.Inherit(kept.Older), Newer: l.Inherit(kept.Newer)}
		l.Derived = kept.Take
	}
	if locks := p.dispatcher.held.Load(); locks != nil && writes(l.Setup) {
		for _, held := range (*locks)(p.view.catalog.Places.State) {
			l.Setup.Held = append(l.Setup.Held, l.Inherit(held))
		}
	}
	l.Release = release
	return l, nil
}

// writes reports whether a worker gets a directory or repository that it may write.
func writes(s wire.Setup) bool {
	return slices.ContainsFunc(s.Mounts, func(m wire.Mount) bool { return m.Write }) || slices.ContainsFunc(s.Repos, func(r wire.Repo) bool { return r.Write || r.Commit })
}

// verifiedCode returns the compiled module. The module's file may be gone, or may have been replaced by a file without the digest of
// the manifest. verifiedCode then returns the code of the module that an earlier worker ran, whose digest was verified.
func (p *plugin) verifiedCode(ctx context.Context) (*code.Code, error) {
	store, module := p.dispatcher.store, p.module()
	compiled, err := store.Ensure(ctx, module, code.Foreground)
	if err == nil {
		p.runner.verified.Store(true)
		return compiled, nil
	}
	refused := (*code.Error)(nil)
	if module.SHA256 == "" || !p.runner.verified.Load() || !errors.As(err, &refused) || refused.Reason != code.Digest && refused.Reason != code.Missing {
		return nil, err
	}
	kept, missing := store.Verified(module.SHA256)
	if missing != nil {
		return nil, err
	}
	p.Log.Warn("the module that was verified before is used, as its file has been replaced without a new manifest and pin", "reason", refused.Text)
	return kept, nil
}

// openDerived opens the derived data of earlier workers with the same module and the same grants; nil if none are kept. Each set of
// grants has its own files, so a plugin never gets data of a file that only a different config lets it read.
func (p *plugin) openDerived(set *grant.Set, compiled *code.Code) *derived.Handles {
	if p.dispatcher.derived == nil {
		return nil
	}
	var paths []string
	for _, m := range set.Mounts {
		paths = append(paths, m.Path)
	}
	files, err := p.dispatcher.derived.Set(p.Name, compiled.SHA256, [][]string{paths, p.Grant.Deny, set.Own})
	if err == nil {
		var kept *derived.Handles
		if kept, err = files.Open(); err == nil {
			return kept
		}
	}
	p.Log.Warn("derived data are not kept", "reason", err)
	return nil
}

// sandboxError returns the failure of a plugin whose grant could not be set up.
func (p *plugin) sandboxError(err error) *engine.Error {
	p.Log.Error("the sandbox cannot be set up", "error", err)
	failure := &engine.Error{Code: failureSandbox, Plugin: p.Name, Message: "cannot run: " + err.Error(), Err: err}
	if errors.Is(err, grant.ErrMoved) {
		failure.Code = engine.CodeQueue
	}
	return failure
}

// launch returns the Launch of a worker that gets the handles of set.
func (p *plugin) launch(ctx context.Context, set *grant.Set, compiled *code.Code, locks *locker) (*worker.Launch, error) {
	env, err := p.environment(ctx)
	if err != nil {
		return nil, err
	}
	l := &worker.Launch{
		Stale: func() string {
			if changed, which := set.Changed(); changed {
				return which
			}
			return ""
		},
		Confined: p.view.generation.checkConfinement,
		Create:   locks.create,
		Locks:    locks.begin,
		Discard:  func() error { return p.dispatcher.store.Discard(compiled) },
	}
	const _ = uint(call.MaxUses - config.MaxDirectories) // the use of each grant can be recorded
	l.Setup = wire.Setup{
		Plugin: p.Name, Kind: p.Manifest.Module.Kind, Limits: p.workerLimits(), Reused: p.Grant.Reused,
		Code: wire.Code{File: p.Manifest.ModuleFile(), Dir: compiled.Dir, Root: l.Inherit(compiled.Handle())},
		Own:  platform.TreePaths(set.Own), Deny: p.Grant.Deny, Messages: p.Manifest.Offers.Logging,
		LogLevel: int8(p.Log.GetLevel()), HTTP: len(p.Grant.HTTP) > 0, Asks: asks(p.Manifest.Capabilities),
		Env: platform.TreeValues(env), Cwd: platform.TreePath(p.view.catalog.Places.Cwd), Project: platform.TreePath(p.view.catalog.Places.Project), Zone: p.dispatcher.zone(),
	}
	for _, m := range set.Mounts {
		mount := wire.Mount{Path: platform.TreePath(m.Path), Aliases: platform.TreePaths(m.Aliases), Write: m.Write, State: m.State, InGit: vfs.InGitDirectory(m.Path), File: l.Inherit(m.Dir), Staged: m.Absent && m.Dir != nil}
		for _, id := range m.Anchors {
			mount.Anchors = append(mount.Anchors, wire.FileID(id))
		}
		l.Setup.Mounts = append(l.Setup.Mounts, mount)
	}
	for _, r := range set.Repos {
		l.Setup.Repos = append(l.Setup.Repos, wire.Repo{Path: platform.TreePath(r.Path), Alias: platform.TreePath(r.Alias), Above: platform.TreePath(r.Above), Write: r.Write,
			Commit: r.Commit, File: l.Inherit(r.Dir)})
		l.Setup.Remotes = append(l.Setup.Remotes, r.Remotes...)
	}
	l.Setup.Commands = command.Tools{}
	for _, t := range p.Manifest.Tools { // all of them, since views that grant different tools share the worker
		if t.Output != nil {
			l.Setup.Schemas = append(l.Setup.Schemas, t.Output) // in the order of their output numbers
		}
		if p.Manifest.Module.Kind == manifest.KindCommand {
			l.Setup.Commands[t.Name] = t.Command
		}
	}
	l.Bound(compiled.Size, p.dispatcher.pool.Budget())
	return l, nil
}

// writable returns the resolved directories that any plugin may write. A plugin may have created the symbolic links below them.
func (g *generation) writable() []string {
	var dirs []string
	for _, v := range *g.views.Load() {
		if v.catalog.Key.Client != "" {
			continue // the complete Catalog of the project grants more
		}
		var grants []config.Grant
		for _, p := range v.plugins {
			if p.Problem == "" {
				grants = append(grants, p.Grant)
			}
		}
		dirs = append(dirs, grant.Writable(v.catalog.Places, grants...)...)
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// makeState creates the directory that contains all state directories. It fails if that directory does not belong to the user:
// another user may have created it since the host started.
func makeState(places config.Places, grant config.Grant) error {
	for _, m := range grant.FS {
		if !m.State {
			continue
		}
		if info, err := os.Stat(m.Path); err == nil && info.IsDir() {
			return ownedpath.Check(places.State)
		}
		return ownedpath.Make(places.State)
	}
	return nil
}

// asks returns the kinds of grants that a manifest requests.
func asks(c manifest.Capabilities) wire.Asks {
	return wire.Asks{HTTP: len(c.HTTP) > 0, Git: len(c.Git) > 0, Remotes: slices.ContainsFunc(c.Git, func(g manifest.Git) bool { return len(g.Remotes) > 0 })}
}
