package discovery_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

// served describes what Find has found: the names of the plugins, and why nothing is served.
func served(found *discovery.Found, err error) string {
	if err != nil {
		return "error " + err.Error()
	}
	var all []string
	for _, c := range found.Candidates {
		all = append(all, c.Name())
	}
	switch {
	case found.Untrusted != nil:
		all = append(all, "untrusted")
	case found.Invalid != nil:
		all = append(all, "invalid: "+found.Invalid.Error())
	case found.NoPlugins != nil:
		all = append(all, "none: "+found.NoPlugins.Problem())
	}
	return strings.Join(all, " ")
}

// A host that was started for some plugins must not serve others when those are removed.
func TestReloadServesOnlyPluginsThatWereChosen(t *testing.T) {
	const invalid, empty = "[[plugins]]\nfoo = 1\n", "[server]\nname = 'x'\n"
	for name, c := range map[string]struct {
		chosen  []string
		change  func(dir string) error
		config  string
		reload  string // beginning of what a reload finds
		explain string // beginning of what a start finds that may serve nothing
	}{
		"nothing changes":         {chosen: []string{"a"}, reload: "a", explain: "a"},
		"the only one is removed": {chosen: []string{"a"}, change: func(dir string) error { return os.RemoveAll(dir + "/plugins/a") }, reload: `none: there is no plugin "a"`, explain: `error there is no plugin "a"`},
		"one of two is removed":   {chosen: []string{"a", "b"}, change: func(dir string) error { return os.RemoveAll(dir + "/plugins/a") }, reload: "b", explain: `error there is no plugin "a"`},
		"both are removed": {chosen: []string{"a", "b"}, change: func(dir string) error {
			return errors.Join(os.RemoveAll(dir+"/plugins/a"), os.RemoveAll(dir+"/plugins/b"))
		}, reload: `none: there is no plugin "b"`, explain: `error there is no plugin "a"`},
		"all are removed": {change: func(dir string) error {
			return errors.Join(os.RemoveAll(dir+"/plugins"), os.Mkdir(dir+"/plugins", 0o755))
		}, reload: "none: --plugins: no plugin is in", explain: "none: --plugins: no plugin is in"},
		"the directory is removed":   {change: func(dir string) error { return os.RemoveAll(dir + "/plugins") }, reload: "none: --plugins: ", explain: "error --plugins: "},
		"the config becomes invalid": {config: invalid, reload: "error ", explain: "invalid: "},
		"the config becomes empty":   {config: empty, reload: "invalid: ", explain: "invalid: "},
	} {
		t.Run(name, func(t *testing.T) {
			w := hosttest.New(t, hosttest.Plugin("a", nil, ""), hosttest.Plugin("b", nil, ""), hosttest.Plugin("c", nil, ""))
			if c.change != nil {
				if err := c.change(w.Dir); err != nil {
					t.Fatal(err)
				}
			}
			if c.config != "" {
				w.Write(t, hosttest.Files{"work/bulkhead.toml": c.config})
			}
			o := w.Options()
			o.Plugins = c.chosen
			if got := served(discovery.FindForReload(o)); !strings.HasPrefix(got, c.reload) {
				t.Errorf("a reload finds %q, want %q", got, c.reload)
			}
			if got := served(discovery.FindOrExplain(o)); !strings.HasPrefix(got, "error ") && c.explain != "a" {
				t.Errorf("a start that must not serve nothing finds %q, want an error", got)
			}
			o.ServeNothing = true
			if got := served(discovery.FindOrExplain(o)); !strings.HasPrefix(got, c.explain) {
				t.Errorf("a start that may serve nothing finds %q, want %q", got, c.explain)
			}
		})
	}
}

