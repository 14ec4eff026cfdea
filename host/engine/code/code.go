// Package code keeps the compiled code of modules on disk. A [Store] reads a module's file, has it rewritten (package
// meter) and compiled by a child process, checks what the child wrote, and hands out directories of verified code.
// [Load] makes a runnable program of such a directory: it needs neither the module's file nor the meter, writes
// nothing, and never compiles. [ChildMain] is the main function of the child process.
//
// The process that has the Store parses nothing of a module. Processes of one user share a cache directory: they
// compile a module once, and together run as many compilers as the machine has cores. Both are arranged by file locks,
// which the system releases when a process ends.
package code

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Config configures a Store.
type Config struct {
	// Dir is the cache, shared by all processes of a user; it is made if it is missing. Empty: a private temporary
	// directory, removed by Close.
	Dir string
	// Compiler is a command that calls ChildMain; the Store appends arguments.
	Compiler []string
	// Slots is how many compilers run at once, over all processes that share Dir; 0: GOMAXPROCS.
	Slots int
	// CPU bounds the processor time of a child; 0: two minutes. A child that waits for processors may take ten times
	// as long.
	CPU time.Duration
	Log hclog.Logger // nil: no log
}

// defaultCPU is the processor time of a compiler. A module within the meter's bounds was seen to take up to a third
// of it.
const defaultCPU = 2 * time.Minute

// starvation is how many times its processor time a compiler may take by the clock.
const starvation = 10

// Module names a module.
type Module struct {
	Name   string // of the plugin, for the log
	File   string // path
	SHA256 string // lower-case hex that the file must have; empty: any
}

// Priority orders those who wait for a compiler.
type Priority int

// Background leaves a slot to Foreground, waits until no Foreground waits, and compiles with one thread.
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

// Store keeps compiled code. It is safe for concurrent use.
type Store struct {
	config Config
	log    hclog.Logger
	ctx    context.Context // ends with Close
	end    context.CancelFunc
	work   sync.WaitGroup // compilers; see begin
	failed failures
	swept  sync.Once

	mu      sync.Mutex
	private *cache // nil: not needed yet
}

// errClosed is the cause of contexts that end with the Store.
var errClosed = errors.New("the host is shutting down")

// Open returns a Store. It touches nothing but the cache directory.
func Open(c Config) (*Store, error) {
	if len(c.Compiler) == 0 {
		return nil, errors.New("host.RunChild must be called first in main: a module is compiled in a process of its own")
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
	if c.Dir != "" {
		// What the cache holds is native code: nobody else may write there.
		if err := os.MkdirAll(c.Dir, 0o700); err != nil {
			return nil, fmt.Errorf("compilation cache: %w", err)
		}
		dir, err := filepath.Abs(c.Dir) // the child has another working directory
		if err != nil {
			return nil, fmt.Errorf("compilation cache: %w", err)
		}
		c.Dir = dir
	}
	s := &Store{config: c, log: c.Log}
	s.ctx, s.end = context.WithCancel(context.Background())
	return s, nil
}

// Close ends all compilers and removes the private directory.
func (s *Store) Close() error {
	s.mu.Lock()
	s.end()
	s.mu.Unlock()
	s.work.Wait() // each ends within endGrace
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.private == nil {
		return nil
	}
	err := s.private.remove()
	s.private = nil
	return err
}

// Ensure sees to it that there is verified code of the module, compiling it if there is none. It waits for a compiler
// as long as ctx lasts. The error is an *Error, or the cause of the end of ctx or of the Store.
func (s *Store) Ensure(ctx context.Context, m Module, p Priority) (*Code, error) {
	ctx, cancel := s.joined(ctx)
	defer cancel()
	found, sum, err := s.ready(m)
	if err != nil || found != nil {
		return found, err
	}
	if s.config.Dir != "" {
		found, err := s.cacheIn(s.config.Dir).ensure(ctx, m, sum, p)
		if failure := (*Error)(nil); !errors.As(err, &failure) || failure.Reason != Storage {
			return found, err
		}
		s.log.Warn("compiled code cannot be kept", "plugin", m.Name, "reason", err)
	}
	private, err := s.privateCache()
	if err != nil {
		return nil, &Error{Reason: Storage, Text: "there is no place for its compiled code: " + err.Error(), Err: err}
	}
	return private.ensure(ctx, m, sum, p)
}

// ready returns the module's digest, and its code if there is any. Where the digest is pinned, code and module are
// read at the same time.
func (s *Store) ready(m Module) (*Code, string, error) {
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

// begin counts a compiler, whose end work.Done must follow. None begins when the Store is closed.
func (s *Store) begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return errClosed
	}
	s.work.Add(1)
	return nil
}

// joined is a context that ends with ctx and with the Store, whichever is first.
func (s *Store) joined(ctx context.Context) (context.Context, context.CancelFunc) {
	joined, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.ctx, func() { cancel(errClosed) })
	return joined, func() {
		stop()
		cancel(nil)
	}
}

// Kept tells whether there is code of the module, sound or not, and marks it as used.
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

// Warm compiles the module at low priority if there is no code of it. Without a cache directory it does nothing. It
// also removes what other processes left in the cache when they were killed.
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

// Discard removes code that could not be loaded, so that the next Ensure compiles it again.
func (s *Store) Discard(c *Code) error { return removeTree(c.Dir) }

func (s *Store) cacheIn(dir string) *cache {
	return &cache{store: s, dir: dir, queue: queue{dir: dir, slots: s.config.Slots}}
}

// privateCache is a cache of this process alone, for when there is no other.
func (s *Store) privateCache() (*cache, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return nil, errClosed
	}
	if s.private == nil {
		sweepPrivate()
		held, err := newHeld(os.TempDir(), privatePrefix())
		if err != nil {
			return nil, err
		}
		s.private = s.cacheIn(held.path)
		s.private.held = held
	}
	return s.private, nil
}
