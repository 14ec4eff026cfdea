//go:build unix

// Package tests has the end-to-end tests, which drive the built program as users and clients do, and checks of
// repository-wide rules. TestMain builds the binary and the modules once.
package tests

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
	plugins string // directory with the built plugins and examples
	cache   string // XDG_CACHE_HOME with their compiled code
}

func TestMain(m *testing.M) {
	host.RunChild()
	dir, err := os.MkdirTemp("", "bulkhead-tests-")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err == nil {
		err = buildAll(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

func buildAll(dir string) error {
	built.program = filepath.Join(dir, "bin", "bulkhead")
	built.plugins = filepath.Join(dir, "plugins")
	built.cache = filepath.Join(dir, "cache")
	if out, err := goBuild(built.program, "../cmd/bulkhead").CombinedOutput(); err != nil {
		return fmt.Errorf("build bulkhead: %w\n%s", err, out)
	}
	manifests, err := filepath.Glob("../plugins/*/plugin.toml")
	if err != nil || len(manifests) == 0 {
		return fmt.Errorf("no plugins to build (%v)", err)
	}
	dirs := []string{"../examples/hello"}
	for _, manifest := range manifests {
		dirs = append(dirs, filepath.Dir(manifest))
	}
	return buildPlugins(built.plugins, dirs...)
}

// buildPlugins builds the plugins in dirs with the built program, so that the program fills its cache. The cache key depends
// on the versions of linked libraries, which a test binary does not know.
func buildPlugins(out string, dirs ...string) error {
	goCache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		return fmt.Errorf("go env GOCACHE: %w", err)
	}
	cmd := exec.Command(built.program, append([]string{"plugin", "build", "-o", out}, dirs...)...)
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+built.cache, "GOCACHE="+strings.TrimSpace(string(goCache)))
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("bulkhead plugin build: %w\n%s", err, text)
	}
	return nil
}

// environment returns a minimal environment with new directories for HOME and state.
func environment(t testing.TB, more ...string) []string {
	t.Helper()
	testcache.DependOn(t, "..")
	env := []string{
		"PATH=" + os.Getenv("PATH"), "TZ=UTC",
		"HOME=" + t.TempDir(), "XDG_STATE_HOME=" + t.TempDir(), "XDG_CACHE_HOME=" + built.cache,
	}
	return append(env, more...)
}

// goBuild builds a package without cgo, as in releases. With the flags of releases the test of the release does not compile all
// packages again.
func goBuild(out, pkg string) *exec.Cmd {
	command := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", out, pkg)
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	return command
}
