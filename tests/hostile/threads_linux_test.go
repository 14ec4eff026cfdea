package hostile

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// confined matches the status of a thread that has no capabilities and is restricted by no_new_privs and seccomp.
var confined = regexp.MustCompile(`(?s)\nCapPrm:\t0+\nCapEff:\t0+\n.*\nNoNewPrivs:\t1\nSeccomp:\t2\n`)

// TestAllThreadsOfWorkersAreConfined covers programs with and without cgo, which apply layers to threads differently. The
// config requires all layers; package confine tests what each of them stops.
func TestAllThreadsOfWorkersAreConfined(t *testing.T) {
	t.Parallel()
	doctor := exec.Command(built.program, "doctor")
	doctor.Dir, doctor.Env = t.TempDir(), environment(t)
	if out, _ := doctor.CombinedOutput(); strings.Contains(string(out), "is missing") {
		t.Skipf("this system lacks confinement layers: %s", out)
	}
	for _, cgo := range []string{"0", "1"} {
		t.Run("CGO_ENABLED="+cgo, func(t *testing.T) {
			w := newWorkspace(t)
			if cgo == "1" {
				w.program = buildWithCgo(t)
			}
			w.config.WriteString("[server]\nconfinement = \"required\"\n")
			w.addIntruder("")
			w.addModule("slow", slow(t, t.Name()), "")
			s := w.serve()
			if a := s.call("intrude", `{"do": "nothing"}`); a.Text != "nothing" {
				t.Fatalf("a call of a confined worker: %+v", a)
			}
			childOf(t, s, func(pid int, args []string) bool { return args[0] == "bulkhead-worker" && allConfined(pid) })
			s.begin("slow", `{}`)
			// The compiler applies its layers after it has started.
			c := compilerOf(t, s)
			for end := time.Now().Add(patience); !allConfined(c.pid); time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("the compiler has threads that are not confined")
				}
			}
		})
	}
}

// buildWithCgo builds the program as go run does where a C compiler is installed.
func buildWithCgo(t *testing.T) string {
	t.Helper()
	compiler, err := exec.Command("go", "env", "CC").Output()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath(strings.TrimSpace(string(compiler))); err != nil {
		t.Skipf("there is no C compiler for the build with cgo: %v", err)
	}
	program := filepath.Join(t.TempDir(), "bulkhead")
	if out, err := goBuild(program, "../../cmd/bulkhead", "1").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// allConfined reports whether a process has several threads, and all of them are confined.
func allConfined(pid int) bool {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	for _, file := range files {
		if status, err := os.ReadFile(file); err != nil || !confined.Match(status) {
			return false
		}
	}
	return len(files) > 1
}
