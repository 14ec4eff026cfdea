// Package build builds plugins from their sources. Build builds the plugin in one directory, and All the plugins
// in several. The output is a directory with the module, the manifest with the module's digest, and the readme and
// licence. Check reports all problems of a source or of a built plugin. Inspect describes any file that may be a module.
//
// Before a module is accepted it runs once, without files, variables and host operations, and is asked for its
// handlers. They must agree with the manifest. The go tool, or the command that a manifest names, runs as the
// user and outside any sandbox.
package build

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/progress"
	"github.com/bulkhead-mcp/bulkhead/internal/base/reexec"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/code"
)

// Options are the options of a build. The zero value builds into dist/plugins below the working directory.
type Options struct {
	// Out is the parent of the output directories, which have the plugins' names; empty: dist/plugins. It is
	// created if it is absent.
	Out      string
	Progress *progress.Set // shows each build; nil: shows none
	Log      hclog.Logger  // also receives the log lines of modules; nil: no log
	// CacheDir is the cache of compiled code. A host that shares it does not compile the module again. Empty:
	// no cache.
	CacheDir string
	// Memory and Time bound a module that is asked for its handlers; 0: the limits of its manifest.
	Memory int64
	Time   time.Duration
	// CommandTime bounds each build command, which the builds of later plugins wait for; 0: defaultCommandTime.
	CommandTime time.Duration
	// Built is called when All has built a plugin, with its index, while All builds others. It may be called concurrently. Nil: nothing
	// is called.
	Built func(index int)
	// LeftOut is called by All, after all builds, for each plugin whose build command exits with 69 because it lacks a tool, if All builds
	// several. Nil, or a single plugin: that is a failure.
	LeftOut func(UnavailableError)
	// Grace is how long a build command may clean up after a cancellation; 0: five seconds.
	Grace time.Duration
}

// defaultCommandTime is the default of Options.CommandTime. A build with a cold cache on a busy machine takes minutes.
const defaultCommandTime = 30 * time.Minute

// Result is a built plugin.
type Result struct {
	Name     string            `json:"name"`
	Dir      string            `json:"dir"`                // output directory: Name below Out
	Module   string            `json:"module"`             // path of the module in Dir
	SHA256   string            `json:"sha256"`             // SHA-256 of the module in lower-case hex
	Size     int64             `json:"size"`               // size of the module in bytes
	Took     time.Duration     `json:"took_ns"`            // duration, including the time waiting for the other builds of All
	Warnings tomlfile.Problems `json:"warnings,omitempty"` // warnings about the manifest
}

// Build builds the plugin in the directory dir. The error is tomlfile.Problems, with all problems, if the plugin
// or the output directory is invalid, and the cause of ctx if that was cancelled. After an error, a plugin that
// was built before is unchanged.
func Build(ctx context.Context, dir string, o Options) (Result, error) {
	b, err := newBuilder(ctx, o)
	if err != nil {
		return Result{}, err
	}
	defer b.close()
	s, ps := load(dir)
	result, err := b.build(ctx, s, ps, new(turns).next(), o.Progress.Add(taskName(dir, s)))
	if ps := (tomlfile.Problems)(nil); err != nil && !errors.As(err, &ps) {
		err = fmt.Errorf("%s: not built: %w", dir, err)
	}
	return result, err
}

// builder is the shared state of the builds of one Build or All.
type builder struct {
	out     string
	log     hclog.Logger
	store   *code.Store
	memory  int64         // Options.Memory
	time    time.Duration // Options.Time
	command time.Duration // Options.CommandTime
	grace   time.Duration // Options.Grace
}

// newBuilder opens the store of compiled code, unless ctx has ended.
func newBuilder(ctx context.Context, o Options) (*builder, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	b := &builder{out: o.out(), log: o.Log, memory: o.Memory, time: o.Time, command: cmp.Or(o.CommandTime, defaultCommandTime), grace: cmp.Or(o.Grace, grace)}
	if b.log == nil {
		b.log = hclog.NewNullLogger()
	}
	var err error
	if reexec.Command(reexec.Worker) == nil {
		return nil, errors.New("host.RunChild must be called first in main: modules run in child processes")
	}
	if b.store, err = code.Open(code.Config{Dir: o.CacheDir, Compiler: reexec.Command(reexec.Compiler), Log: b.log}); err != nil {
		return nil, err
	}
	return b, nil
}

func (b *builder) close() {
	if err := b.store.Close(); err != nil {
		b.log.Warn("cannot close the store of compiled code", "error", err)
	}
}

// build builds s. ps are the problems of loading s, which is nil if it could not be parsed.
func (b *builder) build(ctx context.Context, s *source, ps tomlfile.Problems, turn *turn, task *progress.Task) (result Result, err error) {
	defer turn.end()
	defer func() {
		if lacking := (*UnavailableError)(nil); errors.As(err, &lacking) {
			task.Fail("a tool is missing")
		} else if err != nil {
			task.Fail("") // the caller shows err
		}
	}()
	if s == nil {
		return Result{}, ps
	}
	if ps = append(ps, s.check()...); ps.Err() != nil {
		return Result{}, sortByLine(ps).Err()
	}
	start := time.Now()
	result, err = b.stage(ctx, s, turn, task)
	if err != nil && ctx.Err() != nil {
		return Result{}, context.Cause(ctx)
	}
	if err != nil {
		return Result{}, err
	}
	result.Took, result.Warnings = time.Since(start), ps.Warnings()
	task.Done("%.1f MB in %.1fs → %s", float64(result.Size)/1e6, result.Took.Seconds(), result.Dir)
	return result, nil
}

// stage builds the output in a staging directory beside the target, and then renames it.
func (b *builder) stage(ctx context.Context, s *source, turn *turn, task *progress.Task) (Result, error) {
	result := Result{Name: s.m.Name, Dir: filepath.Join(b.out, s.m.Name)}
	result.Module = filepath.Join(result.Dir, s.m.Module.File)
	st, err := newStage(b.out, s.m.Name, b.log)
	if err != nil {
		return Result{}, err
	}
	defer st.close()
	// Fail early: replace checks this again.
	if err := st.withLock(func() error { return s.checkTarget(result.Dir).Err() }); err != nil {
		return Result{}, err
	}
	turn.wait()
	module, err := b.makeModule(ctx, s, st, task)
	turn.end()
	if err != nil {
		return Result{}, err
	}
	defer module.Close()
	if result.SHA256, result.Size, err = st.addModule(s, module); err != nil {
		return Result{}, err
	}
	if err := st.addTexts(s, result.SHA256); err != nil {
		return Result{}, err
	}
	task.Step("checking its handlers")
	pinned := result.SHA256
	if !s.hasBuild() && s.m.Module.SHA256 != "" {
		pinned = s.m.Module.SHA256 // the author's digest of a prebuilt module
	}
	if err := sortByLine(b.inspect(ctx, s, filepath.Join(st.plugin, s.m.Module.File), pinned)).Err(); err != nil {
		return Result{}, err
	}
	return result, st.replace(s, result.Dir)
}
