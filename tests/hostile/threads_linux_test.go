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

	"github.com/bulkhead-mcp/bulkhead/internal/base/testcache"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

// confined matches the status of a thread that has no capabilities and is restricted by no_new_privs and seccomp.
var confined = regexp.MustCompile(`(?s)\nCapPrm:\t0+\nCapEff:\t0+\n.*\nNoNewPrivs:\t1\nSeccomp:\t2\n`)

// TestAllThreadsOfWorkersAreConfined covers programs with and without cgo, which apply layers to threads differently. The
// config requires all layers; package confine tests what each of them stops.
func TestAllThreadsOfWorkersAreConfined(t *testing.T) {
	t.Parallel()
	doctor := exec.Command(built.program(t), "doctor")
	doctor.Dir, doctor.Env = t.TempDir(), environment(t)
	if out, _ := doctor.CombinedOutput(); strings.Contains(string(out), "is missing") {
		t.Skipf("this system lacks confinement layers: %s", out)
	}
	for _, cgo := range []string{"0", "1"} {
		t.Run("CGO_ENABLED="+cgo, func(t *testing.T) {
			w := newWorkspace(t)
			w.program = programWithCgo(t, cgo)
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

// programWithCgo returns the program built as releases are, with cgo "0", or as go run does where a C compiler is installed.
func programWithCgo(t *testing.T, cgo string) string {
	t.Helper()
	if cgo == "0" {
		testenv.All(t, "compiles the program and the standard library once more, without cgo")
		return testcache.Must(testcache.Program("../../cmd/bulkhead", testcache.WithoutCgo))
	}
	compiler, err := exec.Command("go", "env", "CC").Output()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath(strings.TrimSpace(string(compiler))); err != nil {
		t.Skipf("there is no C compiler for the build with cgo: %v", err)
	}
	return testcache.Must(testcache.Program("../../cmd/bulkhead", testcache.WithCgo))
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
