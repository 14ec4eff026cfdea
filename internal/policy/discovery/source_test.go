package discovery_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

// fiveConfigs returns a world with a config in each place, and options with which all of them apply. Each config serves
// a plugin of its own.
func fiveConfigs(t *testing.T) (*hosttest.World, host.Options) {
	w := hosttest.New(t, hosttest.Files{"work": "/", "pkg/.git/HEAD": "ref: x", "pkg/deep": "/"})
	for name, file := range map[string]string{"flag": "flag.toml", "variable": "variable.toml", "workdir": "pkg/deep/bulkhead.toml",
		"project": "pkg/bulkhead.toml", "user": "home/.config/bulkhead/bulkhead.toml"} {
		w.Write(t, hosttest.Plugin(name, wasmtest.Answering(hosttest.Done), hosttest.Reads(name+"_reads")))
		w.Write(t, hosttest.Files{file: "[[plugins]]\npath = \"" + w.Dir + "/plugins/" + name + "\"\n"})
	}
	w.Trust(t, "pkg/deep/bulkhead.toml")
	w.Trust(t, "pkg/bulkhead.toml")
	o := discovering(w)
	o.System.Dir, o.ConfigFile = w.Dir+"/pkg/deep", w.Dir+"/flag.toml"
	w.Env["BULKHEAD_CONFIG"] = w.Dir + "/variable.toml"
	return w, o
}

func TestConfigPrecedence(t *testing.T) {
	w, o := fiveConfigs(t)
	files := []string{"/flag.toml", "/variable.toml", "/pkg/deep/bulkhead.toml", "/pkg/bulkhead.toml", "/home/.config/bulkhead/bulkhead.toml"}
	for i, want := range []struct {
		plugin string
		by     discovery.By
		remove func()
	}{
		{"flag", discovery.ByFlag, func() { o.ConfigFile = "" }},
		{"variable", discovery.ByVariable, func() { w.Env["BULKHEAD_CONFIG"] = "" }},
		{"workdir", discovery.ByWorkDir, func() { o.System.Dir = w.Dir + "/pkg" }},
		{"project", discovery.ByWorkDir, func() { o.System.Dir, o.Project = w.Dir+"/work", w.Dir+"/pkg" }},
		{"project", discovery.ByProject, func() { o.Project = "" }},
		{"user", discovery.ByUser, func() { delete(w.Env, "HOME") }},
	} {
		if got := w.Open(t, o).Plugins(); len(got) != 1 || got[0].Name != want.plugin {
			t.Errorf("%d: %+v, want %s", i, got, want.plugin)
		}
		source, err := discovery.FindConfig(o)
		if err != nil || source.By != want.by || !strings.HasPrefix(source.File, w.Dir) {
			t.Errorf("case %d: FindConfig returned %+v, %v", i, source, err)
		}
		if i == 0 {
			over, err := discovery.PassedOver(o)
			if err != nil || len(over) != 4 {
				t.Fatalf("PassedOver returned %+v, %v; want the other four configs", over, err)
			}
			for j, other := range over {
				if other.File != w.Dir+files[j+1] || other.By != discovery.By(j+1) {
					t.Errorf("passed over: %+v, want %s", other, files[j+1])
				}
			}
		}
		want.remove()
	}
}

// A config that is in force because it is named is not passed over in its usual place, and none is listed twice.
func TestConfigIsNotPassedOverInFavourOfItself(t *testing.T) {
	w, o := fiveConfigs(t)
	if err := os.Symlink("pkg", w.Dir+"/link"); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		flag, variable string
		want           []discovery.By
	}{
		"flag":              {"bulkhead.toml", "", []discovery.By{discovery.ByProject, discovery.ByUser}},
		"a linked place":    {"/link/bulkhead.toml", "", []discovery.By{discovery.ByWorkDir, discovery.ByUser}},
		"variable":          {"", "/pkg/bulkhead.toml", []discovery.By{discovery.ByWorkDir, discovery.ByUser}},
		"flag and variable": {"/user.toml", "/pkg/bulkhead.toml", []discovery.By{discovery.ByVariable, discovery.ByWorkDir, discovery.ByUser}},
	} {
		if o.ConfigFile = c.flag; strings.HasPrefix(c.flag, "/") {
			o.ConfigFile = w.Dir + c.flag
		}
		if w.Env["BULKHEAD_CONFIG"] = c.variable; c.variable != "" {
			w.Env["BULKHEAD_CONFIG"] = w.Dir + c.variable
		}
		over, err := discovery.PassedOver(o)
		var got []discovery.By
		for _, source := range over {
			got = append(got, source.By)
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: got the configs passed over %+v, %v; want %v", name, over, err, c.want)
		}
	}
}

