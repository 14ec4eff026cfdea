//go:build unix

package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// workers returns the process IDs of the server's workers.
func (s *server) workers() []int {
	s.t.Helper()
	if runtime.GOOS != "linux" {
		s.t.Skip("only Linux lists the children of a process")
	}
	var pids []int
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", s.cmd.Process.Pid))
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for _, child := range strings.Fields(string(text)) {
			line, _ := os.ReadFile("/proc/" + child + "/cmdline")
			if pid, err := strconv.Atoi(child); err == nil && strings.HasPrefix(string(line), "bulkhead-worker\x00bulkhead-worker") {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

func TestFirstCallStartsWorker(t *testing.T) {
	t.Parallel()
	s := servePlugins(t, copyPlugins(t, "misbehave", "hello"))
	s.ask(`{"jsonrpc":"2.0","id":1000,"method":"tools/list"}`)
	if pids := s.workers(); len(pids) > 0 {
		t.Errorf("%d workers run before the first call, want none", len(pids))
	}
	s.mustCall("hello_greet", `{"name":"Ada"}`)
	s.mustCall("hello_greet", `{"name":"Bob"}`)
	if pids := s.workers(); len(pids) != 1 {
		t.Errorf("%d workers run after calls of one plugin, want 1", len(pids))
	}
	s.end()
}

func TestKilledWorkerIsReplaced(t *testing.T) {
	t.Parallel()
	s := servePlugins(t, copyPlugins(t, "misbehave", "hello"))
	s.mustCall("misbehave_ok", `{}`)
	s.mustCall("hello_greet", `{"name":"Ada"}`)
	for range 3 {
		for _, pid := range s.workers() {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
		s.mustCall("misbehave_ok", `{}`)
		s.mustCall("hello_greet", `{"name":"Ada"}`)
	}
	s.end()
}

func TestWorkersEndWithTheirHost(t *testing.T) {
	t.Parallel()
	s := servePlugins(t, copyPlugins(t, "misbehave", "hello"))
	s.sendCall("misbehave_spin", `{}`)
	s.mustCall("hello_greet", `{"name":"Ada"}`)
	pids := s.workers()
	if len(pids) == 0 {
		t.Fatal("no worker runs")
	}
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.exited
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		left := 0
		for _, pid := range pids {
			if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && !strings.Contains(string(stat), ") Z ") {
				left++
			}
		}
		if left == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d workers have outlived their host", left)
		}
	}
}

// TestReplacedProjectIsSeen replaces the project's directory by a different one between calls.
func TestReplacedProjectIsSeen(t *testing.T) {
	t.Parallel()
	specs := func(title string) map[string]string { return map[string]string{goodFile: specText("pending", title)} }
	project := newDir(t, specs("First"))
	s := serveChant(t, project)
	if text := s.mustCall("chant_spec_list", `{}`); !strings.Contains(text, "First") {
		t.Fatalf("got %s", text)
	}
	for i, title := range []string{"Second", "Third"} {
		if err := os.Rename(project, fmt.Sprintf("%s-%d", project, i)); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(newDir(t, specs(title)), project); err != nil {
			t.Fatal(err)
		}
		if text := s.mustCall("chant_spec_list", `{}`); !strings.Contains(text, title) || strings.Contains(text, "First") {
			t.Errorf("got %s, want %s", text, title)
		}
	}
	if err := os.RemoveAll(project); err != nil {
		t.Fatal(err)
	}
	if r := s.call("chant_spec_list", `{}`); !r.IsError {
		t.Errorf("without a project: %+v", r)
	}
	if err := os.Rename(newDir(t, specs("Fourth")), project); err != nil {
		t.Fatal(err)
	}
	if text := s.mustCall("chant_spec_list", `{}`); !strings.Contains(text, "Fourth") {
		t.Errorf("got %s", text)
	}
	s.end()
}

// TestProjectLinkIsRefusedAtLoad has a project that contains a symbolic link at the path of a granted directory, as a cloned
// repository may.
func TestProjectLinkIsRefusedAtLoad(t *testing.T) {
	t.Parallel()
	root := newDir(t, map[string]string{"secret/key": "k", "project/README": "r"})
	if err := os.Symlink("../secret", filepath.Join(root, "project/.notes")); err != nil {
		t.Fatal(err)
	}
	plugins := copyPlugins(t, "hello")
	manifest := filepath.Join(plugins, "hello/plugin.toml")
	putFile(t, manifest, readFile(t, manifest)+"\n[[capabilities.fs]]\npath = \"${project}/.notes\"\naccess = \"rw\"\nwhy = \"keeps notes\"\n")
	s := startServer(t, programCommand(t, "serve", "--plugins", plugins, "--project", filepath.Join(root, "project")))
	s.wantFailure("hello_greet", `{"name":"Ada"}`, "sandbox", "symbolic link", "secret")
	s.end()
}

func TestRequiredConfinement(t *testing.T) {
	t.Parallel()
	config := filepath.Join(newDir(t, nil), "bulkhead.toml")
	putFile(t, config, fmt.Sprintf("[server]\nconfinement = \"required\"\n[[plugins]]\npath = %q\n", filepath.Join(copyPlugins(t, "hello"), "hello")))
	missing := programCommand(t, "doctor", "--config", config, "--project", newDir(t, nil))
	report, _ := missing.CombinedOutput()
	call := programCommand(t, "call", "--config", config, "--project", newDir(t, nil), "hello_greet", "--arg", "name=Ada")
	out, err := call.CombinedOutput()
	if strings.Contains(string(report), "is missing") {
		if err == nil || !strings.Contains(string(out), `confinement = "required"`) {
			t.Errorf("layers are missing, want the call refused: %v\n%s", err, out)
		}
		t.Skip("this system lacks confinement layers")
	}
	if err != nil || !strings.Contains(string(out), "Hello, Ada!") {
		t.Errorf("%v\n%s", err, out)
	}
}
