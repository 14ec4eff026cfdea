//go:build unix

package discovery_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

// A user who can create .git in a directory above the working directory must not extend the project to that directory.
func TestRepositoryThatOthersMayHaveMadeIsNotTheProject(t *testing.T) {
	const other = 54321 // an unused user ID
	chown := func(name string) func(dir string) error {
		return func(dir string) error { return os.Lchown(filepath.Join(dir, name), other, other) }
	}
	chmod := func(name string, mode os.FileMode) func(dir string) error {
		return func(dir string) error { return os.Chmod(filepath.Join(dir, name), mode) }
	}
	for name, c := range map[string]struct {
		git    string // content of .git; "/" for a directory
		change func(dir string) error
		want   string
	}{
		"the directory .git of another user":           {"/", chown("top/.git"), "top/.git belongs to another user (user id 54321"},
		"the file .git of another user":                {"gitdir: x", chown("top/.git"), "top/.git belongs to another user (user id 54321"},
		"the top level of another user":                {"/", chown("top"), "top belongs to another user (user id 54321"},
		"a directory on the way of another user":       {"/", chown("top/a"), "top/a belongs to another user (user id 54321"},
		"a top level that all can write":               {"/", chmod("top", 0o777), "top can be written by others"},
		"a top level that the group can write":         {"/", chmod("top", 0o775), "top can be written by others"},
		"a top level with the sticky bit like /tmp":    {"gitdir: x", chmod("top", 0o777|os.ModeSticky), "top can be written by others"},
		"a .git that all can write":                    {"/", chmod("top/.git", 0o777), "top/.git can be written by others"},
		"a directory on the way that all can write":    {"/", chmod("top/a", 0o777), "top/a can be written by others"},
		"a parent of the top level that all can write": {"/", chmod(".", 0o777), "can be written by others"},
	} {
		t.Run(name, func(t *testing.T) {
			w := hosttest.New(t, hosttest.Files{"in/top/.git": c.git, "in/top/a/b": "/"})
			if strings.Contains(name, "another user") && os.Geteuid() != 0 {
				t.Skip("only root can give a file to another user")
			}
			t.Setenv("SUDO_UID", "")
			in := filepath.Join(w.Dir, "in")
			o := w.Options()
			o.System.Dir = filepath.Join(in, "top", "a", "b")
			if got, err := discovery.FindPlaces(o); err != nil || got.Project != filepath.Join(in, "top") || got.Narrow != "" {
				t.Fatalf("before the change: got %q, %q, %v; want the top level", got.Project, got.Narrow, err)
			}
			if err := c.change(in); err != nil {
				t.Fatal(err)
			}
			got, err := discovery.FindPlaces(o)
			if err != nil || got.Project != o.System.Dir || !strings.Contains(got.Narrow, c.want) || !strings.Contains(got.Narrow, "--project "+filepath.Join(in, "top")) {
				t.Errorf("got %q, %q, %v; want the working directory and %q", got.Project, got.Narrow, err, c.want)
			}
			o.Project = o.System.Dir
			if got, err := discovery.FindPlaces(o); err != nil || got.Around != "" {
				t.Errorf("a part that --project names: got %q, %v; want no advice to make that repository the project", got.Around, err)
			}
			o.Project = filepath.Join(in, "top")
			if got, err := discovery.FindPlaces(o); err != nil || got.Project != o.Project || got.Narrow != "" {
				t.Errorf("with --project: got %q, %q, %v", got.Project, got.Narrow, err)
			}
		})
	}
}