// When no module is there, one may be about to be replaced, so that a reload keeps what is served.
func TestReloadWaitsForModuleThatIsReplaced(t *testing.T) {
	w := hosttest.New(t, hosttest.At("bin/plugins/a", hosttest.Plugin("a", nil, "")))
	o := discovering(w)
	if got := served(discovery.FindForReload(o)); !strings.HasPrefix(got, "error there are no plugins") {
		t.Errorf("without a module a reload finds %q, want an error", got)
	}
	if err := os.RemoveAll(w.Dir + "/bin/plugins/a"); err != nil {
		t.Fatal(err)
	}
	if got := served(discovery.FindForReload(o)); !strings.HasPrefix(got, "none: there are no plugins") {
		t.Errorf("without a plugin a reload finds %q, want no plugins", got)
	}
}

func TestWatchedPaths(t *testing.T) {
	w := hosttest.New(t, hosttest.Plugin("a", []byte("module"), ""), hosttest.Files{"plugins/.hidden/plugin.toml": "", "plugins/b/README": "", "pkg/.git/HEAD": "", "pkg/deep": "/"})
	record := func(path string) string { return w.TrustStore().File(w.Dir + path) }
	ceiling, user := w.Dir+"/"+hosttest.Ceiling, w.Dir+"/home/.config/bulkhead/bulkhead.toml"
	usual := []string{w.Dir + "/pkg/deep/bulkhead.toml", record("/pkg/deep/bulkhead.toml"), w.Dir + "/pkg/bulkhead.toml", record("/pkg/bulkhead.toml"), user, ceiling}
	named := []string{w.Dir + "/plugins", w.Dir + "/plugins/plugin.toml", w.Dir + "/plugins/a/plugin.toml", w.Dir + "/plugins/b/plugin.toml"}
	for name, c := range map[string]struct {
		set       func(o *discovery.Options)
		hasConfig bool
		want      []string
	}{
		"with a config":        {func(*discovery.Options) {}, true, usual},
		"with named plugins":   {func(*discovery.Options) {}, false, slices.Concat(usual, named)},
		"with a named config":  {func(o *discovery.Options) { o.ConfigFile = "x.toml" }, true, []string{w.Dir + "/pkg/deep/x.toml", ceiling}},
		"without a config":     {func(o *discovery.Options) { o.NoConfig = true }, false, slices.Concat([]string{ceiling}, named)},
		"in development":       {func(o *discovery.Options) { o.Development = &discovery.Development{} }, false, usual},
		"with default plugins": {func(o *discovery.Options) { o.PluginsDir = "" }, false, slices.Concat(usual, []string{record("/pkg/deep/dist/plugins"), w.Dir + "/bin/plugins", w.Dir + "/bin/plugins/plugin.toml", w.Dir + "/pkg/deep/dist/plugins", w.Dir + "/pkg/deep/dist/plugins/plugin.toml"})},
	} {
		o := w.Options()
		o.System.Dir = w.Dir + "/pkg/deep"
		c.set(&o)
		got := discovery.Watched(o, c.hasConfig)
		slices.Sort(got)
		slices.Sort(c.want)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	w.Env["BULKHEAD_CONFIG"] = w.Dir + "/v.toml"
	if got := discovery.Watched(w.Options(), true); !slices.Equal(got, []string{w.Dir + "/v.toml", ceiling}) {
		t.Errorf("with a config of a variable: got %q", got)
	}
}

func TestWatchedPathsAreBounded(t *testing.T) {
	w := hosttest.New(t)
	for i := range 1001 {
		w.Write(t, hosttest.Files{fmt.Sprintf("plugins/%d", i): ""})
	}
	o := w.Options()
	o.NoConfig = true
	if got := len(discovery.Watched(o, false)); got != 1000+3 {
		t.Errorf("of 1,001 entries %d paths are watched, want 1,000, the directory, its manifest and the ceiling", got)
	}
}

// Changes of any file that decides what is served are noticed.
func TestFoundIsWatched(t *testing.T) {
	w := hosttest.New(t, hosttest.Plugin("a", []byte("module"), ""), hosttest.At("bin/plugins/b", hosttest.Plugin("b", []byte("module"), "")))
	w.Write(t, hosttest.Files{"work/bulkhead.toml": "include = ['team.toml']\n[[plugins]]\npath = '../plugins/a'\n", "work/team.toml": "", "work/named.toml": "[[plugins]]\nname = 'b'\n"})
	of := func(o discovery.Options) []string {
		t.Helper()
		found, err := discovery.Find(o)
		if err != nil {
			t.Fatal(err)
		}
		got := found.Watched()
		for i := range got {
			got[i] = strings.TrimPrefix(got[i], w.Dir+"/")
		}
		slices.Sort(got)
		return got
	}
	if got := of(w.Options()); !slices.Equal(got, []string{"plugins/a/it.wasm", "plugins/a/plugin.toml", "work/bulkhead.toml", "work/team.toml"}) {
		t.Errorf("got %q", got)
	}
	o := w.Options()
	o.ConfigFile, o.PluginsDir = "named.toml", w.Dir+"/bin/plugins"
	if got := of(o); !slices.Contains(got, "bin/plugins") || !slices.Contains(got, "bin/plugins/b/it.wasm") || slices.Contains(got, "plugins/a/it.wasm") {
		t.Errorf("with a plugin by name: got %q", got)
	}
	o.Development = &discovery.Development{Source: w.Dir + "/src/b", Built: func() (string, error) { return w.Dir + "/bin/plugins/b", nil }}
	if got := of(o); !slices.Equal(got, []string{"work/named.toml"}) {
		t.Errorf("in development: got %q", got)
	}
	w.Write(t, hosttest.Files{"work/bulkhead.toml": "include = ['team.toml', 'absent.toml']\nfoo = 1\n"})
	o = w.Options()
	_, err := discovery.Find(o)
	if got := discovery.WatchedAfter(err); !slices.Contains(got, w.Dir+"/work/absent.toml") || !slices.Contains(got, w.Dir+"/work/team.toml") {
		t.Errorf("after an error: got %q", got)
	}
	o.ServeNothing = true
	found, err := discovery.FindOrExplain(o)
	if err != nil || !slices.Contains(found.Watched(), w.Dir+"/work/absent.toml") {
		t.Errorf("of an invalid config: got %+v, %v", found, err)
	}
	if got := discovery.WatchedAfter(errors.New("other")); got != nil {
		t.Errorf("after another error: got %q", got)
	}
}

// Only the table that names the plugin in development decides what that plugin is granted.
func TestDevelopedPluginGetsGrantsOfItsTable(t *testing.T) {
	w := hosttest.New(t, hosttest.At("build/1", hosttest.Plugin("notes", []byte("module"), "")), hosttest.Files{"src/tree": "/", "build/broken/plugin.toml": "manifest = "})
	develop := func(table, built string) (*discovery.Found, error) {
		w.Write(t, hosttest.Files{"work/bulkhead.toml": table})
		o := w.Options()
		o.Development = &discovery.Development{Source: w.Dir + "/src/tree", Built: func() (string, error) {
			if built == "" {
				return "", errors.New("it does not compile")
			}
			return w.Dir + "/build/" + built, nil
		}}
		return discovery.Find(o)
	}
	const other = "[[plugins]]\npath = '../other'\nprefix = 'wrong_'\n"
	for name, table := range map[string]string{
		"its name":       "[[plugins]]\nname = 'notes'\n",
		"its source":     "[[plugins]]\npath = '../src/tree'\n",
		"a path":         "[[plugins]]\npath = '../dist/plugins/notes'\n",
		"a stale digest": "[[plugins]]\npath = '../dist/plugins/notes'\nsha256 = '" + strings.Repeat("0", 64) + "'\n",
	} {
		found, err := develop(other+table+"prefix = 'n_'\n", "1")
		if err != nil || len(found.Candidates) != 1 {
			t.Fatalf("by %s: %+v, %v", name, found, err)
		}
		c := found.Candidates[0]
		if c.Entry.Prefix != "n_" || c.Entry.Path != w.Dir+"/build/1" || c.Entry.SHA256 != "" || c.Manifest.File != w.Dir+"/src/tree/plugin.toml" {
			t.Errorf("by %s: got the table %+v of the manifest %s", name, c.Entry, c.Manifest.File)
		}
	}
	_, err := develop(other, "1")
	if invalid := (*discovery.InvalidError)(nil); !errors.As(err, &invalid) || !strings.Contains(err.Error(), `no table names the plugin "notes"`) {
		t.Errorf("without a table: %v", err)
	}
	if _, err := develop(other, ""); err == nil || !strings.Contains(err.Error(), "is not built: it does not compile") {
		t.Errorf("without a build: %v", err)
	}
	found, err := develop(other, "broken")
	if err != nil || len(found.Candidates) != 1 || found.Candidates[0].Manifest != nil || found.Candidates[0].Problems[0].File != w.Dir+"/src/tree/plugin.toml" {
		t.Errorf("with a manifest that cannot be read: %+v, %v", found, err)
	}
	if found, err := develop("[[plugins]]\nname = 'other'\n[[plugins]]\npath = '${env:NONE}'\n", "1"); err == nil {
		t.Errorf("with an unset variable: %+v", found)
	}
}

func TestInstalledPlugins(t *testing.T) {
	w := hosttest.New(t, hosttest.At("bin/plugins/a", hosttest.Plugin("a", []byte("module"), "")), hosttest.At("bin/plugins/source", hosttest.Plugin("source", nil, "")),
		hosttest.At("work/dist/plugins/planted", hosttest.Plugin("planted", []byte("module"), "")), hosttest.Files{"empty": "/"})
	for _, c := range []struct{ dir, variable, want, wantDir string }{
		{"", "", "a", "bin/plugins"},
		{"../plugins", "", "", "plugins"},
		{"", "../empty", "", "empty"},
		{"dist/plugins", "../empty", "planted", "work/dist/plugins"},
	} {
		w.Env["BULKHEAD_PLUGINS"] = c.variable
		o := w.Options()
		o.PluginsDir = c.dir
		plugins, dir, err := discovery.Installed(o)
		var names []string
		for _, p := range plugins {
			names = append(names, p.Name())
		}
		if strings.Join(names, " ") != c.want || dir != filepath.Join(w.Dir, c.wantDir) || (err == nil) != (c.want != "") {
			t.Errorf("%+v: got the plugins %q in %s, %v", c, names, dir, err)
		}
		if none := (*discovery.NoPluginsError)(nil); c.want == "" && !errors.As(err, &none) {
			t.Errorf("%+v: got the error %v", c, err)
		}
	}
}

func TestSecretFileIsBounded(t *testing.T) {
	w := hosttest.New(t, hosttest.Files{"largest": strings.Repeat("x", 8192), "larger": strings.Repeat("x", 8193), "lf": "secret\n", "crlf": "secret\r\n", "lines": "secret\n\n", "spaces": " secret \n"})
	for name, want := range map[string]string{"largest": strings.Repeat("x", 8192), "lf": "secret", "crlf": "secret", "lines": "secret\n", "spaces": " secret "} {
		if got, err := discovery.Secret(w.Options().System, &config.Credential{File: w.Dir + "/" + name}); err != nil || got != want {
			t.Errorf("%s: got %.20q, %v", name, got, err)
		}
	}
	if _, err := discovery.Secret(w.Options().System, &config.Credential{File: w.Dir + "/larger"}); err == nil || !strings.Contains(err.Error(), "larger than 8 KiB") {
		t.Errorf("a file of 8,193 bytes: %v", err)
	}
	w.Env["SPACED"] = " a\n"
	if got, err := discovery.Secret(w.Options().System, &config.Credential{Env: "SPACED"}); err != nil || got != " a\n" {
		t.Errorf("a variable: got %q, %v", got, err)
	}
	if content, err := discovery.SecretFile(w.Dir+"/lf", 7); err != nil || string(content) != "secret\n" {
		t.Errorf("a file of the limit's size: got %q, %v", content, err)
	}
	if _, err := discovery.SecretFile(w.Dir+"/lf", 6); err == nil {
		t.Error("a file above the limit was read")
	}
}

// The home directory of a ceiling is never that of the environment.
func TestHomeOfCeiling(t *testing.T) {
	w := hosttest.New(t, hosttest.Files{hosttest.Ceiling: "[ceiling]\nread_only = true\n"})
	w.Env["HOME"] = w.Dir + "/other"
	c, err := discovery.FindCeiling(w.Options().System)
	if err != nil || c == nil || c.Home != w.Dir+"/home" {
		t.Errorf("got %+v, %v", c, err)
	}
	c, err = discovery.FindCeiling(discovery.WithCeiling(w.Options().System, w.Dir+"/"+hosttest.Ceiling, os.Geteuid(), ""))
	if err != nil || c == nil || c.Home == w.Dir+"/other" || os.Geteuid() == 0 && c.Home == "" {
		t.Errorf("without one: got %+v, %v", c, err)
	}
}

func TestSettingsOfServerAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		ceiling, config string
		memory          int64
		confined        bool
		audit           string
	}{
		"nothing":                        {"", "", 2 << 30, false, ""},
		"less memory by the config":      {"[server]\nmemory = '1GiB'\n", "[server]\nmemory = '512MiB'\n", 512 << 20, false, ""},
		"less memory by the ceiling":     {"[server]\nmemory = '1GiB'\n", "[server]\nmemory = '4GiB'\n", 1 << 30, false, ""},
		"less memory than the default":   {"[server]\nmemory = '1GiB'\n", "", 1 << 30, false, ""},
		"more memory than the default":   {"[server]\nmemory = '8GiB'\n", "", 2 << 30, false, ""},
		"confined by the ceiling":        {"[server]\nconfinement = 'required'\n", "[server]\nconfinement = 'available'\n", 2 << 30, true, ""},
		"confined by the config":         {"[server]\nmemory = '8GiB'\n", "[server]\nconfinement = 'required'\n", 2 << 30, true, ""},
		"an open audit":                  {"[audit]\nrequired = true\n", "[audit]\nfile = '/a'\n", 2 << 30, false, "open []"},
		"an audit closed by the config":  {"[audit]\nrequired = true\n", "[audit]\nfile = '/a'\non_failure = 'closed'\n", 2 << 30, false, "closed []"},
		"an audit closed by the ceiling": {"[audit]\non_failure = 'closed'\n", "[audit]\nfile = '/a'\n", 2 << 30, false, "closed []"},
		"a copy by the ceiling":          {"[audit]\nalso = ['syslog']\n", "[audit]\nfile = '/a'\nalso = ['stdout']\n", 2 << 30, false, "open [stdout syslog]"},
		"a copy by both":                 {"[audit]\nalso = ['syslog']\n", "[audit]\nfile = '/a'\nalso = ['syslog']\n", 2 << 30, false, "open [syslog]"},
		"no audit to copy":               {"[audit]\nalso = ['syslog']\n", "", 2 << 30, false, ""},
		"metrics":                        {"[audit]\nrequired = true\n", "[audit]\nfile = '/a'\nmetrics = '127.0.0.1:9464'\n", 2 << 30, false, "open [] 127.0.0.1:9464"},
		"no metrics by the ceiling":      {"[audit]\nmetrics = false\n", "[audit]\nfile = '/a'\nmetrics = '127.0.0.1:9464'\n", 2 << 30, false, "open []"},
		"traces":                         {"[audit]\nrequired = true\n", "[audit]\nfile = '/a'\notlp = 'http://127.0.0.1:4318'\n", 2 << 30, false, "open []  http://127.0.0.1:4318"},
		"no traces by the ceiling":       {"[audit]\notlp = false\n", "[audit]\nfile = '/a'\notlp = 'http://127.0.0.1:4318'\n", 2 << 30, false, "open []"},
		"secret traces by the ceiling":   {"[audit]\notlp = false\n", "[audit]\nfile = '/a'\notlp = 'http://127.0.0.1:4318'\notlp_headers_file = '/h'\notlp_sample = 0.5\n", 2 << 30, false, "open []"},
		"no audit to close":              {"[audit]\non_failure = 'closed'\n", "", 2 << 30, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(c.ceiling, "syslog") && runtime.GOOS != "linux" {
				t.Skip("syslog is for Linux")
			}
			w := hosttest.New(t, hosttest.Plugin("a", nil, ""), hosttest.Files{"work/bulkhead.toml": c.config + "[[plugins]]\npath = '../plugins/a'\n"})
			if c.ceiling != "" {
				w.Write(t, hosttest.Files{hosttest.Ceiling: c.ceiling})
			}
			found, err := discovery.Find(w.Options())
			if err != nil {
				t.Fatal(err)
			}
			audit := ""
			if found.Audit != nil {
				audit = strings.TrimSpace(fmt.Sprint(found.Audit.OnFailure, " ", found.Audit.Also, " ", found.Audit.Metrics, " ", found.Audit.Traces))
			}
			if confined := found.Server != nil && found.Server.Confined; found.Memory() != c.memory || confined != c.confined || audit != c.audit {
				t.Errorf("got the memory %d, confined %t, audit %q", found.Memory(), confined, audit)
			}
		})
	}
}

