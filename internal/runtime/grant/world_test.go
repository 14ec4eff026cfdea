//go:build unix

package grant

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// world is a home directory with a project, and the configuration for Resolve.
type world struct {
	testing.TB
	Config
	home, project string
}

func newWorld(t testing.TB) *world {
	t.Helper()
	home := filepath.Join(real(t, t.TempDir()), "home", "user")
	w := &world{TB: t, home: home, project: filepath.Join(home, "project")}
	w.Config = Config{Plugin: "notes", Places: config.Places{
		Project: w.project, Cwd: w.project, Home: home, State: filepath.Join(home, ".local/state/bulkhead"),
	}}
	w.dir("project")
	return w
}

func real(t testing.TB, path string) string {
	t.Helper()
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func (w *world) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(w.home, name)
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) dir(name string) string {
	w.Helper()
	w.must(os.MkdirAll(w.path(name), 0o755))
	return w.path(name)
}

func (w *world) link(target, name string) {
	w.Helper()
	w.must(os.Symlink(target, w.path(name)))
}

// grant adds a granted directory for each of names.
func (w *world) grant(access manifest.Access, names ...string) {
	for _, name := range names {
		w.Grant.FS = append(w.Grant.FS, config.Mount{Path: w.path(name), Access: access})
	}
}

// grantState adds a grant of the plugin's own state directory.
func (w *world) grantState() {
	w.Grant.FS = append(w.Grant.FS, config.Mount{Path: filepath.Join(w.Places.State, w.Plugin), Access: manifest.ReadWrite, State: true})
}

func (w *world) resolve() *Set {
	w.Helper()
	s, err := Resolve(w.Config)
	w.must(err)
	w.Cleanup(func() { s.Close() })
	return s
}

func (w *world) unchanged(s *Set) {
	w.Helper()
	if changed, what := s.Changed(); changed {
		w.Errorf("changed: %s", what)
	}
}

func (w *world) changed(s *Set, want string) {
	w.Helper()
	if changed, what := s.Changed(); !changed || !strings.Contains(what, want) {
		w.Errorf("changed = %t, %q; want a string with %q", changed, what, want)
	}
}

// same reports whether the handle f refers to the directory at path.
func (w *world) same(f *os.File, path string) bool {
	w.Helper()
	var st unix.Stat_t
	w.must(unix.Fstat(int(f.Fd()), &st))
	id, err := identify(path, false)
	return err == nil && id == fileID(&st)
}

// descriptors returns the number of open descriptors of the process; -1 if the system does not list them.
func descriptors() int {
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return -1
	}
	return len(open)
}
