package admin_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
)

// world is a folder with the working directory work and the folder plugins beside it.
type world struct {
	dir string
	env map[string]string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{dir: dir, env: map[string]string{"HOME": dir + "/home", "XDG_STATE_HOME": dir + "/state", "XDG_CACHE_HOME": dir + "/cache"}}
	for _, folder := range []string{"work", "home", "plugins"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// options name the config of the working directory, if there is one, so that it need not be trusted.
func (w *world) options() host.Options {
	o := w.unnamed()
	if _, err := os.Stat(w.path("work/bulkhead.toml")); err == nil {
		o.ConfigFile = "bulkhead.toml"
	}
	return o
}

// unnamed are options that name no config.
func (w *world) unnamed() host.Options {
	return host.Options{System: host.System{
		Dir: w.dir + "/work", Executable: w.dir + "/bin/bulkhead",
		LookupEnv: func(name string) (string, bool) { value, ok := w.env[name]; return value, ok },
	}}
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

func (w *world) write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(w.path(name)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(w.path(name), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (w *world) read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(w.path(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// config is work/bulkhead.toml.
func (w *world) config(t *testing.T, content string) {
	t.Helper()
	w.write(t, "work/bulkhead.toml", content)
}

// plugin makes a built plugin in plugins/name, whose tools are name_read and name_write; more goes at the
// manifest's end. Nothing here runs the module.
func (w *world) plugin(t *testing.T, name, more string) string {
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

// wantUsage checks that err is the caller's to put right and says each of texts.
func wantUsage(t *testing.T, err error, texts ...string) {
	t.Helper()
	var usage *host.UsageError
	if !errors.As(err, &usage) {
		t.Fatalf("got %v, want a usage error", err)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("got %q, want it to say %q", err, text)
		}
	}
}
