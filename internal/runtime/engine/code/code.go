// Package code caches the compiled code of modules on disk. A [Store] reads a module's file, has a child process rewrite
// (package meter) and compile it, validates the child's output, and returns directories of verified code. [Load] loads such
// a directory; it needs neither the module's file nor the meter, writes nothing, and never compiles. [ChildMain] is the
// main function of the child process.
//
// The process of the Store does not parse modules. Processes of one user share a cache directory: they compile each module
// once, and together run at most as many compilers as the machine has cores. They coordinate by file locks, which the
// system releases when a process ends.
package code

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/ownedpath"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tempdir"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/confine"
)

// Config configures a Store.
type Config struct {
	// Dir is the cache directory, shared by all processes of a user; it is created whenever it is missing, and is not used while another
	// user could write it. Empty: a private temporary directory, removed by Close.
	Dir string
	// Compiler is a command that calls ChildMain with the arguments that the Store appends.
	Compiler []string
	// Slots limits the compilers that run at once in all processes that share Dir; 0: GOMAXPROCS.
	Slots int
	// CPU limits the processor time of a child; 0: two minutes. Its wall-clock time is limited to ten times that.
	CPU time.Duration
	// Confined decides whether the confinement that a child reports is sufficient; nil: it is if no layer is missing that the
	// system supports. The child gets the module afterwards.
	Confined func(confine.Report) error
	// Compiled is called when a module was compiled, or was not, after so long; nil: it is not called.
	Compiled func(plugin string, took time.Duration, err error)
	Log      hclog.Logger // nil: no log

	wall time.Duration // wall-clock limit of a child; 0: wallFactor*CPU
}

// defaultCPU is three times the processor time measured for the most expensive module within the meter's limits.
const defaultCPU = 2 * time.Minute

// wallFactor times Config.CPU is the wall-clock limit of a child, which may wait for processors.
const wallFactor = 10

// Module identifies a module.
type Module struct {
	Name   string // plugin name, for the log
	File   string // path
	SHA256 string // expected digest in lower-case hex; empty: any
}

// Priority orders callers that wait for a compiler.
type Priority int

// A Background caller leaves one slot to Foreground callers, acquires no slot while a Foreground caller waits, and compiles
// with one thread.
const (
	Foreground Priority = iota
	Background
)

func (p Priority) workers() int {
	if p == Background {
		return 1
	}
	return runtime.GOMAXPROCS(0)
}

// Store caches compiled code. It is safe for concurrent use.
type Store struct {
	config Config
	log    hclog.Logger
	ctx    context.Context // cancelled by Close
	end    context.CancelFunc
	work   sync.WaitGroup // running compilers; see begin
	failed failures
	swept  sync.Once

	mu      sync.Mutex
	private *cache // nil until needed
}

// errClosed is the cause of contexts that are cancelled by Close.
var errClosed = errors.New("the host is shutting down")

// Open returns a Store. It creates the cache directory and accesses nothing else.
func Open(c Config) (*Store, error) {
	if len(c.Compiler) == 0 {
		return nil, errors.New("call host.RunChild first in main: modules are compiled in a child process")
	}
	if c.Confined == nil {
		c.Confined = isExpected
	}
	if c.Compiled == nil {
		c.Compiled = func(string, time.Duration, error) {}
	}
	if c.Log == nil {
		c.Log = hclog.NewNullLogger()
	}
	if c.Slots <= 0 {
		c.Slots = runtime.GOMAXPROCS(0)
	}
	if c.CPU <= 0 {
		c.CPU = defaultCPU
	}
	if c.wall <= 0 {
		c.wall = wallFactor * c.CPU
	}
	if c.Dir != "" {
		dir, err := filepath.Abs(c.Dir) // the child's working directory differs
		if err == nil {
			err = ownedpath.Make(dir) // the cache holds native code, so only the user may write to it
		}
		if err != nil {
			return nil, fmt.Errorf("compilation cache: %w", err)
		}
		c.Dir = dir
	}
	s := &Store{config: c, log: c.Log}
	s.ctx, s.end = context.WithCancel(context.Background())
	return s, nil
}

// isExpected checks the confinement of a child where the config does not require all layers.
func isExpected(report confine.Report) error { return report.Check(false) }

// Close kills all compilers and removes the private cache.
func (s *Store) Close() error {
	s.mu.Lock()
	s.end()
	s.mu.Unlock()
	s.work.Wait() // each compiler ends within endGrace
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.private == nil {
		return nil
	}
	err := s.private.remove()
	s.private = nil
	return err
}

// Ensure returns verified code of the module. If the cache has no code of it, Ensure waits for a compiler slot until ctx
// ends, and compiles the module. The error is an *Error, the cause of ctx's cancellation, or errClosed if the Store was
// closed.
func (s *Store) Ensure(ctx context.Context, m Module, p Priority) (*Code, error) {
	ctx, cancel := s.withStore(ctx)
	defer cancel()
	found, sum, err := s.lookup(m)
	if err != nil || found != nil {
		return found, err
	}
	if s.config.Dir != "" {
		found, err := s.ensureShared(ctx, m, sum, p)
		if !isStorageError(err) {
			return found, err
		}
		s.log.Warn("the cache directory is unusable: the module is compiled into a temporary directory", "plugin", m.Name, "reason", ownedpath.Explain(err))
	}
	if err := s.checkEnded(ctx); err != nil {
		return nil, err
	}
	private, err := s.privateCache()
	if err != nil {
		return nil, &Error{Reason: Storage, Text: "its compiled code cannot be stored in a temporary directory: " + err.Error(), Err: err}
	}
	return private.ensure(ctx, m, sum, p)
}

