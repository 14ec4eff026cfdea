package watch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
)

// world is a directory and a fake source of events, for a test in a synctest bubble.
type world struct {
	t        *testing.T
	dir      string
	events   chan struct{}
	added    []string
	addErr   error
	paths    []string
	existing []string
	log      strings.Builder

	mu    sync.Mutex
	stats int
	calls []string // for each call of Changed, the content of the first path
}

// newWorld returns a world whose paths are files with these names.
func newWorld(t *testing.T, names ...string) *world {
	w := &world{t: t, dir: t.TempDir(), events: make(chan struct{}, 1)}
	for _, name := range names {
		w.write(name, "0")
		w.paths = append(w.paths, filepath.Join(w.dir, name))
	}
	return w
}

func (w *world) write(name, content string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// run starts Run, with a source that cannot be opened if sourceErr is not nil.
func (w *world) run(sourceErr error) {
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan struct{})
	w.t.Cleanup(func() { cancel(); <-done })
	c := Config{
		Paths: func() []string { return w.paths }, Existing: func() []string { return w.existing },
		Changed: func() {
			content, _ := os.ReadFile(w.paths[0])
			w.mu.Lock()
			defer w.mu.Unlock()
			w.calls = append(w.calls, string(content))
		},
		Log: hclog.New(&hclog.LoggerOptions{Output: &w.log}),
		open: func() (*source, error) {
			return &source{events: w.events, add: func(dir string) error { w.added = append(w.added, dir); return w.addErr },
				remove: func(string) error { return nil }, close: func() {}}, sourceErr
		},
		stat: func(path string) (fs.FileInfo, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.stats++
			return os.Stat(path)
		},
	}
	go func() { Run(ctx, c); close(done) }()
	time.Sleep(unsettled)
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.calls) != 1 {
		w.t.Errorf("Changed was called %d times at the start, want once", len(w.calls))
	}
	w.calls = nil
}

// looks returns the number of stat calls.
func (w *world) looks() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stats / len(w.paths)
}

func (w *world) event() {
	select {
	case w.events <- struct{}{}:
	default:
	}
}

func (w *world) wantCalls(want ...string) {
	w.t.Helper()
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Equal(w.calls, want) {
		w.t.Errorf("Changed was called with the contents %q, want %q", w.calls, want)
	}
}

func TestChangedIsCalledOnceFileIsComplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "config")
		w.run(nil)
		content := ""
		for range 5 {
			content += "part "
			w.write("config", content)
			w.event()
			time.Sleep(quiet / 2)
		}
		w.wantCalls()
		time.Sleep(unsettled)
		w.wantCalls(content)
	})
}

// A program that writes a file again and again cannot delay Changed for ever, and cannot cause an unbounded number of calls.
func TestRestlessFileIsReportedAtBoundedRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "config")
		w.run(nil)
		const minutes = 10
		for n := range minutes * 60 * 4 {
			w.write("config", strings.Repeat("x", n%9+1))
			w.event()
			time.Sleep(250 * time.Millisecond)
		}
		synctest.Wait()
		if most := burst + int(minutes*time.Minute/period) + 1; len(w.calls) < minutes || len(w.calls) > most {
			t.Errorf("Changed was called %d times in %d minutes, want at most %d", len(w.calls), minutes, most)
		}
	})
}

func TestEventsThatConcernNoPathAreCheap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "config")
		w.run(nil)
		const minutes = 10
		w.mu.Lock()
		w.stats = 0
		w.mu.Unlock()
		const events = minutes * 60 * 100
		for range events {
			w.event()
			time.Sleep(10 * time.Millisecond)
		}
		w.wantCalls()
		if most := 2*int(minutes*time.Minute/maxPause) + 20; w.looks() > most {
			t.Errorf("%d events caused %d stat calls, want at most %d", events, w.looks(), most)
		}
		time.Sleep(time.Minute)
		w.write("config", "changed")
		w.event()
		time.Sleep(4 * quiet)
		w.wantCalls("changed")
	})
}