func TestNoConfigIgnoresAllConfigs(t *testing.T) {
	w, o := fiveConfigs(t)
	o.ConfigFile, o.NoConfig, o.PluginsDir = "", true, w.Dir+"/plugins/flag"
	if got := w.Open(t, o).Plugins(); len(got) != 1 || got[0].Name != "flag" {
		t.Errorf("with --no-config, got the plugins %+v, want flag", got)
	}
	if over, err := discovery.PassedOver(o); err != nil || len(over) != 4 {
		t.Errorf("PassedOver with --no-config returned %+v, %v; want four configs", over, err)
	}
}

func TestUntrustedProjectConfigIsNotSkippedForUserConfig(t *testing.T) {
	w, o := fiveConfigs(t)
	o.ConfigFile, w.Env["BULKHEAD_CONFIG"] = "", ""
	w.Write(t, hosttest.Files{"pkg/deep/bulkhead.toml": "[[plugins]]\npath = \"x\"\n"})
	wantUntrusted(t, o, "/pkg/deep/bulkhead.toml has changed since it was trusted")
}

// TestDanglingLinkIsNotSkipped has a dangling link in each usual place: the config of the next place may grant more.
func TestDanglingLinkIsNotSkipped(t *testing.T) {
	for file, want := range map[string]string{
		"pkg/bulkhead.toml":                   "/pkg/bulkhead.toml cannot be read (no such file or directory)",
		"home/.config/bulkhead/bulkhead.toml": "there is no such file",
	} {
		w := planted(t)
		path := w.Dir + "/" + file
		if err := errors.Join(os.RemoveAll(w.Dir+"/pkg/bulkhead.toml"), os.MkdirAll(filepath.Dir(path), 0o700), os.Symlink("none", path)); err != nil {
			t.Fatal(err)
		}
		o := discovering(w)
		o.System.Dir = w.Dir + "/pkg"
		_, err := host.Open(o)
		hosttest.WantUsage(t, err, want)
	}
}

func TestConfigOfVariableMustBeAbsolute(t *testing.T) {
	w, o := fiveConfigs(t)
	o.ConfigFile = ""
	w.Env["BULKHEAD_CONFIG"] = "bulkhead.toml"
	_, err := host.Open(o)
	hosttest.WantUsage(t, err, "$BULKHEAD_CONFIG: bulkhead.toml is not an absolute path")
	w.Env["BULKHEAD_CONFIG"] = w.Dir + "/none.toml"
	_, err = host.Open(o)
	hosttest.WantUsage(t, err, w.Dir+"/none.toml: there is no such file")
}

func TestUserConfigThatOthersCanWriteIsRefused(t *testing.T) {
	for name, spoil := range map[string]func(dir string) error{
		"the file":         func(dir string) error { return os.Chmod(dir+"/.config/bulkhead/bulkhead.toml", 0o666) },
		"its directory":    func(dir string) error { return os.Chmod(dir+"/.config/bulkhead", 0o777) },
		"an ancestor":      func(dir string) error { return os.Chmod(dir+"/.config", 0o777) },
		"a link's target":  func(dir string) error { return linkTo(dir, 0o666) },
		"a link, harmless": func(dir string) error { return linkTo(dir, 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			w, o := fiveConfigs(t)
			o.ConfigFile, w.Env["BULKHEAD_CONFIG"], o.System.Dir = "", "", w.Dir+"/work"
			if err := spoil(w.Dir + "/home"); err != nil {
				t.Fatal(err)
			}
			_, err := host.Open(o)
			if name == "a link, harmless" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			hosttest.WantUsage(t, err, "the user's config cannot be used: ")
		})
	}
}

// linkTo replaces the user's config by a symbolic link to a copy with that mode.
func linkTo(home string, mode os.FileMode) error {
	file := home + "/.config/bulkhead/bulkhead.toml"
	if err := os.Rename(file, home+"/real.toml"); err != nil {
		return err
	}
	if err := os.Chmod(home+"/real.toml", mode); err != nil {
		return err
	}
	return os.Symlink(home+"/real.toml", file)
}

func TestUserConfigIsNotADiscoveredConfigOfItsDirectory(t *testing.T) {
	w, o := fiveConfigs(t)
	o.ConfigFile, w.Env["BULKHEAD_CONFIG"], o.System.Dir = "", "", w.Dir+"/home/.config/bulkhead"
	if got := w.Open(t, o).Plugins(); len(got) != 1 || got[0].Name != "user" {
		t.Errorf("got the plugins %+v, want user", got)
	}
}

func TestPluginCannotWriteUserConfig(t *testing.T) {
	w, o := fiveConfigs(t)
	if want := w.Dir + "/home/.config/bulkhead"; !slices.Contains(hostFilesOf(t, o), want) {
		t.Errorf("%s is not among the host's files", want)
	}
}

func hostFilesOf(t *testing.T, o host.Options) []string {
	t.Helper()
	found, err := discovery.Find(o)
	if err != nil {
		t.Fatal(err)
	}
	return found.HostFiles
}
