//go:build unix

package code

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
)

// ensure calls Ensure, which must succeed.
func (w *env) ensure(s *Store, m Module) *Code {
	w.t.Helper()
	found, err := s.Ensure(w.t.Context(), m, Foreground)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { found.Close() })
	return found
}

// ensureFails calls Ensure, which must fail with the reason and message.
func (w *env) ensureFails(s *Store, m Module, reason Reason, message string) {
	w.t.Helper()
	found, err := s.Ensure(w.t.Context(), m, Foreground)
	failure := (*Error)(nil)
	if err == nil {
		found.Close()
	}
	if !errors.As(err, &failure) || failure.Reason != reason || !strings.Contains(failure.Text, message) {
		w.t.Errorf("got %v, want an error with reason %d and message %q", err, reason, message)
	}
}

func TestCodeIsCompiledOnceAndLoaded(t *testing.T) {
	w := newEnv(t)
	m := w.module("a")
	for range 2 {
		p, err := Load(t.Context(), w.ensure(w.open("compile"), m).Dir)
		if err != nil {
			t.Fatal(err)
		}
		if !p.Restorable || p.Compiled.ExportedFunctions()["bulkhead_call"] == nil {
			t.Errorf("the program is not restorable or lacks an export: %+v", p)
		}
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if n := w.count("started-"); n != 1 {
		t.Errorf("%d compilers were started, want 1", n)
	}
	if left := w.leftovers(); len(left) > 0 {
		t.Errorf("directories of unfinished compilations are left: %q", left)
	}
}

// A worker that loads code cannot write to the directory of the code, and has no time to compile.
func TestLoadNeitherWritesNorCompiles(t *testing.T) {
	w := newEnv(t)
	found := w.ensure(w.open("compile"), w.module("a"))
	native, err := filepath.Glob(filepath.Join(found.Dir, wazeroPrefix+"*", "*"))
	if err != nil || len(native) != 1 {
		t.Fatalf("the files with native code are %q, want one: %v", native, err)
	}
	chmod := func(mode os.FileMode) {
		t.Helper()
		if err := errors.Join(os.Chmod(filepath.Dir(native[0]), mode), os.Chmod(found.Dir, mode)); err != nil {
			t.Fatal(err)
		}
	}
	chmod(0o500)
	defer chmod(0o700)
	p, err := Load(t.Context(), found.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Error(err)
	}
	chmod(0o700)
	if err := os.Rename(native[0], strings.TrimSuffix(native[0], filepath.Base(native[0]))+strings.Repeat("0", 64)); err != nil {
		t.Fatal(err)
	}
	if p, err := Load(t.Context(), found.Dir); !errors.Is(err, ErrMiss) {
		t.Errorf("without the code: %v, %v", p, err)
	}
	if now, err := filepath.Glob(filepath.Join(found.Dir, wazeroPrefix+"*", "*")); err != nil || len(now) != 1 {
		t.Errorf("loading left %q, %v", now, err)
	}
}

// Clearing the cache disturbs neither a worker that is starting nor a compiler.
func TestRemovedEntryIsCompiledAgain(t *testing.T) {
	w := newEnv(t)
	s := w.open("compile")
	m := w.module("a")
	found := w.ensure(s, m)
	all, err := List(w.cache)
	if err != nil || len(all) != 1 || all[0].Size == 0 || time.Since(all[0].Used) > time.Hour || filepath.Base(all[0].Dir) != EntryName(found.SHA256) {
		t.Fatalf("List returns %+v, want the entry of the module: %v", all, err)
	}
	q := queue{dir: w.cache}
	lock, err := q.tryLockEntry(keyOf(found.SHA256))
	if err != nil || lock == nil {
		t.Fatal(lock, err)
	}
	if removed, err := all[0].Remove(); err != nil || removed {
		t.Errorf("while it is compiled: %t, %v", removed, err)
	}
	lock.unlock()
	if removed, err := all[0].Remove(); err != nil || !removed {
		t.Errorf("an unlocked entry: removed %t, %v", removed, err)
	}
	if removed, err := all[0].Remove(); err != nil || !removed {
		t.Errorf("after another process has removed it: %t, %v", removed, err)
	}
	if all, err := List(w.cache); err != nil || len(all) > 0 {
		t.Errorf("left %+v, %v", all, err)
	}
	if p, err := Load(t.Context(), fmt.Sprintf("/proc/self/fd/%d", found.Handle().Fd())); err == nil || runtime.GOOS == "linux" && !errors.Is(err, ErrMiss) {
		t.Errorf("a worker that has the handle loads %v, %v", p, err)
	}
	if again := w.ensure(s, m); !again.Fresh {
		t.Error("the code was not removed")
	}
	if left, err := filepath.Glob(filepath.Join(w.cache, newPrefix+"*")); err != nil || len(left) > 0 {
		t.Errorf("the next compiler left %q, %v", left, err)
	}
}

func TestEnsureRefusesNonRegularFiles(t *testing.T) {
	w := newEnv(t)
	s := w.open("compile")
	fifo, link := filepath.Join(w.files, "fifo"), filepath.Join(w.files, "link")
	if err := errors.Join(syscall.Mkfifo(fifo, 0o600), os.Symlink(fifo, link)); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"a FIFO": fifo, "a link to a FIFO": link, "a device": "/dev/zero", "a directory": w.files} {
		t.Run(name, func(t *testing.T) {
			w := &env{t, w.cache, w.dir, w.files}
			w.ensureFails(s, Module{File: path}, Missing, "is not a regular file")
			if err := s.Warm(t.Context(), Module{File: path}); err == nil {
				t.Error("Warm accepts the file")
			}
		})
	}
	w.ensureFails(s, Module{File: filepath.Join(w.files, "none")}, Missing, "there is no module at")
}

