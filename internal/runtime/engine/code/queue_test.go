//go:build unix

package code

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/confine"
	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/filelock"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

func slots(n int) func(*Config) { return func(c *Config) { c.Slots = n } }

// openGate releases the waiting fake compilers.
func (w *env) openGate() { mark(w.dir, "go") }

// The test takes all slots, as another host does, thus the compiler of each Store waits.
func TestHostsShareCompilerSlots(t *testing.T) {
	const limit = 2
	w := newEnv(t)
	stores := []*Store{w.open("compile", slots(limit)), w.open("compile", slots(limit))}
	waiting, err := filelock.Open(filepath.Join(w.cache, waitingFile))
	if err != nil {
		t.Fatal(err)
	}
	defer waiting.Close()
	for n, s := range stores {
		var held []*os.File
		for range limit {
			slot, err := queue{dir: w.cache, slots: limit}.acquireSlot(t.Context(), Foreground)
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, slot)
		}
		m, ended := w.module(fmt.Sprint("m", n)), make(chan error, 1)
		go func() {
			found, err := s.Ensure(t.Context(), m, Foreground)
			if err == nil {
				found.Close()
			}
			ended <- err
		}()
		w.until("the caller waits or compiles", func() bool {
			free, err := noForegroundWaits(waiting)
			return err != nil || !free || w.count("started-") > n
		})
		if started := w.count("started-"); started > n {
			t.Errorf("a compiler was started beyond the limit of %d", limit)
		}
		for _, slot := range held {
			slot.Close()
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if started := w.count("started-"); started != len(stores) {
		t.Errorf("%d compilers were started, want %d", started, len(stores))
	}
}

func TestQueuesShareSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, callers = 2, 10
		dir := t.TempDir()
		acquired := make(chan *os.File, callers)
		for n := range callers {
			q := queue{dir: dir, slots: limit}
			go func() {
				slot, err := q.acquireSlot(t.Context(), []Priority{Foreground, Background}[n%2])
				if err != nil {
					t.Error(err)
				}
				acquired <- slot
			}()
		}
		for done := range callers {
			time.Sleep(time.Second) // on the fake clock: each caller that can acquire a slot has it
			if held := len(acquired); held > limit || held == 0 {
				t.Fatalf("after %d of %d callers, %d hold a slot, want at most %d", done, callers, held, limit)
			}
			(<-acquired).Close()
		}
	})
}

func TestWaitingForTurnIsCancelable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queue{dir: t.TempDir(), slots: 1}
		busy, err := q.acquireTurn(t.Context(), "busy", Foreground)
		if err == nil {
			err = busy.takeSlot(t.Context(), q, Foreground)
		}
		if err != nil {
			t.Fatal(err)
		}
		defer busy.release()
		for name, wait := range map[string]func(context.Context) error{
			"for an entry": func(ctx context.Context) error { _, err := q.acquireTurn(ctx, "busy", Foreground); return err },
			"for a slot": func(ctx context.Context) error {
				free, err := q.acquireTurn(ctx, "free", Foreground)
				if err != nil {
					return err
				}
				defer free.release()
				return free.takeSlot(ctx, q, Foreground)
			},
			"for a slot, in the background": func(ctx context.Context) error { _, err := q.acquireTurn(ctx, "free", Background); return err },
		} {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- wait(ctx) }()
			time.Sleep(time.Second) // on the fake clock
			if len(ended) > 0 {
				t.Errorf("waiting %s ended before it was canceled", name)
			}
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("waiting %s: %v", name, err)
			}
		}
	})
}

func TestWaitingEnsureIsCancelable(t *testing.T) {
	w := newEnv(t)
	s := w.open("hanging", slots(1))
	ctx, cancel := context.WithCancel(t.Context())
	busy, queued, same := w.module("busy"), w.module("queued"), make(chan error, 1)
	ended := make(chan error, 1)
	go func() { _, err := s.Ensure(ctx, busy, Foreground); ended <- err }()
	w.until("the slot is taken", func() bool { return w.count("running-") == 1 })
	for name, m := range map[string]Module{"for a slot": queued, "for another caller's compiler": busy} {
		waiting, stop := context.WithCancel(t.Context())
		go func() { _, err := s.Ensure(waiting, m, Foreground); same <- err }()
		stop() // TestWaitingForTurnIsCancelable cancels after the wait has begun
		if err := <-same; !errors.Is(err, context.Canceled) {
			t.Errorf("waiting %s: %v", name, err)
		}
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("compiling: %v", err)
	}
	if left := w.leftovers(); len(left) > 0 {
		t.Errorf("directories of unfinished compilations are left: %q", left)
	}
}

func TestBackgroundYieldsToForeground(t *testing.T) {
	testenv.NotShort(t, "waits for compilers")
	synctest.Test(t, testBackgroundYields)
}

