// Package hostile has modules that try to harm the host, or to reach what they were not given, beside a plugin
// that behaves: each attempt has to end as the documentation says, with one clean line in the audit log, while
// the other plugin's calls and pings go on. All of it runs against the built program over its own stdio.
//
// Modules are built of guests/, or put together by hand where no compiler makes what is tried.
package hostile

import (
	"fmt"
	"github.com/bulkhead-mcp/bulkhead/host"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/testcache"
)

// built is what the tests run.
var built struct {
	program string // path of the bulkhead binary
	plugins string // folder with the plugins intruder and echo
	cache   string // value of XDG_CACHE_HOME that all servers share
}

func TestMain(m *testing.M) {
	host.RunChild()
	if dir := os.Getenv(swapVariable); dir != "" { // this is the second process of a race
		swapForever(dir)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "bulkhead-hostile-")
	if err == nil {
		defer os.RemoveAll(dir)
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err == nil {
		err = buildAll(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func buildAll(dir string) error {
	built.program, built.plugins, built.cache = filepath.Join(dir, "bulkhead"), filepath.Join(dir, "plugins"), filepath.Join(dir, "cache")
	if out, err := goBuild(built.program, "../../cmd/bulkhead").CombinedOutput(); err != nil {
		return fmt.Errorf("build bulkhead: %w\n%s", err, out)
	}
	// By the program, so that it finds their code where it looks for it.
	cmd := exec.Command(built.program, "plugin", "build", "-o", built.plugins, "guests/intruder", "../bench/testdata/echo")
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+built.cache, "GOCACHE="+goCache())
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("bulkhead plugin build: %w\n%s", err, out)
	}
	return nil
}

// goCache is where the Go command keeps what it built, which is below XDG_CACHE_HOME otherwise.
func goCache() string {
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		panic(fmt.Errorf("go env GOCACHE: %w", err))
	}
	return strings.TrimSpace(string(out))
}

// environment is what a server gets: nothing of the process's own that would change how it behaves, and a
// variable that no plugin is granted.
func environment(t testing.TB) []string {
	t.Helper()
	testcache.DependOn(t, "../..")
	return []string{
		"PATH=" + os.Getenv("PATH"), "TZ=UTC", "TOKEN=" + secret,
		"HOME=" + t.TempDir(), "XDG_STATE_HOME=" + t.TempDir(), "XDG_CACHE_HOME=" + built.cache,
	}
}

// secret is what no plugin is ever to see.
const secret = "the key is under the third stone"

// leaks tells whether a text shows the secret.
func leaks(text string) bool { return strings.Contains(text, "third stone") }

// goBuild builds a program without cgo, as releases are: only such a one can confine its workers in every way.
func goBuild(out, pkg string) *exec.Cmd {
	command := exec.Command("go", "build", "-o", out, pkg)
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	return command
}
