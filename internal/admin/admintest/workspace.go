// Package admintest has the temporary installation of the tests of this district.
package admintest

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/doctor"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/archive"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

// Workspace is a World with the directory plugins.
type Workspace struct{ *hosttest.World }

// New returns a Workspace without plugins and config.
func New(t *testing.T) *Workspace {
	t.Helper()
	return &Workspace{hosttest.New(t, hosttest.Files{"plugins": "/"})}
}

// Options names the config of the working directory explicitly if it exists, so that it needs no trust.
func (w *Workspace) Options() discovery.Options {
	o := w.Discovering()
	if _, err := os.Stat(w.Path("work/bulkhead.toml")); err == nil {
		o.ConfigFile = "bulkhead.toml"
	}
	return o
}

// Discovering returns options that name neither a config nor a directory of plugins.
func (w *Workspace) Discovering() discovery.Options {
	return discovery.Options{System: w.World.Options().System}
}

func (w *Workspace) Path(name string) string { return filepath.Join(w.Dir, name) }

func (w *Workspace) Write(t *testing.T, name, content string) {
	t.Helper()
	w.World.Write(t, hosttest.Files{name: content})
}

func (w *Workspace) Read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(w.Path(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Config writes work/bulkhead.toml.
func (w *Workspace) Config(t *testing.T, content string) {
	t.Helper()
	w.Write(t, "work/bulkhead.toml", content)
}

// Plugin creates a built plugin in plugins/name with the tools name_read and name_write, and appends more to its
// manifest. Its module is not valid WebAssembly.
func (w *Workspace) Plugin(t *testing.T, name, more string) string {
	t.Helper()
	module := "module of " + name
	w.Write(t, "plugins/"+name+"/it.wasm", module)
	w.Write(t, "plugins/"+name+"/plugin.toml", fmt.Sprintf(`manifest = 1
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
	return w.Path("plugins/" + name)
}

// Archive packs the plugin in plugins/name as it is now, writes the archive to archives/name-version.plugin.tar, and returns the reference to it.
func (w *Workspace) Archive(t *testing.T, name, version string) string {
	t.Helper()
	dir := os.DirFS(w.Path("plugins/" + name))
	names := []string{"plugin.toml", "it.wasm"}
	err := fs.WalkDir(dir, ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.HasPrefix(path, "skills/") {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var files []archive.File
	for _, file := range names {
		files = append(files, archive.File{Name: file, Data: []byte(w.Read(t, "plugins/"+name+"/"+file))})
	}
	data, err := archive.Encode(files)
	if err != nil {
		t.Fatal(err)
	}
	file := "archives/" + name + "-" + version + ".plugin.tar"
	w.Write(t, file, string(data))
	return "file:" + w.Path(file)
}

// Version sets the version in the manifest of the plugin in plugins/name, and appends more to the manifest.
func (w *Workspace) Version(t *testing.T, name, version, more string) {
	t.Helper()
	file := "plugins/" + name + "/plugin.toml"
	lines := strings.Split(w.Read(t, file), "\n")
	for i := range lines {
		if strings.HasPrefix(lines[i], "version = ") {
			lines[i] = fmt.Sprintf("version = %q", version)
		}
	}
	w.Write(t, file, strings.Join(lines, "\n")+more)
}

// AskedFor is the table of capabilities in the manifest of the plugin "first".
const AskedFor = "[capabilities]\nenv = [\"TOKEN\"]\nhttp = [\"https://a.example\"]\nfs = [{ path = \"${project}\", access = \"rw\" }]\n"

// Clashing creates the plugin "other", which has a tool of the plugin "first".
func Clashing(t *testing.T, w *Workspace) {
	t.Helper()
	w.Plugin(t, "other", "[[tools]]\nname = \"first_read\"\ndescription = \"x\"\naccess = \"read\"\n")
}

func CopyPlugin(t *testing.T, w *Workspace, from, to string) {
	t.Helper()
	for _, file := range []string{"plugin.toml", "it.wasm"} {
		w.Write(t, "plugins/"+to+"/"+file, w.Read(t, "plugins/"+from+"/"+file))
	}
}

func Symlink(t *testing.T, w *Workspace, target, name string) {
	t.Helper()
	if err := os.Symlink(w.Path(target), w.Path(name)); err != nil {
		t.Fatal(err)
	}
}

func RemoveFile(t *testing.T, w *Workspace, name string) {
	t.Helper()
	if err := os.Remove(w.Path(name)); err != nil {
		t.Fatal(err)
	}
}

const policyConfig = `[defaults]
deny = ["**/.env"]
[[plugins]]
path = "../plugins/first"
deny_tools = ["first_write"]
[[plugins]]
path = "../plugins/second"
prefix = "x_"
[[plugins]]
path = "../plugins/broken"
env = { A = "b" }
`

// NewGranted returns a Workspace with a config of the plugins "first", "second", and "broken", which is left out.
func NewGranted(t *testing.T) *Workspace {
	t.Helper()
	w := New(t)
	w.Plugin(t, "first", AskedFor)
	w.Plugin(t, "second", "")
	w.Plugin(t, "broken", "")
	w.Config(t, policyConfig)
	w.Write(t, "work/.git/config", "")
	w.Write(t, "work/a", "")
	if err := os.Symlink("a", w.Path("work/alias")); err != nil {
		t.Fatal(err)
	}
	return w
}

// Found returns the check with that name whose detail contains text.
func Found(t *testing.T, checks []doctor.Check, name, text string) doctor.Check {
	t.Helper()
	for _, c := range checks {
		if c.Name == name && strings.Contains(c.Detail, text) {
			return c
		}
	}
	t.Fatalf("no check %q contains %q: %+v", name, text, checks)
	return doctor.Check{}
}

// StrictCeiling is a ceiling that cuts most of what NewGranted grants.
const StrictCeiling = `[ceiling]
deny_tools = ["first_read"]
fs = [{ path = "${project}", access = "r" }]
http = []
env = []
limits = { time = "2s" }
deny = ["**/*.key"]
`
