// Package build makes plugins that a host can load out of their sources. Build compiles one folder, All
// several; each becomes a folder with the module, its manifest with the module's digest filled in, and
// the readme and licence. Check says everything that is wrong with a source or with a built plugin.
//
// A module is run once before it is accepted, without files, variables and host operations, to ask what
// it has handlers for: one whose handlers and manifest disagree is refused. The go tool, or the command
// that a manifest names, runs as the user and outside any sandbox. Nothing here decides what a plugin is
// granted.
package build

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/host/engine/code"
	"github.com/bulkhead-mcp/bulkhead/host/internal/reexec"
	"github.com/bulkhead-mcp/bulkhead/host/tomlfile"
)

// Options say how plugins are built. The zero value builds into dist/plugins below the working directory.
type Options struct {
	// Out is the folder that gets a folder of the plugin's name; empty: dist/plugins. It is made if it is
	// missing.
	Out string
	// Progress gets a line for each step, for a person to read, one call at a time; nil: none.
	Progress func(format string, args ...any)
	Log      hclog.Logger // gets the modules' own lines too; nil: no log
	// CacheDir is the cache of compiled code: with it, the first call of a host that shares it need
	// not compile. Empty: nothing is kept.
	CacheDir string
	// Memory and Time bound a module that is asked for its handlers; 0: as its manifest asks.
	Memory int64
	Time   time.Duration
}

// Result is a plugin that was built.
type Result struct {
	Name     string            `json:"name"`
	Dir      string            `json:"dir"`                // Out and the name
	Module   string            `json:"module"`             // path of the module in Dir
	SHA256   string            `json:"sha256"`             // of the module, lower-case hex
	Size     int64             `json:"size"`               // of the module, in bytes
	Took     time.Duration     `json:"took_ns"`            // with waiting for the other builds of All
	Warnings tomlfile.Problems `json:"warnings,omitempty"` // of the manifest
}

// Build builds the plugin in the folder dir. The error is tomlfile.Problems where the plugin or the place
// that it is built to is at fault, all of them at once; ctx's where that ended. Whatever the error, a
// plugin that was built there before is as it was.
func Build(ctx context.Context, dir string, o Options) (Result, error) {
	b, err := newBuilder(o)
	if err != nil {
		return Result{}, err
	}
	defer b.close()
	s, ps := load(dir)
	result, err := b.build(ctx, s, ps)
	if ps := (tomlfile.Problems)(nil); err != nil && !errors.As(err, &ps) {
		err = fmt.Errorf("%s: not built: %w", dir, err)
	}
	return result, err
}

// builder is what the builds of one command share.
type builder struct {
	out      string
	log      hclog.Logger
	store    *code.Store
	memory   int64         // of a module that is asked for its handlers; 0: as its manifest asks
	time     time.Duration // likewise
	making   sync.Mutex    // see make
	saying   sync.Mutex    // guards progress
	progress func(format string, args ...any)
}

// say tells a step of the plugin called name.
func (b *builder) say(name, format string, args ...any) {
	if b.progress == nil {
		return
	}
	b.saying.Lock()
	defer b.saying.Unlock()
	b.progress("%s: %s", name, fmt.Sprintf(format, args...))
}

func newBuilder(o Options) (*builder, error) {
	b := &builder{out: o.Out, progress: o.Progress, log: o.Log, memory: o.Memory, time: o.Time}
	if b.out == "" {
		b.out = filepath.Join("dist", "plugins")
	}
	if b.log == nil {
		b.log = hclog.NewNullLogger()
	}
	var err error
	if reexec.Command(reexec.Worker) == nil {
		return nil, errors.New("host.RunChild must be called first in main: modules run in processes of their own")
	}
	if b.store, err = code.Open(code.Config{Dir: o.CacheDir, Compiler: reexec.Command(reexec.Compiler), Log: b.log}); err != nil {
		return nil, err
	}
	return b, nil
}

func (b *builder) close() {
	if err := b.store.Close(); err != nil {
		b.log.Warn("close the store of compiled code", "error", err)
	}
}

// build builds s, of which ps are the problems of its loading; s is nil where it could not be read.
func (b *builder) build(ctx context.Context, s *source, ps tomlfile.Problems) (Result, error) {
	if s == nil {
		return Result{}, ps
	}
	if ps = append(ps, s.check()...); ps.Err() != nil {
		return Result{}, byLine(ps).Err()
	}
	start := time.Now()
	result, err := b.stage(ctx, s)
	if err != nil && ctx.Err() != nil {
		return Result{}, context.Cause(ctx)
	}
	if err != nil {
		return Result{}, err
	}
	result.Took, result.Warnings = time.Since(start), ps.Warnings()
	b.say(result.Name, "%.1f MB in %.1fs → %s", float64(result.Size)/1e6, result.Took.Seconds(), result.Dir)
	return result, nil
}

// stage makes the finished folder beside its place and puts it there in one step.
func (b *builder) stage(ctx context.Context, s *source) (Result, error) {
	result := Result{Name: s.m.Name, Dir: filepath.Join(b.out, s.m.Name)}
	result.Module = filepath.Join(result.Dir, s.m.Module.File)
	st, err := newStage(b.out, s.m.Name, b.log)
	if err != nil {
		return Result{}, err
	}
	defer st.close()
	// Asked again before it is done; now, so that nobody waits for a build in vain.
	if err := st.locked(func() error { return s.mayReplace(result.Dir).Err() }); err != nil {
		return Result{}, err
	}
	module, err := b.make(ctx, s, st)
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
	pinned := result.SHA256
	if !s.makes() && s.m.Module.SHA256 != "" {
		pinned = s.m.Module.SHA256 // what the author says it is
	}
	if err := byLine(b.inspect(ctx, s, filepath.Join(st.plugin, s.m.Module.File), pinned)).Err(); err != nil {
		return Result{}, err
	}
	return result, st.replace(s, result.Dir)
}
