//go:build unix

// Package hostile runs malicious modules against the built program. Each attack must end with the documented result and one
// line in the audit log. During the attack, the program must serve pings and calls of a second plugin (echo).
//
// Modules are compiled from guests/, or assembled by hand where no compiler produces the attack.
package hostile

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testcache"
)

// built holds the artifacts under test.
var built struct {
	program string // path of the bulkhead binary
	plugins string // directory with the built plugins intruder and echo
	cache   string // XDG_CACHE_HOME of all servers
}

func TestMain(m *testing.M) {
	host.RunChild()
	if dir := os.Getenv(swapVariable); dir != "" { // the second process of TestSwappedLinksAreNotFollowed
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
	if out, err := goBuild(built.program, "../../cmd/bulkhead", "0").CombinedOutput(); err != nil {
		return fmt.Errorf("build bulkhead: %w\n%s", err, out)
	}
	// The built program builds the plugins, so that it fills its own cache.
	cmd := exec.Command(built.program, "plugin", "build", "-o", built.plugins, "guests/intruder", "../bench/testdata/echo")
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+built.cache, "GOCACHE="+goCache())
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("bulkhead plugin build: %w\n%s", err, out)
	}
	return nil
}

// goCache returns GOCACHE, whose default depends on XDG_CACHE_HOME.
func goCache() string {
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		panic(fmt.Errorf("go env GOCACHE: %w", err))
	}
	return strings.TrimSpace(string(out))
}

// environment returns a minimal environment for a server, with a variable that no plugin is granted.
func environment(t testing.TB) []string {
	t.Helper()
	testcache.DependOn(t, "../..")
	return []string{
		"PATH=" + os.Getenv("PATH"), "TZ=UTC", "TOKEN=" + secret,
		"HOME=" + t.TempDir(), "XDG_STATE_HOME=" + t.TempDir(), "XDG_CACHE_HOME=" + built.cache,
	}
}

// secret must not appear in any answer or log.
const secret = "the key is under the third stone"

// leaks reports whether text contains the secret.
func leaks(text string) bool { return strings.Contains(text, "third stone") }

// goBuild builds a package. Releases are built with CGO_ENABLED=0, and the go command uses 1 where a C compiler is installed.
func goBuild(out, pkg, cgo string) *exec.Cmd {
	command := exec.Command("go", "build", "-o", out, pkg)
	command.Env = append(os.Environ(), "CGO_ENABLED="+cgo)
	return command
}
