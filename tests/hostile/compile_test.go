//go:build unix

package hostile

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
)

// compiler is a compiler process of a server, and its output directory.
type compiler struct {
	pid int
	dir string
}

// compilerOf waits until the server has started a compiler.
func compilerOf(t *testing.T, s *server) compiler {
	t.Helper()
	var c compiler
	childOf(t, s, func(pid int, args []string) bool {
		if len(args) > 3 && args[1] == "bulkhead-compile" {
			c = compiler{pid, args[2]}
		}
		return c.pid != 0
	})
	return c
}

// childOf waits until the server has a child process that is wanted.
func childOf(t *testing.T, s *server, wanted func(pid int, args []string) bool) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux lists the children of a process")
	}
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", s.cmd.Process.Pid))
		for _, list := range lists {
			text, _ := os.ReadFile(list)
			for _, child := range strings.Fields(string(text)) {
				line, _ := os.ReadFile("/proc/" + child + "/cmdline")
				if pid, err := strconv.Atoi(child); err == nil && wanted(pid, strings.Split(string(line), "\x00")) {
					return
				}
			}
		}
	}
	t.Fatal("the server has not started the process")
}

// waitForEnd waits until the compiler has ended.
func (c compiler) waitForEnd(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.pid))
		if err != nil || bytes.Contains(stat, []byte(") Z ")) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the compiler outlived its host: %s", stat)
		}
	}
}

// slow returns a module that takes seconds to compile and whose digest depends on name.
func slow(t *testing.T, name string) []byte {
	t.Helper()
	module, err := os.ReadFile(filepath.Join(built.plugins(t), "intruder", "intruder.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	return append(module, append([]byte{0, byte(len(name) + 1), byte(len(name))}, name...)...) // a custom section
}

// compiling starts a server and a call, for which the server compiles a slow module.
func compiling(t *testing.T) (*workspace, *server, compiler) {
	t.Helper()
	w := newWorkspace(t)
	w.addModule("slow", slow(t, t.Name()), "")
	s := w.serve()
	s.begin("slow", `{}`)
	return w, s, compilerOf(t, s)
}

// TestSIGTERMKillsStoppedCompiler stops the compiler with SIGSTOP, so that it does not react to the end of its stdin.
func TestSIGTERMKillsStoppedCompiler(t *testing.T) {
	t.Parallel()
	_, s, c := compiling(t)
	if err := syscall.Kill(c.pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.exited:
	case <-time.After(patience):
		t.Fatal("the server did not exit while its compiler was stopped")
	}
	c.waitForEnd(t)
	if _, err := os.Lstat(c.dir); err == nil {
		t.Error("the compiler's output directory was not removed")
	}
}

// TestCompilerEndsWithHost kills the host. The compiler must end, and the next host must remove the output directory.
func TestCompilerEndsWithHost(t *testing.T) {
	t.Parallel()
	w, s, c := compiling(t)
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.exited
	c.waitForEnd(t)
	if a := w.serve().call("slow", `{}`); a.Failure == "internal" || a.Failure == "invalid_module" {
		t.Errorf("the next host: %+v", a)
	}
	if _, err := os.Lstat(c.dir); err == nil {
		t.Error("the compiler's output directory was not removed")
	}
}

func TestKilledCompilerIsRestarted(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.addModule("slow", slow(t, t.Name()), "")
	s := w.serve()
	call := s.begin("slow", `{}`)
	if err := syscall.Kill(compilerOf(t, s).pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if a := s.await(call); a.Failure == "internal" || a.Failure == "invalid_module" {
		t.Errorf("the call was answered with %+v", a)
	}
	if !strings.Contains(s.log.String(), "the compiler failed and is retried once") {
		t.Error("the log does not report the retry")
	}
}

// TestFirstCallsSucceedUnderLoad makes five first calls on each of two servers with an empty cache while all processors are busy.
func TestFirstCallsSucceedUnderLoad(t *testing.T) {
	var busy sync.WaitGroup
	var stop atomic.Bool
	for range 4 * runtime.NumCPU() {
		busy.Go(func() {
			for !stop.Load() {
				for n := range 1 << 20 {
					_ = n
				}
			}
		})
	}
	defer busy.Wait()
	defer stop.Store(true)
	for range 3 {
		cache := t.TempDir()
		var servers []*server
		var calls []<-chan answer
		for range 2 {
			w := newWorkspace(t)
			w.config.Reset()
			for n := range 5 {
				body := fmt.Sprintf(`{"result":{"content":[{"type":"text","text":"%d"}]}}`, n)
				w.addModule(fmt.Sprint("m", n), wasmtest.Plugin(code(repeat(20_000, num(7), num(8), add, drop), invoke(wasmtest.Output, 0, int32(len(body)))), body).Bytes(), "")
			}
			w.writeFile("bulkhead.toml", w.config.String())
			cmd := exec.Command(built.program(t), "serve", "--config", w.path("bulkhead.toml"), "--project", w.project)
			cmd.Dir, cmd.Env = w.dir, append(w.env, "XDG_CACHE_HOME="+cache)
			s := start(t, cmd)
			for n := range 5 {
				calls = append(calls, s.begin(fmt.Sprint("m", n), `{}`))
			}
			servers = append(servers, s)
		}
		for n, call := range calls {
			if a := servers[n/5].await(call); a != (answer{Text: fmt.Sprint(n % 5)}) {
				t.Errorf("server %d answered the call of module %d with %+v", n/5, n%5, a)
			}
		}
		for _, s := range servers {
			s.end()
		}
	}
}

// TestFIFOModuleIsRefused checks that the host does not block on opening a FIFO without a writer.
func TestFIFOModuleIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.addModule("pipe", nil, "")
	module := w.path("plugins/pipe/it.wasm")
	if err := os.Remove(module); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(module, 0o600); err != nil {
		t.Fatal(err)
	}
	s := w.serve()
	if a := s.call("pipe", `{}`); a.Failure != "module_missing" || !strings.Contains(a.Text, "is not a regular file") {
		t.Errorf("the call was answered with %+v", a)
	}
	s.end()
	for _, command := range [][]string{
		{"plugin", "check", w.path("plugins/pipe")}, {"plugin", "build", "-o", w.path("out"), w.path("plugins/pipe")}, {"verify"}, {"doctor"}, {"warm"}, {"cache"},
		{"add", w.path("plugins/pipe"), "--yes"}, {"diff", w.path("plugins/pipe"), filepath.Join(built.plugins(t), "echo")}, {"tools"},
	} {
		cmd := exec.Command(built.program(t), command...)
		cmd.Dir, cmd.Env = w.dir, w.env
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		late := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		if !late.Stop() {
			t.Errorf("bulkhead %s blocks on the FIFO", strings.Join(command, " "))
		}
	}
}
