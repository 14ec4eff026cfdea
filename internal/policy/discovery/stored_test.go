package discovery_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/archive"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/store"
)

// packed returns the archive of the plugin "it".
func packed(t *testing.T) []byte {
	t.Helper()
	module := "a module that no test runs"
	data, err := archive.Encode([]archive.File{{Name: "it.wasm", Data: []byte(module)}, {Name: "plugin.toml", Data: fmt.Appendf(nil,
		"manifest = 1\n[plugin]\nname = \"it\"\nversion = \"1.0.0\"\ndescription = \"x\"\n[module]\nfile = \"it.wasm\"\nsha256 = %q\n[[tools]]\nname = \"t\"\ndescription = \"x\"\naccess = \"read\"\n",
		userfile.Digest([]byte(module)))}})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// stored puts the plugin "it" into the store of the world, and returns the options of a host whose config pins it, and its directory.
func stored(t *testing.T, w *hosttest.World, more string) (discovery.Options, string) {
	t.Helper()
	p, err := store.Open(packed(t))
	if err != nil {
		t.Fatal(err)
	}
	o := w.Options()
	s, err := discovery.Store(o.System)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := s.Add(t.Context(), p, store.Origin{From: "file:/it.tar"})
	if err != nil {
		t.Fatal(err)
	}
	w.Write(t, hosttest.Files{"work/bulkhead.toml": fmt.Sprintf("[[plugins]]\nfrom = \"file:/it.tar\"\nsha256 = %q\n", p.Manifest.Digest) + more})
	o.ConfigFile = "bulkhead.toml"
	return o, dir
}

func TestPluginIsServedFromTheStore(t *testing.T) {
	w := hosttest.New(t)
	o, dir := stored(t, w, "version = \"^1.0.0\"\n")
	view, err := catalog.Look(o)
	if err != nil {
		t.Fatal(err)
	}
	p := view.Plugins[0]
	if want := filepath.Join(w.Dir, "home/.local/share/bulkhead/plugins"); p.Problem != "" || p.Name != "it" || p.Entry.Path != dir || filepath.Dir(dir) != want {
		t.Errorf("%s %s in %s, want %s", p.Name, p.Problem, p.Entry.Path, want)
	}
	w.Env["XDG_DATA_HOME"] = w.Dir + "/elsewhere"
	if s, err := discovery.Store(o.System); err != nil || s.Dir != w.Dir+"/elsewhere/bulkhead/plugins" {
		t.Errorf("with XDG_DATA_HOME the store is %s, %v", s.Dir, err)
	}
}

func TestPoisonedStoreIsNotServed(t *testing.T) {
	for name, c := range map[string]struct {
		change func(dir string) error
		more   string
		want   []string
	}{
		"a changed manifest": {change: func(dir string) error {
			file := filepath.Join(dir, "plugin.toml")
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			return os.WriteFile(file, append(text, "[capabilities]\nenv = [\"*\"]\n"...), 0o600)
		}, want: []string{"bulkhead.toml:3: plugins[0].sha256: ", "was changed in the store", "bulkhead update --pinned"}},
		"a missing plugin": {change: os.RemoveAll, want: []string{"bulkhead.toml:2: plugins[0].from: ", "is not on this machine", "bulkhead update --pinned"}},
		"a store that others can write": {change: func(dir string) error { return os.Chmod(filepath.Dir(dir), 0o777) },
			want: []string{"bulkhead.toml:2: plugins[0].from: ", "can be written by others"}},
		"a wrong version": {more: "version = \"2.0.0\"\n", want: []string{"bulkhead.toml:4: plugins[0].version: is 2.0.0, and sha256 pins version 1.0.0"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := hosttest.New(t)
			o, dir := stored(t, w, c.more)
			if c.change != nil {
				if err := c.change(dir); err != nil {
					t.Fatal(err)
				}
			}
			view, _ := catalog.Look(o)
			if view == nil {
				t.Fatal("there is no catalog")
			}
			for _, want := range c.want {
				if got := view.Plugins[0].Problem; !strings.Contains(got, want) {
					t.Errorf("the problem is %q, want %q", got, want)
				}
			}
		})
	}
}
