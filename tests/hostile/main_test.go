//go:build unix

// Package hostile runs malicious modules against the built program. Each attack must end with the documented result and one
// line in the audit log. During the attack, the program must serve pings and calls of a second plugin (echo).
//
// Modules are compiled from guests/, or assembled by hand where no compiler produces the attack.
package hostile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
	return cachedProgram()
}

// plugins returns the directory with the built plugins intruder and echo.
func (artifacts) plugins(t testing.TB) string {
	t.Helper()
	testenv.NotShort(t, "runs the built program")
	return filepath.Join(allBuilt(), "plugins")
}

// cache returns the XDG_CACHE_HOME of all servers.
func (artifacts) cache(t testing.TB) string {
	t.Helper()
	testenv.NotShort(t, "runs the built program")
	return linkedCache()
}

// scratch is a directory that is removed after all tests.
var scratch string

func cachedProgram() string {
	return testcache.Must(testcache.Program("../../cmd/bulkhead", testcache.AnyCgo))
}

var linkedCache = sync.OnceValue(func() string {
	cache := filepath.Join(scratch, "cache")
	if err := testcache.Link(cache, filepath.Join(allBuilt(), "cache")); err != nil {
		panic(err)
	}
	return cache
})

// allBuilt returns the directory with the plugins and their compiled code.
var allBuilt = sync.OnceValue(func() string {
	return testcache.Must(testcache.Plugins(cachedProgram(), "guests/intruder", "../bench/testdata/echo"))
})

func TestMain(m *testing.M) {
	host.RunChild()
	if dir := os.Getenv(swapVariable); dir != "" { // the second process of TestSwappedLinksAreNotFollowed
		swapForever(dir)
	}
	testenv.UseMemoryUnlessAll()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "bulkhead-hostile-")
	if err == nil {
		defer os.RemoveAll(dir)
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	scratch = dir
	return m.Run()
}

// environment returns a minimal environment for a server, with a variable that no plugin is granted.
func environment(t testing.TB) []string {
	t.Helper()
	return []string{
		"PATH=" + os.Getenv("PATH"), "TZ=UTC", "TOKEN=" + secret,
		"HOME=" + t.TempDir(), "XDG_STATE_HOME=" + t.TempDir(), "XDG_CACHE_HOME=" + built.cache(t),
	}
}

// secret must not appear in any answer or log.
const secret = "the key is under the third stone"

// leaks reports whether text contains the secret.
func leaks(text string) bool { return strings.Contains(text, "third stone") }