// maxRecreated is how often a compilation is repeated because the cache directory was removed.
const maxRecreated = 3

// ensureShared is Ensure for the cache directory. It creates the directory if it was removed, also while the module was compiled.
func (s *Store) ensureShared(ctx context.Context, m Module, sum string, p Priority) (*Code, error) {
	dir := s.config.Dir
	for attempt := 1; ; attempt++ {
		if err := s.checkEnded(ctx); err != nil {
			return nil, err
		}
		if err := ownedpath.Make(dir); err != nil {
			return nil, storageError(err)
		}
		before, err := os.Lstat(dir)
		if err != nil {
			return nil, storageError(err)
		}
		found, err := s.cacheIn(dir).ensure(ctx, m, sum, p)
		after, gone := os.Lstat(dir)
		if !isStorageError(err) || gone == nil && os.SameFile(before, after) || attempt == maxRecreated {
			return found, err
		}
		s.log.Warn("the cache directory was removed, and is created again", "plugin", m.Name, "directory", dir)
	}
}

// lookup returns the module's digest, and its code if the cache has it. If a digest is pinned, it reads the code and the
// module concurrently.
func (s *Store) lookup(m Module) (*Code, string, error) {
	if m.SHA256 == "" || s.config.Dir == "" {
		sum, err := readModule(m, io.Discard)
		return nil, sum, err
	}
	digested := make(chan error, 1)
	go func() { _, err := readModule(m, io.Discard); digested <- err }()
	dir := s.cacheIn(s.config.Dir).entry(m.SHA256)
	found, missing := openEntry(dir, m.SHA256)
	err := <-digested
	if missing != nil {
		return nil, m.SHA256, err
	}
	if err != nil {
		return nil, "", errors.Join(err, found.Close())
	}
	touch(dir)
	return found, m.SHA256, nil
}

// Verified returns the cached code of the module with the digest sum, without reading the module's file. An earlier call of
// Ensure must have verified the digest. If the code is not cached, the error is fs.ErrNotExist.
func (s *Store) Verified(sum string) (*Code, error) {
	s.mu.Lock()
	caches := []*cache{s.private}
	s.mu.Unlock()
	if s.config.Dir != "" {
		caches = append(caches, s.cacheIn(s.config.Dir))
	}
	for _, c := range caches {
		if c == nil {
			continue
		}
		if found, err := openEntry(c.entry(sum), sum); err == nil {
			touch(found.Dir)
			return found, nil
		}
	}
	return nil, fs.ErrNotExist
}

// begin registers a compiler, or fails if the Store is closed. The caller must call work.Done when the compiler has ended.
func (s *Store) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return errClosed
	}
	s.work.Add(1)
	return nil
}

// withStore returns a context that ends when ctx ends or the Store is closed.
func (s *Store) withStore(ctx context.Context) (context.Context, context.CancelFunc) {
	joined, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.ctx, func() { cancel(errClosed) })
	return joined, func() {
		stop()
		cancel(nil)
	}
}

// Kept reports whether the cache has code of the module, without verifying it, and marks the code as used.
func (s *Store) Kept(m Module) (bool, error) {
	sum, err := readModule(m, io.Discard)
	if err != nil || s.config.Dir == "" {
		return false, err
	}
	dir := s.cacheIn(s.config.Dir).entry(sum)
	if _, err := os.Lstat(filepath.Join(dir, sumsFile)); err != nil {
		return false, nil
	}
	touch(dir)
	return true, nil
}

// Warm compiles the module with priority Background if the cache has no code of it. It also removes leftovers of killed
// processes. Without a cache directory it does nothing.
func (s *Store) Warm(ctx context.Context, m Module) error {
	if s.config.Dir == "" {
		return nil
	}
	s.swept.Do(s.cacheIn(s.config.Dir).sweep)
	if kept, err := s.Kept(m); err != nil || kept {
		return err
	}
	found, err := s.Ensure(ctx, m, Background)
	if err != nil {
		return err
	}
	return found.Close()
}

// Discard removes code that cannot be loaded. The next Ensure compiles it again.
func (s *Store) Discard(c *Code) error { return tempdir.RemoveTree(c.Dir) }

// checkEnded returns an error if ctx has ended or the Store is closed, so that nothing is created for a caller that has left.
func (s *Store) checkEnded(ctx context.Context) error {
	if s.ctx.Err() != nil {
		return errClosed
	}
	return context.Cause(ctx)
}

func (s *Store) cacheIn(dir string) *cache {
	return &cache{store: s, dir: dir, queue: queue{dir: dir, slots: s.config.Slots}}
}

// privateCache returns the cache that only this process uses, creating it if necessary.
func (s *Store) privateCache() (*cache, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return nil, errClosed
	}
	if s.private == nil {
		dir, err := tempdir.New(privateKind)
		if err != nil {
			return nil, err
		}
		s.private = s.cacheIn(dir.Path)
		s.private.private = dir
	}
	return s.private, nil
}
