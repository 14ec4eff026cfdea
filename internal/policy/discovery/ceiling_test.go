package discovery_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// wants is the line in the table [plugin] of a manifest whose plugin asks for everything.
const wants = `write = "opt-in"
`

// greedy is a plugin that asks for everything.
func greedy() hosttest.Files {
	f := hosttest.Plugin("greedy", wasmtest.Answering(hosttest.Done), `[capabilities]
http = ["*"]
env = ["*"]
[[capabilities.fs]]
path = "${project}"
access = "rw"
[[capabilities.git]]
repo = "*"
access = "rw"
remotes = ["*"]
`+hosttest.Reads("greedy_reads")+hosttest.Writes("greedy_writes"))
	f["plugins/greedy/plugin.toml"] = strings.Replace(f["plugins/greedy/plugin.toml"], "[module]", wants+"[module]", 1)
	return f
}

// everything is a config's table that grants greedy everything.
const everything = `[[plugins]]
path = "$W/plugins/greedy"
allow_write = true
isolation = "reused"
fs = [{ path = "$W/work", access = "rw" }, { path = "$W/home/secret", access = "rw" }]
git = [{ repo = "$W/home/secret", access = "rw", remotes = ["*"] }]
http = ["https://evil.example.com"]
env = { TOKEN = "x" }
limits = { time = "1h", memory = "1GiB" }
`

// strict is a ceiling that allows the project to be read, and little else.
const strict = `[server]
memory = "64MiB"
confinement = "required"
[ceiling]
read_only = true
fs = [{ path = "$W/work", access = "rw" }]
http = []
env = []
deny = ["**/.env"]
isolation = "pristine"
limits = { time = "2s", memory = "8MiB" }
`

// bounded returns a world with the plugin greedy and with that ceiling.
func bounded(t *testing.T, ceiling string) *hosttest.World {
	w := hosttest.New(t, greedy(), hosttest.Files{"home/secret": "/"})
	put(t, w, hosttest.Ceiling, ceiling)
	return w
}

// put writes a file in which $W is the directory of the world.
func put(t *testing.T, w *hosttest.World, name, content string) {
	t.Helper()
	w.Write(t, hosttest.Files{name: strings.ReplaceAll(content, "$W", w.Dir)})
}

// TestNothingExceedsCeiling grants everything in each place that can grant: the result is the same.
func TestNothingExceedsCeiling(t *testing.T) {
	for name, set := range map[string]func(t *testing.T, w *hosttest.World, o *host.Options){
		"--config": func(t *testing.T, w *hosttest.World, o *host.Options) {
			put(t, w, "own.toml", everything)
			o.ConfigFile = w.Dir + "/own.toml"
		},
		"$BULKHEAD_CONFIG": func(t *testing.T, w *hosttest.World, o *host.Options) {
			put(t, w, "own.toml", everything)
			w.Env["BULKHEAD_CONFIG"] = w.Dir + "/own.toml"
		},
		"a trusted config": func(t *testing.T, w *hosttest.World, o *host.Options) {
			put(t, w, "work/bulkhead.toml", everything)
			w.Trust(t, "work/bulkhead.toml")
		},
		"the user's config": func(t *testing.T, w *hosttest.World, o *host.Options) {
			put(t, w, "home/.config/bulkhead/bulkhead.toml", everything)
		},
		"an included file": func(t *testing.T, w *hosttest.World, o *host.Options) {
			put(t, w, "own.toml", "include = ['all.toml']")
			put(t, w, "all.toml", everything+"[defaults]\nlimits = { time = '1h' }\n[server]\nmemory = '8GiB'\nconfinement = 'available'\n")
			o.ConfigFile = w.Dir + "/own.toml"
		},
		"defaults": func(t *testing.T, w *hosttest.World, o *host.Options) {
			put(t, w, "own.toml", "[defaults]\nlimits = { time = '1h', memory = '1GiB' }\n"+everything)
			o.ConfigFile = w.Dir + "/own.toml"
		},
		"flags, with --no-config": func(t *testing.T, w *hosttest.World, o *host.Options) {
			o.NoConfig, o.PluginsDir = true, w.Dir+"/plugins"
		},
		"the plugins of a variable": func(t *testing.T, w *hosttest.World, o *host.Options) {
			w.Env["BULKHEAD_PLUGINS"] = w.Dir + "/plugins/greedy"
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := bounded(t, strict)
			o := discovering(w)
			o.AllowWrite, o.AllTools, o.Env, o.Project = true, true, map[string]string{"TOKEN": "flag"}, w.Dir+"/work"
			set(t, w, &o)
			c, err := catalog.Look(o)
			if err != nil {
				t.Fatal(err)
			}
			if len(c.Plugins) != 1 || c.Plugins[0].Problem != "" {
				t.Fatalf("got the plugins %+v, want one without a problem", c.Plugins)
			}
			g := c.Plugins[0].Grant
			if len(g.Tools) != 1 || g.Tools[0].Write {
				t.Errorf("got the tools %+v, want one that reads", g.Tools)
			}
			for _, m := range g.FS {
				if !m.State && (m.Path != w.Dir+"/work" || m.Access != manifest.Read) {
					t.Errorf("the mount %+v exceeds the ceiling", m)
				}
			}
			if len(g.Git)+len(g.HTTP)+len(g.Env) > 0 || g.Reused || g.Limits.Time.Seconds() != 2 || g.Limits.Memory != 8<<20 || len(g.Deny) != 1 {
				t.Errorf("the grant %+v exceeds the ceiling", g)
			}
			if c.Memory() != 64<<20 || !c.Server.Confined {
				t.Errorf("the settings of the server exceed the ceiling: %+v", c.Server)
			}
		})
	}
}

