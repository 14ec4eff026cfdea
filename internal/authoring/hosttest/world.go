// Package hosttest contains the helpers that tests of a complete host share: a World with the files and variables that a
// host reads, plugins whose modules are assembled without a compiler, and requests of a client. Tests that open a host
// must be in an external test package, and call host.RunChild in TestMain.
package hosttest

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/trust"
)

// World is a directory with everything that a host reads from its environment: the working directory work, the program
// bin/bulkhead and the home directory home.
type World struct {
	Dir string
	Env map[string]string
	Log bytes.Buffer
}

// New returns a World with these files.
func New(t testing.TB, contents ...Files) *World {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &World{Dir: dir, Env: map[string]string{
		"HOME": dir + "/home", "XDG_STATE_HOME": dir + "/state", "XDG_CACHE_HOME": dir + "/cache", "TZ": "UTC",
	}}
	w.Write(t, Files{"work": "/", "home": "/"})
	for _, f := range contents {
		w.Write(t, f)
	}
	return w
}

// Files maps paths to their content. The content "/" stands for a directory.
type Files map[string]string

// Write writes files.
func (w *World) Write(t testing.TB, f Files) {
	t.Helper()
	for name, content := range f {
		path := filepath.Join(w.Dir, name)
		dir := filepath.Dir(path)
		if content == "/" {
			dir = path
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if content == "/" {
			continue
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Ceiling is the path of the ceiling in a World. The ceiling applies if the file exists.
const Ceiling = "etc/bulkhead.toml"

// Options returns the options of a host in the World, whose plugins are in the directory plugins. They name the config in
// the working directory if it exists, so that it needs no trust record. They never use the ceiling of the machine.
func (w *World) Options() host.Options {
	file := w.Dir + "/work/bulkhead.toml"
	if _, err := os.Stat(file); err != nil {
		file = ""
	}
	return host.Options{
		ConfigFile: file,
		PluginsDir: w.Dir + "/plugins",
		Log:        hclog.New(&hclog.LoggerOptions{Output: &w.Log, Level: hclog.Trace, DisableTime: true}),
		System: discovery.WithCeiling(host.System{
			Dir:        w.Dir + "/work",
			Executable: w.Dir + "/bin/bulkhead",
			LookupEnv:  func(name string) (string, bool) { value, ok := w.Env[name]; return value, ok },
		}, filepath.Join(w.Dir, Ceiling), os.Geteuid(), w.Dir+"/home"),
	}
}

// Trust records that the user trusts a config, or a directory of plugins, with its present content.
func (w *World) Trust(t testing.TB, name string) {
	t.Helper()
	path, digest := filepath.Join(w.Dir, name), ""
	var includes []trust.File
	data, err := os.ReadFile(path)
	if err == nil {
		digest = userfile.Digest(data)
		if c, _ := config.Parse(path, data); c != nil {
			for _, f := range c.Files[1:] {
				includes = append(includes, trust.File{Path: f.Path, SHA256: f.SHA256})
			}
		}
	} else {
		o := w.Options()
		o.ConfigFile, o.NoConfig, o.PluginsDir, o.Log = "", true, path, nil
		var found *discovery.Found
		if found, err = discovery.Find(o); err == nil {
			digest, err = discovery.PluginsDigest(found.Candidates)
		}
	}
	if err == nil {
		err = w.TrustStore().Add(path, digest, includes...)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TrustStore returns the store of the user's trust records.
func (w *World) TrustStore() trust.Store { return trust.In(w.Dir + "/state/bulkhead") }

// Open opens a host that is closed at the end of the test.
func (w *World) Open(t testing.TB, o host.Options) *host.Host {
	t.Helper()
	h, err := host.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return h
}

// Open opens a host with these plugins in a new World.
func Open(t testing.TB, plugins ...Files) *host.Host {
	t.Helper()
	w := New(t, plugins...)
	return w.Open(t, w.Options())
}