func TestDigestOfPluginsNeedsDigestOfEachModule(t *testing.T) {
	w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering("{}"), "sha256 = '"+strings.Repeat("0", 64)+"'\n"), hosttest.Plugin("b", nil, ""), hosttest.Files{"plugins/c/plugin.toml": "manifest = "})
	digest := func(names ...string) (string, error) {
		t.Helper()
		o := w.Options()
		o.Plugins = names
		found, err := discovery.Find(o)
		if err != nil {
			t.Fatal(err)
		}
		return discovery.PluginsDigest(found.Candidates)
	}
	one, err := digest("a")
	if err != nil || len(one) != 64 {
		t.Errorf("got %q, %v", one, err)
	}
	if _, err := digest("a", "b"); err == nil || !strings.Contains(err.Error(), "plugins/b/plugin.toml does not contain the digest of its module") {
		t.Errorf("without the digest of a module: %v", err)
	}
	if _, err := digest("a", "c"); err == nil || !strings.Contains(err.Error(), "plugins/c/plugin.toml cannot be read") {
		t.Errorf("with a manifest that cannot be read: %v", err)
	}
	w.Write(t, hosttest.Plugin("a", wasmtest.Answering("{}"), "sha256 = '"+strings.Repeat("1", 64)+"'\n"))
	if other, err := digest("a"); err != nil || other == one {
		t.Errorf("a changed manifest has the digest %q of the old one: %v", other, err)
	}
}

func TestPathsGivenByUser(t *testing.T) {
	w := hosttest.New(t)
	for path, want := range map[string]string{"/a/../b": "/b", "x": w.Dir + "/work/x", "../x": w.Dir + "/x"} {
		if got, err := discovery.Absolute(w.Options(), path); err != nil || got != want {
			t.Errorf("%s: got %q, %v; want %q", path, got, err, want)
		}
	}
	o := w.Options()
	o.System.Dir = w.Dir + "/none"
	if _, err := discovery.Absolute(o, "x"); err == nil {
		t.Error("a working directory that does not exist is no error")
	}
	if _, err := discovery.FindPlaces(o); err == nil {
		t.Error("places of a working directory that does not exist are found")
	}
	if _, err := discovery.FindConfig(o); err == nil {
		t.Error("a config of a working directory that does not exist is found")
	}
}
