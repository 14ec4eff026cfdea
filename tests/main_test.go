//go:build unix

// Package tests has the end-to-end tests, which drive the built program as users and clients do, and checks of
// repository-wide rules. The first test that needs them builds the program and the plugins.
//
//   - rules of the repository: imports, inits, api, docs, vocabulary, security, portable_schemas
//   - pages whose commands and output are run: readme, readme_output, help, guide, admin_page
//   - commands: cli (the scripts in testdata), admin, calls, commands, mistakes, init(s), dev, scenarios, demo, release, packages, supply_chain
//   - protocol and clients: contract, answer, ask, http, proxy, systemd, invalid_lines, shutdown, client(s), gosdk, mcpgo, sdk_clients, real_clients, inspector
//   - several servers: one_server, cluster, cluster_load, move, state_keys, kubernetes
//   - the host under way: worker, live, broken_plugins, own_state, offers, first_calls, user, extism
//   - attacks of clients, models and modules on the running program: script_attacks, search_attacks, results_attacks, skills_attacks, tasks_attacks
//   - plugins on real data: aam, agentpack, deploy, chant_files, mcpkg, git, all_plugins, fixtures
//
// Directories: hostile attacks the host, conformance runs the official suites, languages and programs the SDKs and wrapped programs of
// other languages, clients other client libraries; bench has ratios against native servers.
package tests

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testcache"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

// built has the artifacts under test, which are built when a test needs them. The tier "short" leaves out these tests.
var built artifacts

type artifacts struct{}

// program returns the path of the bulkhead binary.
func (artifacts) program(t testing.TB) string {
	t.Helper()
	testenv.NotShort(t, "runs the built program")
	return linkedProgram()
}

// plugins returns the directory with the built plugins and examples.
func (artifacts) plugins(t testing.TB) string {
	t.Helper()
	testenv.NotShort(t, "runs the built program")
	return filepath.Join(allBuilt(), "plugins")
}

// cache returns the XDG_CACHE_HOME with their compiled code.
func (artifacts) cache(t testing.TB) string {
	t.Helper()
	testenv.NotShort(t, "runs the built program")
	return filepath.Join(allBuilt(), "cache")
}

// scratch is a directory that is removed after all tests.
var scratch string

func cachedProgram() string {
	return testcache.Must(testcache.Program("../cmd/bulkhead", testcache.AnyCgo))
}

var linkedProgram = sync.OnceValue(func() string {
	return filepath.Join(linked("bin", filepath.Dir(cachedProgram())), "bulkhead")
})

// linked returns a directory below scratch with the files of an entry of the test cache.
func linked(name, entry string) string {
	dir := filepath.Join(scratch, name)
	if err := testcache.Link(dir, entry); err != nil {
		panic(err)
	}
	return dir
}

// allBuilt returns a directory with the plugins in Go and their compiled code.
var allBuilt = sync.OnceValue(func() string {
	return linked("built", testcache.Must(testcache.Plugins(cachedProgram(), goPlugins()...)))
})

// goPlugins returns the directories of the plugins that the go command builds, so that what is tested does not depend on other tool chains;
// otherPlugin builds the others.
func goPlugins() []string {
	programs, err := filepath.Glob("../plugins/*/main.go")
	if err != nil || len(programs) == 0 {
		panic(fmt.Sprintf("no plugins to build (%v)", err))
	}
	dirs := []string{"../examples/hello"}
	for _, program := range programs {
		dirs = append(dirs, filepath.Dir(program))
	}
	return dirs
}

func TestMain(m *testing.M) {
	host.RunChild()
	testenv.UseMemoryUnlessAll()
	dir, err := os.MkdirTemp("", "bulkhead-tests-")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	scratch = dir
	// Most tests wait for processes. The command line is parsed later, thus go test -parallel has precedence.
	if err := flag.Set("test.parallel", strconv.Itoa(4*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// builtPlugins returns a directory with the plugins in dirs, whose compiled code is put into the cache.
func builtPlugins(t testing.TB, dirs ...string) string {
	t.Helper()
	testenv.NotShort(t, "runs the built program")
	dir := testcache.Must(testcache.Plugins(cachedProgram(), dirs...))
	if err := testcache.Link(built.cache(t), filepath.Join(dir, "cache")); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "plugins")
}

// environment returns a minimal environment with new directories for HOME and state.
func environment(t testing.TB, more ...string) []string {
	t.Helper()
	env := []string{
		"PATH=" + os.Getenv("PATH"), "TZ=UTC",
		"HOME=" + t.TempDir(), "XDG_STATE_HOME=" + t.TempDir(), "XDG_CACHE_HOME=" + built.cache(t),
	}
	return append(env, more...)
}