func TestChangesAreFoundWithoutNotifications(t *testing.T) {
	for name, test := range map[string]struct{ source, add error }{
		"no instance": {source: errors.New("too many open files")}, "no watch": {add: errors.New("no space left on device")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, "config")
				w.addErr = test.add
				w.run(test.source)
				w.write("config", "changed")
				time.Sleep(pollFast + 4*quiet)
				w.wantCalls("changed")
				if log := w.log.String(); strings.Count(log, "[WARN]") != 1 || !strings.Contains(log, "fs.inotify.max_user_watches") {
					t.Errorf("the log does not contain one warning about polling:\n%s", log)
				}
			})
		})
	}
}

// Some file systems do not notify of changes by other machines.
func TestLostNotificationDelaysOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "config")
		w.run(nil)
		w.write("config", "changed")
		time.Sleep(pollSlow + 4*quiet)
		w.wantCalls("changed")
		if w.log.Len() > 0 {
			t.Errorf("the log is not empty:\n%s", w.log.String())
		}
	})
}

// For a path of Existing only its creation and removal count: a directory may have content that changes all the time.
func TestExistingPathIsChangedWhenItAppears(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "config")
		w.existing = []string{filepath.Join(w.dir, "data")}
		w.run(nil)
		for n, change := range []func() error{
			func() error { return os.Mkdir(w.existing[0], 0o700) },
			func() error { return os.WriteFile(filepath.Join(w.existing[0], "file"), nil, 0o600) },
			func() error { return os.RemoveAll(w.existing[0]) },
		} {
			if err := change(); err != nil {
				t.Fatal(err)
			}
			w.event()
			time.Sleep(unsettled)
			w.wantCalls([]string{"0", "0"}[:(n+2)/2]...)
		}
	})
}

func TestDirectoriesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for n := range maxDirectories + 10 {
			name := fmt.Sprint(n)
			if err := os.Mkdir(filepath.Join(w.dir, name), 0o700); err != nil {
				t.Fatal(err)
			}
			w.paths = append(w.paths, filepath.Join(w.dir, name, "file"))
		}
		w.run(nil)
		synctest.Wait()
		slices.Sort(w.added)
		if watched := slices.Compact(w.added); len(watched) != maxDirectories {
			t.Errorf("%d directories are watched, want %d", len(watched), maxDirectories)
		}
		if !strings.Contains(w.log.String(), "[WARN]") {
			t.Error("no warning of too many directories was logged")
		}
	})
}

// Between what the caller knows and the first look at the paths, a file can be removed, or replaced by an older one. Neither leaves a
// trace in the metadata, so Changed is called once all paths are watched, and again for paths that are watched since a call.
func TestChangedIsCalledOncePathsAreWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "config")
		record := filepath.Join(w.dir, "record")
		var calls []string
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		defer func() { cancel(); <-done }()
		go func() {
			defer close(done)
			Run(ctx, Config{
				Paths: func() []string { return w.paths },
				Changed: func() {
					if calls = append(calls, fmt.Sprint(w.added)); len(calls) == 1 {
						w.write("record", "read by this call, and then removed")
						_ = os.Remove(record)
						w.paths = append(w.paths, record)
					}
				},
				open: func() (*source, error) {
					return &source{events: w.events, add: func(dir string) error { w.added = []string{dir}; return nil },
						remove: func(string) error { return nil }, close: func() {}}, nil
				},
				Log: hclog.NewNullLogger(),
			})
		}()
		time.Sleep(time.Minute)
		synctest.Wait()
		if watched := fmt.Sprint([]string{w.dir}); !slices.Equal(calls, []string{watched, watched}) {
			t.Errorf("Changed was called %d times with the watched directories %q, want twice with %s", len(calls), calls, watched)
		}
	})
}

// follow runs Run on the real file system. The channel has an element for each call of Changed after the first.
func follow(t *testing.T, paths ...string) <-chan struct{} {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	changed, done := make(chan struct{}, 100), make(chan struct{})
	t.Cleanup(func() { cancel(); <-done })
	c := Config{
		Paths: func() []string { return paths }, Log: hclog.NewNullLogger(),
		Changed: func() { changed <- struct{}{} },
	}
	go func() { Run(ctx, c); close(done) }()
	<-changed
	return changed
}

