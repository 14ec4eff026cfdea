// Package tests holds what crosses packages: the built program driven as a user or a client would, and rules
// that the whole repository keeps. Everything here runs against the binary and the modules that TestMain
// builds once.
package tests

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
	plugins string // folder with the plugins and examples, built
	cache   string // value of XDG_CACHE_HOME in which their code is compiled
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

// buildPlugins builds the plugins in dirs with the program, so that their compiled code is where the program
// looks for it. (A test binary does not know the version of its libraries, which is part of the place.)
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

// environment is the process's own without what would change how bulkhead behaves, and with folders of the
// test's own.
func environment(t testing.TB, more ...string) []string {
	t.Helper()
	testcache.DependOn(t, "..")
	env := []string{
		"PATH=" + os.Getenv("PATH"), "TZ=UTC",
		"HOME=" + t.TempDir(), "XDG_STATE_HOME=" + t.TempDir(), "XDG_CACHE_HOME=" + built.cache,
	}
	return append(env, more...)
}

// goBuild builds a program without cgo, as releases are: only such a one can confine its workers in every way.
func goBuild(out, pkg string) *exec.Cmd {
	command := exec.Command("go", "build", "-o", out, pkg)
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	return command
}