func TestEnsureChecksDigestAndSize(t *testing.T) {
	w := newEnv(t)
	s := w.open("compile")
	m := w.module("a")
	m.SHA256 = strings.Repeat("0a", 32)
	w.ensureFails(s, m, Digest, "its manifest contains")
	large := w.raw("large", nil)
	if err := os.Truncate(large.File, MaxModule+1); err != nil {
		t.Fatal(err)
	}
	w.ensureFails(s, large, Invalid, "larger than the maximum of 64 MiB")
	if n := w.count("started-"); n > 0 {
		t.Errorf("%d compilers were started", n)
	}
}

func TestModifiedCodeIsRecompiled(t *testing.T) {
	w := newEnv(t)
	m := w.module("a")
	dir := w.ensure(w.open("compile"), m).Dir
	native := func() string {
		found, err := filepath.Glob(filepath.Join(dir, wazeroPrefix+"*", "*"))
		if err != nil || len(found) == 0 {
			t.Fatalf("the cache holds %v, %v", found, err)
		}
		return found[0]
	}
	flip := func(path string) error {
		data, err := os.ReadFile(path)
		data[len(data)-1] ^= 1
		return errors.Join(err, os.WriteFile(path, data, 0o600))
	}
	for name, damage := range map[string]func() error{
		"a flipped byte":             func() error { return flip(native()) },
		"a flipped byte of a module": func() error { return flip(filepath.Join(dir, moduleFile)) },
		"changed facts":              func() error { return flip(filepath.Join(dir, factsFile)) },
		"a truncated file":           func() error { return os.Truncate(native(), 10) },
		"missing file":               func() error { return os.Remove(native()) },
		"an extra file":              func() error { return os.WriteFile(native()+"x", nil, 0o600) },
		"a symbolic link to it": func() error {
			path := native()
			return errors.Join(os.Rename(path, filepath.Join(w.dir, "moved")), os.Symlink(filepath.Join(w.dir, "moved"), path))
		},
		"missing digests": func() error { return os.Remove(filepath.Join(dir, sumsFile)) },
	} {
		t.Run(name, func(t *testing.T) {
			w := &env{t, w.cache, w.dir, w.files}
			if err := damage(); err != nil {
				t.Fatal(err)
			}
			before := w.count("started-")
			w.ensure(w.open("compile"), m)
			if n := w.count("started-") - before; n != 1 {
				t.Errorf("%d compilers were started", n)
			}
			if !isIntact(dir) {
				t.Error("the code is damaged afterwards")
			}
		})
	}
}

func TestCompilerOutputIsValidated(t *testing.T) {
	for _, role := range []string{
		"leaves a symbolic link", "leaves a link instead of the module", "leaves a FIFO", "leaves many files", "leaves no module",
		"leaves too many facts", "leaves digests", "leaves an inaccessible directory",
	} {
		t.Run(role, func(t *testing.T) {
			w := newEnv(t)
			_, err := w.open(role).Ensure(t.Context(), w.module("a"), Foreground)
			if err == nil {
				t.Error("the output is accepted")
			}
			if found, err := filepath.Glob(filepath.Join(w.cache, entryPrefix+"*")); err != nil || len(found) > 0 {
				t.Errorf("the cache holds %q, %v", found, err)
			}
			if left := w.leftovers(); len(left) > 0 {
				t.Errorf("directories of unfinished compilations are left: %q", left)
			}
		})
	}
}