func TestCeilingAllowsOnlyItsPlugins(t *testing.T) {
	w := bounded(t, "[[plugins]]\nname = 'other'\n")
	put(t, w, "own.toml", everything)
	for name, o := range map[string]func(o *host.Options){
		"a config":  func(o *host.Options) { o.ConfigFile = w.Dir + "/own.toml" },
		"--plugins": func(o *host.Options) { o.NoConfig = true },
		"--plugin":  func(o *host.Options) { o.NoConfig, o.Plugins = true, []string{"greedy"} },
	} {
		t.Run(name, func(t *testing.T) {
			options := w.Options()
			o(&options)
			h := w.Open(t, options)
			if got := h.Plugins(); len(got) != 1 || !strings.Contains(got[0].Problem, w.Dir+"/"+hosttest.Ceiling+":1 allows only these plugins: other") {
				t.Errorf("got the plugins %+v, want the plugin refused by the ceiling", got)
			}
			if _, offered := h.Tool("greedy_reads"); offered {
				t.Error("a tool of a plugin that is not allowed is offered")
			}
		})
	}
}

// TestUnusableCeilingServesNothing spoils a ceiling in each way that a user, or a mistake, can.
func TestUnusableCeilingServesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(w *hosttest.World, file string) error
		want  string
	}{
		"a syntax error":                {func(w *hosttest.World, file string) error { return os.WriteFile(file, []byte("="), 0o600) }, "etc/bulkhead.toml:1: is not TOML"},
		"an unknown key":                {func(w *hosttest.World, file string) error { return os.WriteFile(file, []byte("\n[ceilin]"), 0o600) }, "etc/bulkhead.toml:2: ceilin: is not a known key"},
		"a file that others write":      {func(w *hosttest.World, file string) error { return os.Chmod(file, 0o666) }, "can be written by others"},
		"a directory that others write": {func(w *hosttest.World, file string) error { return os.Chmod(w.Dir+"/etc", 0o777) }, "can be written by others"},
		"a dangling link":               {func(w *hosttest.World, file string) error { return replaceByLink(file, "none") }, "no such file"},
		"a directory":                   {func(w *hosttest.World, file string) error { return replaceByDirectory(file) }, "is not a regular file"},
		"a dangling link in the place of its directory": {func(w *hosttest.World, file string) error {
			if err := os.RemoveAll(w.Dir + "/etc"); err != nil {
				return err
			}
			return os.Symlink("none", w.Dir+"/etc")
		}, "dangling symbolic link"},
		"a file of another user": {func(w *hosttest.World, file string) error {
			if os.Geteuid() != 0 {
				return os.Chmod(file, 0o666) // only root can change the owner of the file
			}
			return os.Chown(file, 54321, 54321)
		}, "etc/bulkhead.toml "},
		"a file in the place of its directory": {func(w *hosttest.World, file string) error {
			if err := os.RemoveAll(w.Dir + "/etc"); err != nil {
				return err
			}
			return os.WriteFile(w.Dir+"/etc", nil, 0o600)
		}, "is not a directory"},
		"a link of another directory": {func(w *hosttest.World, file string) error {
			if err := os.Rename(w.Dir+"/etc", w.Dir+"/moved"); err != nil {
				return err
			}
			if err := os.Chmod(w.Dir+"/moved", 0o777); err != nil {
				return err
			}
			return os.Symlink("moved", w.Dir+"/etc")
		}, "moved can be written by others"},
	} {
		t.Run(name, func(t *testing.T) {
			w := bounded(t, strict)
			if err := c.spoil(w, w.Dir+"/"+hosttest.Ceiling); err != nil {
				t.Fatal(err)
			}
			put(t, w, "own.toml", everything)
			for _, set := range []func(o *host.Options){
				func(o *host.Options) { o.ConfigFile = w.Dir + "/own.toml" },
				func(o *host.Options) { o.NoConfig = true },
			} {
				o := w.Options()
				set(&o)
				_, err := host.Open(o)
				hosttest.WantUsage(t, err, "no plugin is served, because the ceiling of this machine cannot be applied", c.want)
				o.ServeNothing = true
				if h := w.Open(t, o); len(h.Plugins()) > 0 {
					t.Errorf("a server that says why nothing is served has %+v", h.Plugins())
				}
				if c, err := catalog.LookAs(o, []byte("[[plugins]]\npath = 'x'")); err == nil {
					t.Errorf("LookAs with an unusable ceiling returned %+v and no error", c)
				}
			}
		})
	}
}