// TestWaysOfReplacingFile checks what editors and deployments do, with the notifications of the system.
func TestWaysOfReplacingFile(t *testing.T) {
	must := func(t *testing.T, errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	write := func(file string) error { return os.WriteFile(file, []byte("changed"), 0o600) }
	for name, test := range map[string]struct {
		prepare, change func(dir string) error
	}{
		"written in place": {
			func(dir string) error { return os.WriteFile(dir+"/config", nil, 0o600) },
			func(dir string) error { return write(dir + "/config") }},
		"renamed over": {
			func(dir string) error { return os.WriteFile(dir+"/config", nil, 0o600) },
			func(dir string) error { return errors.Join(write(dir+"/.new"), os.Rename(dir+"/.new", dir+"/config")) }},
		"removed and created": {
			func(dir string) error { return os.WriteFile(dir+"/config", nil, 0o600) },
			func(dir string) error { return errors.Join(os.Remove(dir+"/config"), write(dir+"/config")) }},
		"removed": {
			func(dir string) error { return os.WriteFile(dir+"/config", nil, 0o600) },
			func(dir string) error { return os.Remove(dir + "/config") }},
		"created":                    {func(string) error { return nil }, func(dir string) error { return write(dir + "/config") }},
		"created with its directory": {func(dir string) error { return os.Remove(dir) }, func(dir string) error { return errors.Join(os.MkdirAll(dir, 0o700), write(dir+"/config")) }},
		"a link to another directory, as in a Kubernetes ConfigMap": {
			func(dir string) error {
				return errors.Join(os.Mkdir(dir+"/..1", 0o700), os.Mkdir(dir+"/..2", 0o700), os.WriteFile(dir+"/..1/config", nil, 0o600), write(dir+"/..2/config"),
					os.Symlink("..1", dir+"/..data"), os.Symlink("..data/config", dir+"/config"))
			},
			func(dir string) error {
				return errors.Join(os.Symlink("..2", dir+"/..tmp"), os.Rename(dir+"/..tmp", dir+"/..data"))
			}},
		"the target of a link": {
			func(dir string) error {
				return errors.Join(os.Mkdir(dir+"/real", 0o700), os.WriteFile(dir+"/real/it", nil, 0o600), os.Symlink(dir+"/real/it", dir+"/config"))
			},
			func(dir string) error { return write(dir + "/real/it") }},
		"a directory replaced by another": {
			func(dir string) error {
				return errors.Join(os.Mkdir(dir+"/config", 0o700), os.Mkdir(dir+"/other", 0o700))
			},
			func(dir string) error {
				return errors.Join(os.Rename(dir+"/config", dir+"/old"), os.Rename(dir+"/other", dir+"/config"))
			}},
		"an entry of a directory": {
			func(dir string) error { return os.Mkdir(dir+"/config", 0o700) },
			func(dir string) error { return os.Mkdir(dir+"/config/new", 0o700) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "dir")
			must(t, os.Mkdir(dir, 0o700), test.prepare(dir))
			changed := follow(t, dir+"/config")
			must(t, test.change(dir))
			<-changed
		})
	}
}

// A directory that was removed and created again is subscribed again.
func TestReplacedDirectoryIsFollowed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "dir")
	file := filepath.Join(dir, "config")
	changed := follow(t, file)
	for n := range 3 {
		if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700), os.WriteFile(file, make([]byte, n), 0o600)); err != nil {
			t.Fatal(err)
		}
		<-changed
		if err := os.WriteFile(file, make([]byte, 100+n), 0o600); err != nil {
			t.Fatal(err)
		}
		<-changed
	}
}

func TestDirectoriesOfPath(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		os.MkdirAll(dir+"/a/b", 0o700), os.WriteFile(dir+"/a/b/file", nil, 0o600), os.Symlink("a", dir+"/link"),
		os.Symlink("../a/b/file", dir+"/a/tofile"), os.Symlink("loop", dir+"/loop"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string][]string{
		"a/b/file":      {"a/b"},
		"a/b":           {"a", "a/b"},
		"a/b/none":      {"a/b"},
		"a/none/deeper": {"a"},
		"link/b/file":   {"", "a/b"},
		"a/tofile":      {"a", "a/b"},
		"loop":          {""},
		"a/b/file/x":    {"a/b"},
	} {
		var got []string
		for _, found := range directories(filepath.Join(dir, path)) {
			got = append(got, strings.TrimPrefix(strings.TrimPrefix(found, dir), "/"))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}

// tree returns a Tree of the files in a directory and its subdirectories.
func tree(dir string) func() (files, dirs []string) {
	return func() (files, dirs []string) {
		_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
			case e.IsDir():
				dirs = append(dirs, path)
			default:
				files = append(files, path)
			}
			return nil
		})
		return files, dirs
	}
}