func TestWarmKeepsExistingCode(t *testing.T) {
	w := newEnv(t)
	s, m := w.open("compile"), w.module("a")
	if err := s.Warm(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	sums, err := filepath.Glob(filepath.Join(w.cache, entryPrefix+"*", sumsFile))
	if err != nil || len(sums) != 1 {
		t.Fatalf("the cache holds %v, %v", sums, err)
	}
	long := time.Now().Add(-unusedAge / 2)
	if err := os.Chtimes(sums[0], long, long); err != nil {
		t.Fatal(err)
	}
	// Warm does not read the code, because reading costs as much as loading.
	if err := os.Truncate(filepath.Join(filepath.Dir(sums[0]), moduleFile), 0); err != nil {
		t.Fatal(err)
	}
	if err := s.Warm(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if n := w.count("started-"); n != 1 {
		t.Errorf("%d compilers were started", n)
	}
	if info, err := os.Stat(sums[0]); err != nil || time.Since(info.ModTime()) > time.Hour {
		t.Error("the code is not marked as used")
	}
}

func TestUnusedCodeIsRemoved(t *testing.T) {
	w := newEnv(t)
	s := w.open("compile")
	old := w.ensure(s, w.module("old")).Dir
	long := time.Now().Add(-unusedAge - time.Hour)
	if err := os.Chtimes(filepath.Join(old, sumsFile), long, long); err != nil {
		t.Fatal(err)
	}
	recent := w.ensure(s, w.module("recent")).Dir
	if exists(old) || !exists(recent) {
		t.Errorf("old entry exists: %v, recent entry exists: %v", exists(old), exists(recent))
	}
}

func TestUnusableCacheFallsBackToPrivateOne(t *testing.T) {
	for name, spoil := range map[string]func(*env, *Config){
		"no directory": func(_ *env, c *Config) { c.Dir = "" },
		"a file instead of a directory": func(w *env, c *Config) {
			w.t.Cleanup(func() { os.Remove(w.cache) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			w := newEnv(t)
			c := Config{Dir: w.cache, Compiler: compiler("compile", w.dir)}
			spoil(w, &c)
			s, err := Open(c)
			if err != nil {
				t.Fatal(err)
			}
			if c.Dir != "" {
				if err := errors.Join(os.Remove(c.Dir), os.WriteFile(c.Dir, nil, 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			m := w.module("a")
			dir := w.ensure(s, m).Dir
			if w.ensure(s, m); w.count("started-") != 1 {
				t.Error("the module is compiled twice")
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if exists(filepath.Dir(dir)) {
				t.Error("the private cache outlives the store")
			}
		})
	}
}

func TestOpenRequiresCompiler(t *testing.T) {
	if s, err := Open(Config{}); err == nil {
		t.Error("a store without a compiler is opened", s.Close())
	}
}

func TestInspect(t *testing.T) {
	w := newEnv(t)
	r, err := Inspect(t.Context(), w.cache)
	if err != nil || r.Modules != 0 || r.Size != 0 {
		t.Errorf("a missing cache: %+v, %v", r, err)
	}
	s := w.open("compile")
	w.ensure(s, w.module("a"))
	damaged := w.ensure(s, w.module("b")).Dir
	if err := os.Mkdir(filepath.Join(w.cache, newPrefix+"1"), 0o700); err != nil {
		t.Fatal(err)
	}
	if r, err = Inspect(t.Context(), w.cache); err != nil || r.Modules != 2 || len(r.Damaged) != 0 || r.Size < 1000 {
		t.Errorf("an intact cache: %+v, %v", r, err)
	}
	if err := os.Truncate(filepath.Join(damaged, moduleFile), 3); err != nil {
		t.Fatal(err)
	}
	if r, err = Inspect(t.Context(), w.cache); err != nil || r.Modules != 2 || len(r.Damaged) != 1 || r.Damaged[0] != damaged {
		t.Errorf("a damaged cache: %+v, %v", r, err)
	}
	if !exists(damaged) {
		t.Error("Inspect removed an entry")
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := Inspect(ended, w.cache); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled context: %v", err)
	}
}

func TestConcurrentCallersCompileOnce(t *testing.T) {
	w := newEnv(t)
	m := w.raw("a", wasmtest.Answering("{}"))
	stores := []*Store{w.open("compile"), w.open("compile")}
	var all sync.WaitGroup
	for n := range 10 {
		all.Go(func() {
			found, err := stores[n%2].Ensure(t.Context(), m, Priority(n/2%2))
			if err != nil {
				t.Error(err)
				return
			}
			found.Close()
		})
	}
	all.Wait()
	if n := w.count("started-"); n != 1 {
		t.Errorf("%d compilers were started", n)
	}
}

func TestRemovedCacheDirectoryIsCreatedAgain(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	w := newEnv(t)
	s := w.open("gate-and-compile")
	w.openGate()
	m := w.module("a")
	check := func(when string, found *Code) {
		t.Helper()
		if filepath.Dir(found.Dir) != w.cache {
			t.Errorf("%s: the code is in %s, want it in %s", when, found.Dir, w.cache)
		}
		if info, err := os.Lstat(w.cache); err != nil {
			t.Errorf("%s: %v", when, err)
		} else if info.Mode().Perm() != 0o700 {
			t.Errorf("%s: the directory has the mode %v", when, info.Mode())
		}
	}
	check("at first", w.ensure(s, m))
	if err := os.RemoveAll(w.cache); err != nil {
		t.Fatal(err)
	}
	check("after it was removed", w.ensure(s, m))
	if err := errors.Join(os.RemoveAll(w.cache), os.Remove(filepath.Join(w.dir, "go"))); err != nil {
		t.Fatal(err)
	}
	done := make(chan *Code, 1)
	go func() {
		found, err := s.Ensure(t.Context(), m, Foreground)
		if err != nil {
			t.Error(err)
		}
		done <- found
	}()
	w.until("a compiler runs", func() bool { return w.count("running-") == 1 })
	if err := os.RemoveAll(w.cache); err != nil {
		t.Fatal(err)
	}
	w.openGate()
	if found := <-done; found != nil {
		defer found.Close()
		check("while a module was compiled", found)
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "bulkhead-*")); len(left) > 0 {
		t.Errorf("a private cache was used: %q", left)
	}
}

// Who has left gets no directory, neither the shared one nor a temporary one.
func TestEndedCallerCreatesNothing(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, shared := range []bool{true, false} {
		for name, end := range map[string]func(*Store) context.Context{
			"cancelled": func(*Store) context.Context { return canceled },
			"closed":    func(s *Store) context.Context { _ = s.Close(); return t.Context() },
		} {
			t.Run(fmt.Sprintf("%s, shared %t", name, shared), func(t *testing.T) {
				t.Setenv("TMPDIR", t.TempDir())
				w := newEnv(t)
				s := w.open("compile", func(c *Config) {
					if !shared {
						c.Dir = ""
					}
				})
				m := w.module("a")
				if err := os.RemoveAll(w.cache); err != nil {
					t.Fatal(err)
				}
				if _, err := s.Ensure(end(s), m, Foreground); !errors.Is(err, context.Canceled) && !errors.Is(err, errClosed) {
					t.Errorf("got %v", err)
				}
				if _, err := os.Lstat(w.cache); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("the cache directory was created: %v", err)
				}
				if left, _ := os.ReadDir(os.TempDir()); len(left) > 0 {
					t.Errorf("a temporary directory was created: %v", left)
				}
			})
		}
	}
}

// After a cache directory was removed from a directory with the sticky bit, another user can create it.
func TestCacheOfOthersIsNotUsed(t *testing.T) {
	for name, mode := range map[string]os.FileMode{"the cache": 0o700, "the entry": 0o777} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			w := newEnv(t)
			s := w.open("compile")
			m := w.module("a")
			planted := w.ensure(s, m).Dir
			if err := os.Chmod(planted, mode); err != nil {
				t.Fatal(err)
			}
			if name == "the cache" {
				if err := os.Chmod(w.cache, 0o777); err != nil {
					t.Fatal(err)
				}
			}
			found := w.ensure(s, m)
			if info, err := found.Handle().Stat(); err != nil || info.Mode().Perm() != 0o700 || w.count("started-") != 2 {
				t.Errorf("code that others can write was used: %v, %v", info.Mode(), err)
			}
			if private := filepath.Dir(found.Dir) != w.cache; private != (name == "the cache") {
				t.Errorf("the code is in %s", found.Dir)
			}
		})
	}
}