func replaceByDirectory(file string) error {
	if err := os.Remove(file); err != nil {
		return err
	}
	return os.Mkdir(file, 0o755)
}

func TestCeilingRequiresAuditLog(t *testing.T) {
	w := bounded(t, "[server]\nmemory = '1GiB'\n[audit]\nrequired = true\non_failure = 'closed'\n")
	put(t, w, "own.toml", everything)
	o := w.Options()
	o.ConfigFile = w.Dir + "/own.toml"
	_, err := host.Open(o)
	hosttest.WantUsage(t, err, w.Dir+"/etc/bulkhead.toml:3: audit.required: no plugin is served: "+w.Dir+"/own.toml has no [audit], and an audit log is required")
	o.ConfigFile, o.NoConfig = "", true
	_, err = host.Open(o)
	hosttest.WantUsage(t, err, "there is no config, and an audit log is required")
	put(t, w, "own.toml", everything+"[audit]\nfile = '$W/log'\non_failure = 'open'\n")
	o.ConfigFile, o.NoConfig = w.Dir+"/own.toml", false
	found, err := discovery.Find(o)
	if err != nil || found.Audit.OnFailure != "closed" {
		t.Errorf("Find returned %+v, %v; want an audit log with on_failure = closed", found, err)
	}
}

// TestForbiddenTracesKeepTokenSecret has a ceiling that forbids traces and metrics: their files are the host's nevertheless.
func TestForbiddenTracesKeepTokenSecret(t *testing.T) {
	w := bounded(t, "[audit]\notlp = false\nmetrics = false\n")
	put(t, w, "own.toml", everything+"[audit]\nfile = '$W/log'\notlp = 'https://collector.example'\notlp_headers_file = '$W/work/headers'\nmetrics = 'unix:$W/work/metrics'\n")
	o := w.Options()
	o.ConfigFile = w.Dir + "/own.toml"
	found, err := discovery.Find(o)
	if err != nil {
		t.Fatal(err)
	}
	if found.Audit.TracesTo().To != "" || found.Audit.MetricsAt().Socket() != "" {
		t.Errorf("the ceiling is not in force: %+v", found.Audit)
	}
	for _, name := range []string{"headers", "metrics"} {
		if want := filepath.Join(w.Dir, "work", name); !slices.Contains(found.HostFiles, want) {
			t.Errorf("%s is not among the host's files", want)
		}
	}
}