// TestTreeIsFollowed checks what changes in a tree, with the notifications of the system.
func TestTreeIsFollowed(t *testing.T) {
	dir := t.TempDir()
	changed := make(chan struct{}, 100)
	again := make(chan []string, 100)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	defer func() { cancel(); <-done }()
	go func() {
		defer close(done)
		Run(ctx, Config{
			Paths: func() []string { return []string{filepath.Join(dir, "first")} }, Tree: tree(dir), Log: hclog.NewNullLogger(),
			Changed: func() { changed <- struct{}{} }, Again: func(paths []string, _ bool) Next { again <- paths; return AfterChange },
		})
	}()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	<-changed
	<-again
	for n, step := range []func() error{
		func() error { return os.WriteFile(dir+"/first", nil, 0o600) },
		func() error { return os.MkdirAll(dir+"/a/b", 0o700) }, // no change by itself
		func() error { return os.WriteFile(dir+"/a/b/new", nil, 0o600) },
		func() error { return os.WriteFile(dir+"/a/b/new", []byte("longer"), 0o600) },
		func() error { return os.Rename(dir+"/a/b/new", dir+"/a/moved") },
		func() error { return os.RemoveAll(dir + "/a") },
	} {
		must(step())
		if n == 1 {
			continue
		}
		<-changed
		if paths := <-again; len(paths) > 0 {
			t.Errorf("step %d: %q changed during the call", n, paths)
		}
	}
}

// Again decides whether what changed while Changed ran is reported, with files that appear and disappear.
func TestAgainDecidesAboutChangesDuringCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "config")
		var asked [][]string
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		defer func() { cancel(); <-done }()
		calls := 0
		go func() {
			defer close(done)
			Run(ctx, Config{
				Paths: func() []string { return nil }, Tree: tree(w.dir), Log: hclog.NewNullLogger(),
				open: func() (*source, error) {
					return &source{events: w.events, add: func(string) error { return nil }, remove: func(string) error { return nil }, close: func() {}}, nil
				},
				Changed: func() {
					switch calls++; calls {
					case 2:
						w.write("made", "1")
					case 3:
						w.write("config", "changed by the call")
						if err := os.Remove(filepath.Join(w.dir, "made")); err != nil {
							t.Error(err)
						}
					}
				},
				Again: func(paths []string, _ bool) Next {
					var names []string
					for _, path := range paths {
						names = append(names, filepath.Base(path))
					}
					asked = append(asked, names)
					if calls == 2 {
						return AtOnce
					}
					return AfterChange
				},
			})
		}()
		time.Sleep(unsettled)
		synctest.Wait()
		w.write("config", "changed")
		w.event()
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := fmt.Sprint(asked); got != "[[] [made] [config made]]" {
			t.Errorf("after %d calls Again was asked about %s", calls, got)
		}
	})
}

// A call that awaits calm is made once nothing has changed for a while, or after a change, which is no calm.
func TestCallAwaitsCalm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "config")
		var calm []bool
		var next atomic.Int64 // Run reads it after times of its own
		next.Store(int64(AfterChange))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		defer func() { cancel(); <-done }()
		go func() {
			defer close(done)
			Run(ctx, Config{
				Paths: func() []string { return w.paths }, Log: hclog.NewNullLogger(), Changed: func() {},
				Again: func(_ []string, is bool) Next { calm = append(calm, is); return Next(next.Load()) },
				open: func() (*source, error) {
					return &source{events: w.events, add: func(string) error { return nil }, remove: func(string) error { return nil }, close: func() {}}, nil
				},
			})
		}()
		change := func(content string) {
			w.write("config", content)
			w.event()
			time.Sleep(Calm / 2)
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		next.Store(int64(AfterCalm))
		change("1")
		next.Store(int64(AfterChange))
		change("two")
		time.Sleep(time.Minute)
		synctest.Wait()
		next.Store(int64(AfterCalm))
		change("3")
		next.Store(int64(AfterChange))
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := fmt.Sprint(calm); got != "[false false false false true]" {
			t.Errorf("the calls were calm: %s", got)
		}
	})
}