// The directory of plugins beside the program is found by its place, such as /tmp/plugins beside /tmp/bulkhead.
func TestPluginsThatOthersMayHavePutBesideTheProgramAreNotUsed(t *testing.T) {
	const other = 54321 // an unused user ID
	for name, c := range map[string]struct {
		change func(dir string) error
		want   string // empty if the plugins are used
	}{
		"the program in a directory with the sticky bit": {func(dir string) error { return os.Chmod(dir, 0o777|os.ModeSticky) }, ""},
		"other users can replace the program":            {func(dir string) error { return os.Chmod(dir, 0o777) }, ""},
		"plugins of another user":                        {func(dir string) error { return os.Lchown(dir+"/plugins", other, other) }, "plugins belongs to another user (user id 54321"},
		"a manifest of another user":                     {func(dir string) error { return os.Lchown(dir+"/plugins/a/plugin.toml", other, other) }, "plugin.toml belongs to another user (user id 54321"},
		"a module of another user":                       {func(dir string) error { return os.Lchown(dir+"/plugins/a/it.wasm", other, other) }, "it.wasm belongs to another user (user id 54321"},
		"plugins that all can write":                     {func(dir string) error { return os.Chmod(dir+"/plugins", 0o777) }, "plugins can be written by others"},
		"a module that all can write":                    {func(dir string) error { return os.Chmod(dir+"/plugins/a/it.wasm", 0o666) }, "it.wasm can be written by others"},
	} {
		for _, by := range []string{"", "[[plugins]]\nname = 'a'\n"} {
			t.Run(name+by, func(t *testing.T) {
				if strings.Contains(name, "another user") && os.Geteuid() != 0 {
					t.Skip("only root can give a file to another user")
				}
				t.Setenv("SUDO_UID", "")
				files := hosttest.At("bin/plugins/a", hosttest.Plugin("a", []byte("module"), hosttest.Reads("a_reads")))
				w := hosttest.New(t, files)
				if by != "" {
					w.Write(t, hosttest.Files{"work/bulkhead.toml": by})
				}
				if err := c.change(filepath.Join(w.Dir, "bin")); err != nil {
					t.Fatal(err)
				}
				o := w.Options()
				o.PluginsDir = ""
				h, err := host.Open(o)
				text := ""
				if err != nil {
					text = err.Error()
				} else {
					text = h.Plugins()[0].Problem
					if err := h.Close(t.Context()); err != nil {
						t.Error(err)
					}
				}
				if c.want == "" && text != "" || c.want != "" && !strings.Contains(text, c.want) {
					t.Errorf("got %q, want %q", text, c.want)
				}
				plugins, _, err := discovery.Installed(o)
				if (err == nil) != (c.want == "") || (len(plugins) == 1) != (c.want == "") {
					t.Errorf("Installed: got %d plugins, %v", len(plugins), err)
				}
			})
		}
	}
}

// A config that the user names is used also if others can change it, with a warning.
func TestNamedConfigThatOthersCanWriteCausesWarning(t *testing.T) {
	for mode, want := range map[os.FileMode]bool{0o644: false, 0o646: true} {
		w := hosttest.New(t, hosttest.Plugin("a", []byte("module"), hosttest.Reads("a_reads")),
			hosttest.Files{"work/bulkhead.toml": "include = ['team.toml']\n", "work/team.toml": "[[plugins]]\npath = '../plugins/a'\n"})
		if err := os.Chmod(filepath.Join(w.Dir, "work/team.toml"), mode); err != nil {
			t.Fatal(err)
		}
		w.Open(t, w.Options())
		if got := strings.Contains(w.Log.String(), "another user decides what is granted"); got != want {
			t.Errorf("mode %o: %s", mode, w.Log.String())
		}
	}
}

// The state directory has the trust records, and the cache has native code.
func TestOwnDirectoriesThatOthersCanWriteAreNotUsed(t *testing.T) {
	w := hosttest.New(t, hosttest.Files{"state/bulkhead": "/", "cache/bulkhead": "/"})
	s := w.Options().System
	for name, find := range map[string]func(discovery.System) (string, error){"state": discovery.StateDir, "cache": discovery.CacheDir} {
		dir := filepath.Join(w.Dir, name, "bulkhead")
		if got, err := find(s); got != dir || err != nil {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if _, err := find(s); err == nil {
			t.Errorf("%s: a directory that others can write is used", name)
		}
		lost := s
		lost.Dir = filepath.Join(w.Dir, "none")
		if _, err := find(lost); err == nil || !strings.Contains(err.Error(), "working directory") {
			t.Errorf("%s: without a working directory: %v", name, err)
		}
	}
	places, err := discovery.FindPlaces(w.Options())
	if err != nil || places.State != "" || !strings.Contains(places.NoState, "can be written by others") {
		t.Errorf("got the state directory %q (%s), %v; want none", places.State, places.NoState, err)
	}
	w.Env["HOME"], w.Env["XDG_STATE_HOME"], w.Env["XDG_CACHE_HOME"] = "relative", "", ""
	for name, find := range map[string]func(discovery.System) (string, error){"state": discovery.StateDir, "cache": discovery.CacheDir} {
		if got, err := find(s); got != "" || err != nil {
			t.Errorf("%s: without a location: got %q, %v", name, got, err)
		}
	}
}
