package admin_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

// workspace is a temporary directory with the working directory work, the home directory home, and plugins.
type workspace struct {
	dir string
	env map[string]string
}

func newWorkspace(t *testing.T) *workspace {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &workspace{dir: dir, env: map[string]string{"HOME": dir + "/home", "XDG_STATE_HOME": dir + "/state", "XDG_CACHE_HOME": dir + "/cache"}}
	for _, name := range []string{"work", "home", "plugins"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// options names the config of the working directory explicitly if it exists, so that it needs no trust.
func (w *workspace) options() discovery.Options {
	o := w.discovering()
	if _, err := os.Stat(w.path("work/bulkhead.toml")); err == nil {
		o.ConfigFile = "bulkhead.toml"
	}
	return o
}

// discovering returns options that name no config. The ceiling is etc/bulkhead.toml.
func (w *workspace) discovering() discovery.Options {
	return discovery.Options{System: discovery.WithCeiling(discovery.System{
		Dir: w.dir + "/work", Executable: w.dir + "/bin/bulkhead",
		LookupEnv: func(name string) (string, bool) { value, ok := w.env[name]; return value, ok },
	}, w.path("etc/bulkhead.toml"), os.Geteuid(), w.path("home"))}
}

func (w *workspace) path(name string) string { return filepath.Join(w.dir, name) }

func (w *workspace) write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(w.path(name)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(w.path(name), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (w *workspace) read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(w.path(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// config writes work/bulkhead.toml.
func (w *workspace) config(t *testing.T, content string) {
	t.Helper()
	w.write(t, "work/bulkhead.toml", content)
}

// plugin creates a built plugin in plugins/name with the tools name_read and name_write, and appends more to its
// manifest. Its module is not valid WebAssembly.
func (w *workspace) plugin(t *testing.T, name, more string) string {
	t.Helper()
	module := "module of " + name
	w.write(t, "plugins/"+name+"/it.wasm", module)
	w.write(t, "plugins/"+name+"/plugin.toml", fmt.Sprintf(`manifest = 1
[plugin]
name = %q
version = "1.0.0"
description = "Made for a test."
[module]
file = "it.wasm"
sha256 = "%x"
[[tools]]
name = "%s_read"
description = "reads"
access = "read"
[[tools]]
name = "%s_write"
description = "writes"
access = "write"
`, name, sha256.Sum256([]byte(module)), name, name)+more)
	return w.path("plugins/" + name)
}

// wantUsage checks that err is a usage error that contains all texts.
func wantUsage(t *testing.T, err error, texts ...string) {
	t.Helper()
	var usage *usage.Error
	if !errors.As(err, &usage) {
		t.Fatalf("got %v, want a usage error", err)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("got %q, want it to contain %q", err, text)
		}
	}
}
