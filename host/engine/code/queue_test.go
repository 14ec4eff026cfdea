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
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
)

func slots(n int) func(*Config) { return func(c *Config) { c.Slots = n } }

// letGo lets the fake compilers that wait go on.
func (w *world) letGo() { mark(w.dir, "go") }

// TestHostsShareOneQueue: two hosts, five first calls each, never run more compilers than there are slots, and all
// get code.
func TestHostsShareOneQueue(t *testing.T) {
	const most = 2
	w := newWorld(t)
	stores := []*Store{w.open("gate-and-compile", slots(most)), w.open("gate-and-compile", slots(most))}
	var all sync.WaitGroup
	for n := range 10 {
		m := w.module(fmt.Sprint("m", n))
		all.Go(func() {
			found, err := stores[n%2].Ensure(t.Context(), m, Foreground)
			if err != nil {
				t.Error(err)
				return
			}
			found.Close()
		})
	}
	w.until("the slots are taken", func() bool { return w.count("running-") == most })
	time.Sleep(100 * time.Millisecond) // for one too many to appear
	if n := w.count("started-"); n != most {
		t.Errorf("%d compilers run, and there are %d slots", n, most)
	}
	w.letGo()
	all.Wait()
}

func TestAWaitCanBeCancelled(t *testing.T) {
	w := newWorld(t)
	s := w.open("gate", slots(1))
	ctx, cancel := context.WithCancel(t.Context())
	busy, queued, same := w.module("busy"), w.module("queued"), make(chan error, 1)
	ended := make(chan error, 1)
	go func() { _, err := s.Ensure(ctx, busy, Foreground); ended <- err }()
	w.until("the slot is taken", func() bool { return w.count("running-") == 1 })
	for name, m := range map[string]Module{"for a slot": queued, "for another who compiles it": busy} {
		waiting, stop := context.WithCancel(t.Context())
		go func() { _, err := s.Ensure(waiting, m, Foreground); same <- err }()
		time.Sleep(10 * time.Millisecond)
		stop()
		if err := <-same; !errors.Is(err, context.Canceled) {
			t.Errorf("waiting %s: %v", name, err)
		}
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("compiling: %v", err)
	}
	if left := w.leftovers(); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// TestBackgroundGivesWay: it takes no slot while a foreground waits, and leaves one to it.
func TestBackgroundGivesWay(t *testing.T) {
	w := newWorld(t)
	q := queue{dir: w.dir, slots: 2}
	enter := func(p Priority) *os.File {
		t.Helper()
		slot, err := q.enter(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		return slot
	}
	cannot := func(p Priority, what string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if slot, err := q.enter(ctx, p); err == nil {
			slot.Close()
			t.Errorf("a slot is given out, though %s", what)
		}
	}
	background := enter(Background)
	cannot(Background, "the last one is left to the foreground")
	foreground := enter(Foreground)
	cannot(Foreground, "both are taken")
	waits := make(chan *os.File)
	go func() {
		slot, err := q.enter(t.Context(), Foreground)
		if err != nil {
			t.Error(err)
		}
		waits <- slot
	}()
	waiting, err := openLock(filepath.Join(w.dir, waitingFile))
	if err != nil {
		t.Fatal(err)
	}
	defer waiting.Close()
	w.until("the foreground waits", func() bool { free, _ := nobodyWaits(waiting); return !free })
	cannot(Background, "a foreground waits")
	background.Close()
	(<-waits).Close()
	foreground.Close()
	enter(Background).Close()
}

func TestAKilledCompilerIsTriedAgain(t *testing.T) {
	w := newWorld(t)
	w.ensured(w.open("killed-once"), w.module("a"))
	if n := w.count("started-"); n != 2 {
		t.Errorf("%d compilers were started, want 2", n)
	}
	w = newWorld(t)
	s, m := w.open("killed"), w.module("a")
	for range 2 {
		w.refused(s, m, Compiler, "was killed (signal: killed)")
	}
	if n := w.count("started-"); n != 4 {
		t.Errorf("%d compilers were started, want two for each call", n)
	}
}

func TestACompilerThatCannotBeStartedSaysNothingOfTheModule(t *testing.T) {
	w := newWorld(t)
	s := w.open("", func(c *Config) { c.Compiler = []string{filepath.Join(w.dir, "none")} })
	w.refused(s, w.module("a"), Compiler, "cannot be started")
}

// TestFailuresAreRemembered: a module that cannot be compiled does not cost each call the same again.
func TestFailuresAreRemembered(t *testing.T) {
	second := func(c *Config) { c.CPU = time.Second }
	for role, want := range map[string]struct {
		reason Reason
		says   string
		starts int
	}{
		"compile": {Invalid, "", 1}, // what is no module
		"endless": {Invalid, "compiling it takes more than 1s of processor time", 1},
		"greedy":  {Invalid, "compiling it takes more than 3072 MiB of memory", 1},
		"crashed": {Compiler, "crashed (exit status 2): panic: of the compiler", 2},
	} {
		t.Run(role, func(t *testing.T) {
			w := newWorld(t)
			s, m := w.open(role, second), w.raw("none", []byte("none"))
			for range 3 {
				w.refused(s, m, want.reason, want.says)
			}
			if n := w.count("started-"); n != want.starts {
				t.Errorf("%d compilers were started, want %d", n, want.starts)
			}
			if err := os.WriteFile(m.File, []byte("other"), 0o600); err != nil {
				t.Fatal(err)
			}
			w.refused(s, m, want.reason, want.says)
			if n := w.count("started-"); n != 2*want.starts {
				t.Errorf("%d compilers were started for two modules", n)
			}
		})
	}
}

func TestRememberedFailuresAreForgotten(t *testing.T) {
	var f failures
	f.put("a", &Error{Reason: Invalid})
	f.put("killed", &Error{Reason: Compiler})
	f.put("full", &Error{Reason: Storage})
	if f.get("a") == nil || f.get("killed") != nil || f.get("full") != nil {
		t.Errorf("remembered: %v", f.byKey)
	}
	old := f.byKey["a"]
	old.until = time.Now().Add(-time.Second)
	f.byKey["a"] = old
	if f.get("a") != nil {
		t.Error("a failure is remembered for ever")
	}
	for n := range 3 * maxFailed {
		f.put(strconv.Itoa(n), &Error{Reason: Invalid})
	}
	if len(f.byKey) > maxFailed {
		t.Errorf("%d failures are remembered", len(f.byKey))
	}
}

// TestCloseEndsACompilerThatIsStopped, which ignores every signal but one.
func TestCloseEndsACompilerThatIsStopped(t *testing.T) {
	w := newWorld(t)
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
		t.Errorf("left behind: %q", left)
	}
}

// alive tells whether a process lives that marked itself in the shared directory.
func alive(w *world, prefix string) bool {
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

// zombie tells whether a process has ended and waits for whoever adopted it.
func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && bytes.Contains(stat, []byte(") Z "))
}

// TestWhatADeadHostLeftIsRemoved: its compiler ends with it, and the directory goes at the next start.
func TestWhatADeadHostLeftIsRemoved(t *testing.T) {
	w := newWorld(t)
	m := w.module("a")
	host := exec.Command(os.Args[0], roleArgument, "host", w.dir, w.cache, m.File)
	var said bytes.Buffer
	host.Stderr = &said
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	w.until("it compiles", func() bool { return w.count("running-") == 1 })
	another := w.module("another")
	s := w.open("compile", slots(2))
	w.ensured(s, another)
	if left := w.leftovers(); len(left) != 1 {
		t.Errorf("while it lives: %q", left)
	}
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = host.Wait()
	w.until("its compiler is dead", func() bool { return !alive(w, "running-") })
	if err := w.open("compile").Warm(t.Context(), another); err != nil {
		t.Fatal(err)
	}
	if left := w.leftovers(); len(left) > 0 {
		t.Errorf("left behind: %q; the host said %q", left, said.String())
	}
	w.ensured(s, m) // its lock and its slot are free
}

// TestAChildEndsWithItsInput where the system does not end it with its parent.
func TestAChildEndsWithItsInput(t *testing.T) {
	w := newWorld(t)
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

func TestTheLogSaysWhy(t *testing.T) {
	w := newWorld(t)
	var out bytes.Buffer
	s := w.open("killed-once", func(c *Config) { c.Log = hclog.New(&hclog.LoggerOptions{Output: &out}) })
	w.ensured(s, w.module("a"))
	if !strings.Contains(out.String(), "the compiler failed, and is started once more") {
		t.Errorf("logged: %s", out.String())
	}
}
