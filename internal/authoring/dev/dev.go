// Package dev builds a plugin whenever its source changes, and has a host serve the last build that succeeded. Start with Start and
// Builder.Open.
//
// Builds do not overlap, not even with builds of the same source by other processes. Each build has a directory of its own, and the host
// switches from one to the next. A build that fails, or that the host rejects, does not change which build is served.
package dev

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/build"
	"github.com/bulkhead-mcp/bulkhead/internal/base/filelock"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tempdir"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/watch"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// Host is what a Builder needs of a host.Host.
type Host interface {
	Reload(ctx context.Context) error
	Warn(text string)
}

// Config configures Start.
type Config struct {
	Dir   string        // directory of the plugin's source
	Watch []string      // further directories whose files are sources
	Build build.Options // Out is ignored
	Log   hclog.Logger
}

// Builder builds one plugin until it is closed.
type Builder struct {
	config Config
	roots  []string     // absolute paths of the directories with sources
	temp   *tempdir.Dir // contains the directory of each build
	log    hclog.Logger
	stop   context.CancelFunc
	ended  sync.WaitGroup

	tried, built chan struct{} // closed after the first build, and after the first build that succeeded

	building sync.Mutex // held during a build
	// building guards the following fields.
	number  int     // number of builds
	failed  int     // number of builds that failed since the last one that succeeded
	outputs outputs // files that builds write

	// serving is held while the host opens or switches to another build. It guards the following fields.
	serving  sync.Mutex
	host     Host   // nil before Open
	previous string // directory of the build before the one in service; empty: none

	mu sync.Mutex
	// mu guards the following fields.
	ignored string // path of the module if a build command writes it
	live    string // directory of the build in service; empty: none
	problem error  // why live is empty
}

// Start begins to build the plugin in the background. The error is tomlfile.Problems if a directory does not exist or has no manifest.
func Start(ctx context.Context, c Config) (*Builder, error) {
	b := &Builder{config: c, log: c.Log, tried: make(chan struct{}), built: make(chan struct{}), problem: errors.New("the first build is not finished")}
	for _, dir := range append([]string{c.Dir}, c.Watch...) {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		if info, err := os.Stat(abs); err != nil || !info.IsDir() {
			return nil, tomlfile.Problems{{File: dir, What: "is not a directory", Remedy: "name the directory of a plugin's source"}}
		}
		b.roots = append(b.roots, abs)
	}
	if _, err := os.Stat(filepath.Join(c.Dir, manifest.FileName)); err != nil {
		_, problems := manifest.Load(c.Dir)
		return nil, problems
	}
	var err error
	if b.temp, err = tempdir.New("dev"); err != nil {
		return nil, err
	}
	b.ignore()
	ctx, b.stop = context.WithCancel(ctx)
	b.ended.Go(func() {
		watch.Run(ctx, watch.Config{
			Paths:   func() []string { return nil },
			Tree:    func() (files, dirs []string) { return walk(b.roots, b.ignoredFile()) },
			Changed: func() { b.Rebuild(ctx) },
			Again:   b.again,
			Log:     b.log,
		})
	})
	return b, nil
}

// Close cancels a build in progress, and removes all builds.
func (b *Builder) Close() error {
	b.stop()
	b.ended.Wait()
	b.building.Lock()
	defer b.building.Unlock()
	return b.temp.Remove()
}

// Tried returns a channel that is closed after the first build.
func (b *Builder) Tried() <-chan struct{} { return b.tried }

// Built returns a channel that is closed after the first build that succeeded.
func (b *Builder) Built() <-chan struct{} { return b.built }

// Plugin returns the plugin, for the options of the host.
func (b *Builder) Plugin() *discovery.Development {
	return &discovery.Development{Source: b.config.Dir, Built: func() (string, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.live, b.problem
	}}
}

// Open calls open, which opens the host that serves the plugin. The host serves further builds too.
func (b *Builder) Open(open func() (Host, error)) error {
	b.serving.Lock()
	defer b.serving.Unlock()
	host, err := open()
	if err == nil {
		b.host = host
	}
	return err
}

// Rebuild builds the plugin and has the host serve the result. It reports errors to the log and to clients.
func (b *Builder) Rebuild(ctx context.Context) {
	b.building.Lock()
	defer b.building.Unlock()
	defer closeOnce(b.tried)
	unlock, err := b.lock(ctx)
	if err == nil {
		defer unlock()
		err = b.build(ctx)
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		b.failed++
		b.fail(ctx, err)
	default:
		closeOnce(b.built)
		b.failed = 0
	}
}

func (b *Builder) build(ctx context.Context) error {
	b.ignore()
	b.number++
	b.log.Info("building", "dir", b.config.Dir)
	options := b.config.Build
	options.Out, options.Log, options.Grace = filepath.Join(b.temp.Path, strconv.Itoa(b.number)), b.log, grace
	result, err := build.Build(ctx, b.config.Dir, options)
	if err != nil {
		return errors.Join(err, os.RemoveAll(options.Out))
	}
	outcome, err := b.serve(ctx, result.Dir)
	if err != nil {
		return errors.Join(err, os.RemoveAll(options.Out))
	}
	if b.failed > 0 {
		b.tell("the plugin is built again, and the new build is in service")
		outcome += ", after builds that failed"
	}
	b.log.Info(outcome, "plugin", result.Name, "bytes", result.Size, "took", result.Took.Round(time.Millisecond))
	return nil
}