// TestCeilingBoundsResolvedPaths grants a path in the ceiling that resolves to one outside of it.
func TestCeilingBoundsResolvedPaths(t *testing.T) {
	w := bounded(t, "[ceiling]\nfs = [{ path = '$W/home/ok', access = 'rw' }]\n")
	w.Write(t, hosttest.Files{"home/ok": "/"})
	if err := os.Symlink("../secret", w.Dir+"/home/ok/link"); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"home/ok": "", "home/ok/new": "", "home/ok/link": "/home/secret\", outside of ", "home/ok/link/deep": "/home/secret/deep\", outside of "} {
		put(t, w, "own.toml", "[[plugins]]\npath = '$W/plugins/greedy'\nfs = [{ path = '$W/"+path+"', access = 'rw' }]\ngit = [{ repo = '$W/"+path+"', access = 'r' }]\n")
		o := w.Options()
		o.ConfigFile = w.Dir + "/own.toml"
		grants := w.Open(t, o).Plugins()[0].Grants
		if len(grants) != 2 {
			t.Fatalf("%s: got the grants %+v, want two", path, grants)
		}
		for _, g := range grants {
			if (g.Refused == "") != (want == "") || !strings.Contains(g.Refused, want) {
				t.Errorf("%s: %+v, want %q", path, g, want)
			}
		}
	}
	// Symbolic links in a path of the ceiling are not resolved, since the user may have created them.
	put(t, w, hosttest.Ceiling, "[ceiling]\nfs = [{ path = '$W/home/ok/link', access = 'rw' }]\n")
	put(t, w, "own.toml", "[[plugins]]\npath = '$W/plugins/greedy'\nfs = [{ path = '$W/home/ok/link', access = 'rw' }]\n")
	o := w.Options()
	o.ConfigFile = w.Dir + "/own.toml"
	if g := w.Open(t, o).Plugins()[0].Grants; len(g) != 1 || !strings.Contains(g[0].Refused, "outside of "+w.Dir+"/home/ok/link") {
		t.Errorf("got the grants %+v, want one that is refused because its resolved path exceeds the ceiling", g)
	}
}

func TestEnvironmentDoesNotMoveCeiling(t *testing.T) {
	w := bounded(t, "[ceiling]\nfs = [{ path = '${home}/ok', access = 'rw' }]\n")
	put(t, w, "own.toml", "[[plugins]]\npath = '$W/plugins/greedy'\nfs = [{ path = '${home}/ok', access = 'rw' }]\n")
	w.Write(t, hosttest.Files{"other/ok": "/", "other/.config/bulkhead": "/"})
	w.Env["HOME"], w.Env["XDG_CONFIG_HOME"], w.Env["XDG_CONFIG_DIRS"] = w.Dir+"/other", w.Dir+"/other/.config", w.Dir+"/other"
	w.Env["BULKHEAD_CEILING"] = ""
	o := w.Options()
	o.ConfigFile = w.Dir + "/own.toml"
	h := w.Open(t, o)
	for _, g := range h.Plugins()[0].Grants {
		t.Errorf("got the grant %+v, want none", g)
	}
	if warnings := h.Plugins()[0].Warnings; len(warnings) == 0 || !strings.Contains(warnings[len(warnings)-1].String(), "/other/ok is not granted") {
		t.Errorf("got the warnings %v, want one about the path outside of the ceiling", warnings)
	}
}

func TestAbsentCeilingBoundsNothing(t *testing.T) {
	w := hosttest.New(t)
	if c, err := discovery.FindCeiling(w.Options().System); c != nil || err != nil {
		t.Errorf("FindCeiling without a ceiling returned %+v, %v", c, err)
	}
}