func testBackgroundYields(t *testing.T) {
	w := newEnv(t)
	q := queue{dir: w.dir, slots: 2}
	acquire := func(p Priority) *os.File {
		t.Helper()
		slot, err := q.acquireSlot(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		return slot
	}
	cannot := func(p Priority, what string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if slot, err := q.acquireSlot(ctx, p); err == nil {
			slot.Close()
			t.Errorf("got a slot although %s", what)
		}
	}
	background := acquire(Background)
	cannot(Background, "the last slot is reserved for Foreground")
	foreground := acquire(Foreground)
	cannot(Foreground, "both slots are in use")
	waits := make(chan *os.File)
	go func() {
		slot, err := q.acquireSlot(t.Context(), Foreground)
		if err != nil {
			t.Error(err)
		}
		waits <- slot
	}()
	waiting, err := filelock.Open(filepath.Join(w.dir, waitingFile))
	if err != nil {
		t.Fatal(err)
	}
	defer waiting.Close()
	w.until("Foreground waits", func() bool { free, _ := noForegroundWaits(waiting); return !free })
	cannot(Background, "a Foreground waits")
	background.Close()
	(<-waits).Close()
	foreground.Close()
	acquire(Background).Close()
}

func TestKilledCompilerIsRetried(t *testing.T) {
	w := newEnv(t)
	w.ensure(w.open("killed-once"), w.module("a"))
	if n := w.count("started-"); n != 2 {
		t.Errorf("%d compilers were started, want 2", n)
	}
	w = newEnv(t)
	s, m := w.open("killed"), w.module("a")
	for range 2 {
		w.ensureFails(s, m, Interrupted, "was killed (signal: killed)")
	}
	if n := w.count("started-"); n != 4 {
		t.Errorf("%d compilers were started, want two for each call", n)
	}
}

func TestUnstartableCompilerDoesNotInvalidateModule(t *testing.T) {
	w := newEnv(t)
	s := w.open("", func(c *Config) { c.Compiler = []string{filepath.Join(w.dir, "none")} })
	w.ensureFails(s, w.module("a"), Compiler, "cannot be started")
}

func TestReachedProcessorTimeIsRecognized(t *testing.T) {
	for _, c := range []struct {
		limit, used time.Duration
		reached     bool
	}{
		{time.Second, time.Second, true}, {time.Second, 750 * time.Millisecond, true}, {time.Second, 600 * time.Millisecond, false},
		{time.Minute, 55 * time.Second, true}, {time.Minute, 50 * time.Second, false},
	} {
		if reached := (&job{config: Config{CPU: c.limit}}).reachedCPU(c.used); reached != c.reached {
			t.Errorf("%s of %s: %t, want %t", c.used, c.limit, reached, c.reached)
		}
	}
}

func TestFailuresAreCached(t *testing.T) {
	testenv.NotShort(t, "waits for compilers")
	limits := func(c *Config) { c.CPU, c.wall = time.Second, time.Hour }
	for role, want := range map[string]struct {
		reason  Reason
		message string
		starts  int
	}{
		"compile": {Invalid, "", 1}, // the input is not a module
		"endless": {Invalid, "compiling the module takes more than 1s of processor time: simplify its largest functions", 1},
		"greedy":  {Invalid, "compiling the module takes more than 3072 MiB of memory: simplify its largest functions", 1},
		"crashed": {Compiler, "crashed (exit status 2): panic: of the compiler", 2},
	} {
		t.Run(role, func(t *testing.T) {
			w := newEnv(t)
			s, m := w.open(role, limits), w.raw("none", []byte("none"))
			for range 3 {
				w.ensureFails(s, m, want.reason, want.message)
			}
			if n := w.count("started-"); n != want.starts {
				t.Errorf("%d compilers were started, want %d", n, want.starts)
			}
			if err := os.WriteFile(m.File, []byte("other"), 0o600); err != nil {
				t.Fatal(err)
			}
			w.ensureFails(s, m, want.reason, want.message)
			if n := w.count("started-"); n != 2*want.starts {
				t.Errorf("%d compilers were started for two modules", n)
			}
		})
	}
}

func TestCachedFailuresExpire(t *testing.T) {
	var f failures
	f.put("a", &Error{Reason: Invalid})
	f.put("killed", &Error{Reason: Interrupted})
	f.put("full", &Error{Reason: Storage})
	if f.get("a") == nil || f.get("killed") != nil || f.get("full") != nil {
		t.Errorf("want only the failure of an invalid module, got %v", f.byKey)
	}
	old := f.byKey["a"]
	old.until = time.Now().Add(-time.Second)
	f.byKey["a"] = old
	if f.get("a") != nil {
		t.Error("an expired failure is returned")
	}
	for n := range 3 * maxFailed {
		f.put(strconv.Itoa(n), &Error{Reason: Invalid})
	}
	if len(f.byKey) > maxFailed {
		t.Errorf("%d failures are cached, above maxFailed", len(f.byKey))
	}
}

// A stopped process handles no signal but SIGKILL and SIGCONT.
func TestCloseKillsStoppedCompiler(t *testing.T) {
	w := newEnv(t)
	s, m := w.open("stopped"), w.module("a")
	ended := make(chan error, 1)
	go func() { _, err := s.Ensure(t.Context(), m, Foreground); ended <- err }()
	w.until("the compiler is started", func() bool { return w.count("started-") == 1 })
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, errClosed) {
		t.Errorf("the call ended with %v", err)
	}
	w.until("the compiler is dead", func() bool { return !alive(w, "started-") })
	if left := w.leftovers(); len(left) > 0 {
		t.Errorf("directories of unfinished compilations are left: %q", left)
	}
}