// serve has the host serve the build in dir, and removes the build before the previous one. outcome is the message for the log. If the host
// rejects the build, the previous build stays in service.
func (b *Builder) serve(ctx context.Context, dir string) (outcome string, err error) {
	b.serving.Lock()
	defer b.serving.Unlock()
	previous, problem := b.setLive(dir, nil)
	if isSame(previous, dir) {
		b.setLive(previous, nil)
		return "built, and nothing has changed", os.RemoveAll(filepath.Dir(dir))
	}
	if b.host != nil {
		if err := b.host.Reload(ctx); err != nil {
			b.setLive(previous, problem)
			return "", err
		}
	}
	// Calls in flight still use the previous build, so it is removed later.
	old := b.previous
	if b.previous = previous; old != "" {
		err = os.RemoveAll(filepath.Dir(old))
	}
	return "built, and in service", err
}

// setLive makes dir the build in service, and returns the previous values.
func (b *Builder) setLive(dir string, problem error) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	previous, was := b.live, b.problem
	b.live, b.problem = dir, problem
	return previous, was
}

// fail reports that a build failed.
func (b *Builder) fail(ctx context.Context, err error) {
	b.mu.Lock()
	live := b.live
	if live == "" {
		b.problem = err
	}
	b.mu.Unlock()
	if live != "" {
		b.log.Error("the build failed, and the last one that succeeded stays in service", "reason", err.Error())
		b.tell("the last change of the plugin is not in service: its build failed: " + err.Error())
		return
	}
	b.log.Error("the build failed, and nothing is offered until one succeeds", "reason", err.Error())
	b.tell("the plugin is not built, and nothing is offered until it is: " + err.Error())
	b.serving.Lock()
	defer b.serving.Unlock()
	if b.host != nil {
		if err := b.host.Reload(ctx); err != nil { // so that new clients are told the reason
			b.log.Debug("cannot update the instructions of the server", "reason", err)
		}
	}
}

// maxText bounds a log message to clients, in bytes, because clients may pass it to a model.
const maxText = 4 << 10

// tell sends a log message to clients.
func (b *Builder) tell(text string) {
	b.serving.Lock()
	defer b.serving.Unlock()
	if b.host != nil {
		b.host.Warn(strings.ToValidUTF8(text[:min(len(text), maxText)], ""))
	}
}

// grace is how long a build command may clean up when the server ends. The server waits for one second in total.
const grace = 400 * time.Millisecond

// isSame reports whether two builds have the same module and manifest.
func isSame(one, other string) bool {
	if one == "" {
		return false
	}
	a, aerr := tomlfile.ReadFile(filepath.Join(one, manifest.FileName)) // has the digest of the module
	b, berr := tomlfile.ReadFile(filepath.Join(other, manifest.FileName))
	return aerr == nil && berr == nil && bytes.Equal(a, b)
}

// again returns when the files that changed during a build require another one.
func (b *Builder) again(changed []string, calm bool) watch.Next {
	b.building.Lock()
	defer b.building.Unlock()
	next, found := b.outputs.add(changed, calm, digestFile)
	for _, path := range found {
		b.log.Warn("the build writes this file among the sources: its changes during builds cause no further build", "file", path)
	}
	return next
}

// ignore reads from the manifest which file the build writes, and excludes it from the sources.
func (b *Builder) ignore() {
	m, _ := manifest.Load(b.roots[0])
	if m == nil || m.Module.File == "" {
		return // the manifest is being edited: keep the previous value
	}
	ignored := ""
	if m.Build.Go != "" || len(m.Build.Command) > 0 { // otherwise the module is a source
		ignored = filepath.Join(b.roots[0], m.Module.File)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ignored = ignored
}

func (b *Builder) ignoredFile() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ignored
}

// lockInterval is the time between two attempts to lock a source.
const lockInterval = 100 * time.Millisecond

// lock waits until no other process builds the same source, since both build commands would write the same files. On a system that cannot
// lock directories it does not wait.
func (b *Builder) lock(ctx context.Context) (unlock func(), err error) {
	dir, err := os.Open(b.roots[0])
	if err != nil {
		return nil, err
	}
	unlock = func() { _ = dir.Close() }
	for waited := false; ; waited = true {
		free, err := filelock.Try(dir, filelock.Exclusive)
		if free || err != nil {
			return unlock, nil
		}
		if !waited {
			b.log.Info("waiting for the build of another process", "dir", b.config.Dir)
		}
		select {
		case <-ctx.Done():
			unlock()
			return nil, context.Cause(ctx)
		case <-time.After(lockInterval):
		}
	}
}

// closeOnce closes a channel unless it is already closed.
func closeOnce(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}
