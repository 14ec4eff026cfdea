package discovery_test

import (
	"os"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
)

// including returns the world of planted, whose config includes a file in the project and a file outside of it.
func including(t *testing.T) (*hosttest.World, host.Options) {
	w := planted(t)
	w.Write(t, hosttest.Files{
		"pkg/bulkhead.toml":   "include = ['team.toml', '../outside.toml']\n",
		"pkg/team.toml":       "include = ['conf/deep.toml']\n",
		"pkg/conf/deep.toml":  "[[plugins]]\npath = '../plugins/evil'\n",
		"outside.toml":        "[defaults]\ndeny = ['x']\n",
		"pkg/conf/other.toml": "[[plugins]]\npath = '../plugins/evil'\nfs = []\n",
	})
	o := discovering(w)
	o.System.Dir = w.Dir + "/pkg"
	return w, o
}

func TestIncludedFilesArePartOfTrust(t *testing.T) {
	for name, change := range map[string]func(w *hosttest.World) error{
		"a file":               func(w *hosttest.World) error { return write(w, "pkg/team.toml", "# new\n") },
		"a file, deeper":       func(w *hosttest.World) error { return write(w, "pkg/conf/deep.toml", "[[plugins]]\npath = '/evil'\n") },
		"a file elsewhere":     func(w *hosttest.World) error { return write(w, "outside.toml", "[defaults]\ndeny = []\n") },
		"a comment":            func(w *hosttest.World) error { return write(w, "outside.toml", "[defaults]\ndeny = ['x']\n#\n") },
		"a syntax error":       func(w *hosttest.World) error { return write(w, "outside.toml", "=") },
		"a file that is gone":  func(w *hosttest.World) error { return os.Remove(w.Dir + "/pkg/conf/deep.toml") },
		"a link to other text": func(w *hosttest.World) error { return replaceByLink(w.Dir+"/pkg/conf/deep.toml", "other.toml") },
		"a directory that is a link": func(w *hosttest.World) error {
			if err := os.Rename(w.Dir+"/pkg/conf", w.Dir+"/pkg/moved"); err != nil {
				return err
			}
			w.Write(t, hosttest.Files{"pkg/evil/deep.toml": "[[plugins]]\npath = '/evil'\n"})
			return os.Symlink("evil", w.Dir+"/pkg/conf")
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, o := including(t)
			wantUntrusted(t, o, "/pkg/bulkhead.toml is not trusted")
			w.Trust(t, "pkg/bulkhead.toml")
			if got := w.Open(t, o).Plugins(); len(got) != 1 || got[0].Name != "evil" {
				t.Fatalf("once it is trusted: %+v", got)
			}
			if err := change(w); err != nil {
				t.Fatal(err)
			}
			not := wantUntrusted(t, o, "/pkg/bulkhead.toml includes "+w.Dir+"/", ", which ", "`bulkhead trust "+w.Dir+"/pkg/bulkhead.toml`")
			if not.Included == "" || not.Since.IsZero() {
				t.Errorf("the error does not name the included file, or has no time of the previous consent: %+v", not)
			}
		})
	}
}

func TestUntrustedConfigNamesNoFileThatIsRead(t *testing.T) {
	w, o := including(t)
	// Reading the file would fail with a problem of the config.
	if err := write(w, "pkg/bulkhead.toml", "include = ['/proc/self/mem']\n"); err != nil {
		t.Fatal(err)
	}
	if not := wantUntrusted(t, o, "/pkg/bulkhead.toml is not trusted"); not.Included != "" {
		t.Errorf("the error names an included file of an untrusted config: %+v", not)
	}
}

func TestIncludedFilesOfUserConfigMustBeItsOwn(t *testing.T) {
	w, _ := including(t)
	w.Write(t, hosttest.Files{"home/.config/bulkhead/bulkhead.toml": "include = ['" + w.Dir + "/shared/a.toml']\n",
		"shared/a.toml": "[[plugins]]\npath = '" + w.Dir + "/plugins/mine'\n"})
	o := discovering(w)
	if got := w.Open(t, o).Plugins(); len(got) != 1 || got[0].Name != "mine" {
		t.Fatalf("got the plugins %+v, want mine", got)
	}
	if err := os.Chmod(w.Dir+"/shared", 0o777); err != nil {
		t.Fatal(err)
	}
	_, err := host.Open(o)
	hosttest.WantUsage(t, err, "bulkhead.toml:1: include[0]: "+w.Dir+"/shared/a.toml: the user's config cannot be used: ", "can be written by others")
}

func TestPluginCannotWriteIncludedFiles(t *testing.T) {
	w, o := including(t)
	w.Trust(t, "pkg/bulkhead.toml")
	h := w.Open(t, o)
	if got := h.Plugins(); len(got) != 1 {
		t.Fatalf("got the plugins %+v, want one", got)
	}
	for _, file := range []string{"/pkg/team.toml", "/pkg/conf/deep.toml", "/outside.toml"} {
		if own := strings.Join(hostFilesOf(t, o), "\n") + "\n"; !strings.Contains(own, w.Dir+file+"\n") {
			t.Errorf("%s is not among the host's files: %s", file, own)
		}
	}
}

// TestPluginCannotWriteFilesOfShadowedConfigs has configs that are not in force here, but in force elsewhere without a trust
// record: a plugin that could write them, or what they include, could grant itself anything there.
func TestPluginCannotWriteFilesOfShadowedConfigs(t *testing.T) {
	w, o := including(t)
	w.Trust(t, "pkg/bulkhead.toml")
	w.Write(t, hosttest.Files{
		"home/.config/bulkhead/bulkhead.toml": "include = ['" + w.Dir + "/pkg/mine.toml']\n", "pkg/mine.toml": "",
		"pkg/named.toml": "include = ['by-name.toml']\n", "pkg/by-name.toml": "",
	})
	w.Env["BULKHEAD_CONFIG"] = w.Dir + "/pkg/named.toml"
	noConfig, flag := o, o
	noConfig.NoConfig, noConfig.PluginsDir = true, w.Dir+"/plugins"
	flag.ConfigFile = w.Dir + "/pkg/bulkhead.toml"
	for name, o := range map[string]host.Options{"--config": flag, "--no-config": noConfig} {
		own := strings.Join(hostFilesOf(t, o), "\n") + "\n"
		for _, file := range []string{"/pkg/mine.toml", "/pkg/named.toml", "/pkg/by-name.toml"} {
			if !strings.Contains(own, w.Dir+file+"\n") {
				t.Errorf("%s: %s is not among the host's files: %s", name, file, own)
			}
		}
	}
}

func write(w *hosttest.World, name, content string) error {
	return os.WriteFile(w.Dir+"/"+name, []byte(content), 0o600)
}

func replaceByLink(file, target string) error {
	if err := os.Remove(file); err != nil {
		return err
	}
	return os.Symlink(target, file)
}