// alive reports whether a process whose ID is in the shared directory is running.
func alive(w *env, prefix string) bool {
	items, err := os.ReadDir(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, item := range items {
		if pid, err := strconv.Atoi(strings.TrimPrefix(item.Name(), prefix)); err == nil && syscall.Kill(pid, 0) == nil && !zombie(pid) {
			return true
		}
	}
	return false
}

// zombie reports whether a process has ended but is not yet reaped.
func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && bytes.Contains(stat, []byte(") Z "))
}

// The compiler of a killed host dies with the host, and the next host removes the compiler's output directory.
func TestLeftoversOfDeadHostAreRemoved(t *testing.T) {
	w := newEnv(t)
	m := w.module("a")
	host := exec.Command(os.Args[0], roleArgument, "host", w.dir, w.cache, m.File)
	var stderr bytes.Buffer
	host.Stderr = &stderr
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	w.until("the host compiles", func() bool { return w.count("running-") == 1 })
	another := w.module("another")
	s := w.open("compile", slots(2))
	w.ensure(s, another)
	if left := w.leftovers(); len(left) != 1 {
		t.Errorf("while the host is alive: %q", left)
	}
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = host.Wait()
	w.until("the compiler of the killed host is dead", func() bool { return !alive(w, "running-") })
	if err := w.open("compile").Warm(t.Context(), another); err != nil {
		t.Fatal(err)
	}
	if left := w.leftovers(); len(left) > 0 {
		t.Errorf("left behind: %q; the host's stderr: %q", left, stderr.String())
	}
	w.ensure(s, m) // the lock and the slot of the killed host are free
}

// Some systems have no parent-death signal, so a child also exits when its standard input ends.
func TestChildExitsAtEndOfInput(t *testing.T) {
	w := newEnv(t)
	for name, sent := range map[string]string{"nothing": "", "a part of the module": "\x00\x00\x00\x00\x00\x00\x00\x09abc"} {
		t.Run(name, func(t *testing.T) {
			child := exec.Command(os.Args[0], roleArgument, "compile", w.dir, w.dir, "1", "10")
			child.Stdin = strings.NewReader(sent)
			err := child.Run()
			if child.ProcessState.ExitCode() != exitOrphan {
				t.Errorf("ended with %v", err)
			}
		})
	}
}

func TestRetryIsLogged(t *testing.T) {
	w := newEnv(t)
	var out bytes.Buffer
	s := w.open("killed-once", func(c *Config) { c.Log = hclog.New(&hclog.LoggerOptions{Output: &out}) })
	w.ensure(s, w.module("a"))
	if !strings.Contains(out.String(), "the compiler failed and is retried once") {
		t.Errorf("the retry is not logged: %s", out.String())
	}
}

// TestModuleIsNotSentToUnconfinedCompiler has a compiler report its confinement, and refuses it.
func TestModuleIsNotSentToUnconfinedCompiler(t *testing.T) {
	w := newEnv(t)
	refusal := errors.New("a layer is missing")
	var reports []confine.Report
	s := w.open("compile", func(c *Config) {
		c.Confined = func(r confine.Report) error {
			reports = append(reports, r)
			return refusal
		}
	})
	_, err := s.Ensure(t.Context(), w.module("a"), Foreground)
	if !errors.Is(err, refusal) {
		t.Errorf("got the error %v, want %v", err, refusal)
	}
	if len(reports) != 2 || len(reports[0]) == 0 || len(reports[0].Unexpected()) > 0 { // the compiler is retried once
		t.Errorf("the compilers reported %v", reports)
	}
	if found, err := w.open("compile").Ensure(t.Context(), w.module("a"), Foreground); err != nil {
		t.Errorf("the refusal was cached: %v", err)
	} else if err := found.Close(); err != nil {
		t.Error(err)
	}
}
