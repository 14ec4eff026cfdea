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

// built returns the artifacts under test, which are built if necessary.
var built = struct {
	program func() string // path of the bulkhead binary
	plugins func() string // directory with the built plugins intruder and echo
	cache   func() string // XDG_CACHE_HOME of all servers
}{
	program: program,
	plugins: func() string { return filepath.Join(builtPlugins(), "plugins") },
	cache: sync.OnceValue(func() string {
		cache := filepath.Join(scratch, "cache")
		if err := testcache.Link(cache, filepath.Join(builtPlugins(), "cache")); err != nil {
			panic(err)
		}
		return cache
	}),
}

// scratch is a directory that is removed after all tests.
var scratch string

func program() string {
	return testcache.Must(testcache.Program("../../cmd/bulkhead", testcache.AnyCgo))
}

// builtPlugins returns the directory with the plugins and their compiled code.
var builtPlugins = sync.OnceValue(func() string {
	return testcache.Must(testcache.Plugins(program(), "guests/intruder", "../bench/testdata/echo"))
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
		"HOME=" + t.TempDir(), "XDG_STATE_HOME=" + t.TempDir(), "XDG_CACHE_HOME=" + built.cache(),
	}
}

// secret must not appear in any answer or log.
const secret = "the key is under the third stone"

// leaks reports whether text contains the secret.
func leaks(text string) bool { return strings.Contains(text, "third stone") }
