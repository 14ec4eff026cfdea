package host_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
)

// watched opens a host, starts to watch its files, and starts a session. After each change, a test must wait for its announcement.
func watched(t *testing.T, w *hosttest.World, o host.Options) *client {
	t.Helper()
	h := w.Open(t, o)
	h.Watch(t.Context())
	return connect(t, h)
}

// What changes between Open and the first look of Watch is applied, also if it leaves no trace in the times of files.
func TestWatchAppliesChangeBeforeItsFirstLook(t *testing.T) {
	for name, change := range map[string]func(w *hosttest.World) error{
		"trust is revoked": func(w *hosttest.World) error {
			_, err := w.TrustStore().Remove(filepath.Join(w.Dir, "work", "bulkhead.toml"))
			return err
		},
		"a manifest is replaced by an older file": func(w *hosttest.World) error {
			old := filepath.Join(w.Dir, "older.toml")
			return errors.Join(os.Chtimes(old, time.Time{}, time.Unix(1e9, 0)), os.Rename(old, filepath.Join(w.Dir, "plugins", "a", "plugin.toml")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			plugin := answering("a", "A")
			w := hosttest.New(t, plugin, answering("b", "B"), configOf("a", "b"))
			w.Write(t, hosttest.Files{"older.toml": strings.ReplaceAll(plugin["plugins/a/plugin.toml"], "a_reads", "a_older")})
			w.Trust(t, "work/bulkhead.toml")
			if err := filepath.WalkDir(w.Dir, func(path string, _ fs.DirEntry, err error) error {
				return errors.Join(err, os.Chtimes(path, time.Time{}, time.Now().Add(-time.Hour)))
			}); err != nil {
				t.Fatal(err)
			}
			o := w.Options()
			o.ConfigFile, o.ServeNothing = "", true
			h := w.Open(t, o)
			c := connect(t, h)
			if err := change(w); err != nil {
				t.Fatal(err)
			}
			h.Watch(t.Context())
			c.wantNext(toolsChanged)
			if answer := c.ask("tools/list", `{}`); strings.Contains(answer, "a_reads") {
				t.Errorf("a_reads is still listed: %s", answer)
			}
		})
	}
}

// logLines is a writer that sends each line of a log.
type logLines chan string

func (l logLines) Write(line []byte) (int, error) { l <- string(line); return len(line), nil }

// The first look of Watch reports nothing that Open has reported.
func TestWatchLogsNothingWithoutChange(t *testing.T) {
	for name, files := range map[string]hosttest.Files{
		"a faulty plugin":       {"plugins/b/plugin.toml": "manifest = 1\n"},
		"an untrusted config":   configOf("a"),
		"an invalid config":     {"work/bulkhead.toml": "x = 1\n"},
		"no plugin is in force": {"plugins/a/plugin.toml": ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := hosttest.New(t, answering("a", "A"), files)
			o := w.Options()
			o.ServeNothing = true
			if name == "an untrusted config" {
				o.ConfigFile = ""
			}
			lines := make(logLines, 1000)
			o.Log = hclog.New(&hclog.LoggerOptions{Output: lines, Level: hclog.Trace, DisableTime: true})
			h := w.Open(t, o)
			for len(lines) > 0 {
				<-lines
			}
			h.Watch(t.Context())
			for line := range lines {
				if strings.Contains(line, "has not changed") {
					break
				}
				if !strings.Contains(line, "[INFO]") && !strings.Contains(line, "[DEBUG]") {
					t.Errorf("logged: %s", line)
				}
			}
		})
	}
}

// put replaces a file atomically.
func put(t *testing.T, w *hosttest.World, name, content string) {
	t.Helper()
	w.Write(t, hosttest.Files{name + ".new": content})
	if err := os.Rename(filepath.Join(w.Dir, name+".new"), filepath.Join(w.Dir, name)); err != nil {
		t.Fatal(err)
	}
}

// skipWithoutCeiling skips a test of the ceiling on systems that have no ceiling.
func skipWithoutCeiling(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("there is no ceiling on Windows")
	}
}

const including = "include = ['team.toml']\n[server]\nname = 'bulkhead'\n"

func TestWatchFollowsIncludedFiles(t *testing.T) {
	w := hosttest.New(t, answering("a", "A"), answering("b", "B"), configOf("a", "b"))
	c := watched(t, w, w.Options())
	w.Write(t, hosttest.Files{"work/team.toml": "[[plugins]]\npath = '../plugins/a'\n"})
	put(t, w, "work/bulkhead.toml", including)
	c.wantNext(toolsChanged)
	put(t, w, "work/team.toml", "[[plugins]]\npath = '../plugins/b'\n")
	c.wantNext(toolsChanged)
	c.want(c.ask("tools/call", `{"name":"b_reads"}`), `"B"`)
	c.want(c.ask("tools/call", `{"name":"a_reads"}`), "Unknown tool")
}

func TestWatchFollowsIncludedFileInAnotherDirectory(t *testing.T) {
	w := hosttest.New(t, answering("a", "A"), answering("b", "B"), hosttest.Files{
		"work/bulkhead.toml":  "include = ['../shared/of/team.toml']\n[server]\nname = 'bulkhead'\n",
		"shared/of/team.toml": "[[plugins]]\npath = '../../plugins/a'\n",
	})
	c := watched(t, w, w.Options())
	put(t, w, "shared/of/team.toml", "[[plugins]]\npath = '../../plugins/b'\n")
	c.wantNext(toolsChanged)
	c.want(c.ask("tools/call", `{"name":"b_reads"}`), `"B"`)
}

// A config that is rejected because of an included file is applied after only the included file is corrected.
func TestWatchFollowsIncludedFileOfRejectedConfig(t *testing.T) {
	for name, content := range map[string]string{"missing": "", "invalid": "x = 1\n", "no TOML": "x =\n"} {
		t.Run(name, func(t *testing.T) {
			logging := hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), "[offers]\nlogging = true\n"+hosttest.Reads("a_reads"))
			w := hosttest.New(t, logging, answering("b", "B"), configOf("a"))
			c := watched(t, w, w.Options())
			if content != "" {
				w.Write(t, hosttest.Files{"work/team.toml": content})
			}
			put(t, w, "work/bulkhead.toml", including)
			c.wantNext(`"method":"notifications/message"`, "rejected")
			put(t, w, "work/team.toml", "[[plugins]]\npath = '../plugins/b'\n")
			c.wantNext(toolsChanged)
			c.want(c.ask("tools/list", `{}`), "b_reads")
		})
	}
}

func TestWatchFollowsCeiling(t *testing.T) {
	skipWithoutCeiling(t)
	w := hosttest.New(t, answering("a", "A"), configOf("a"))
	c := watched(t, w, w.Options())
	put(t, w, hosttest.Ceiling, "[ceiling]\ndeny_tools = ['a_reads']\n")
	c.wantNext(toolsChanged)
	c.want(c.ask("tools/call", `{"name":"a_reads"}`), "Unknown tool")
	put(t, w, hosttest.Ceiling, "[ceiling]\n")
	c.wantNext(toolsChanged)
	c.want(c.ask("tools/call", `{"name":"a_reads"}`), `"A"`)
}

// A server that offers nothing because the ceiling is invalid serves the plugins once the ceiling is corrected, with or without a config.
func TestCorrectedCeilingIsApplied(t *testing.T) {
	skipWithoutCeiling(t)
	for name, config := range map[string]hosttest.Files{"config": configOf("a"), "directory of plugins": {}} {
		t.Run(name, func(t *testing.T) {
			w := hosttest.New(t, answering("a", "A"), config, hosttest.Files{hosttest.Ceiling: "x = 1\n"})
			o := w.Options()
			o.ServeNothing = true
			c := watched(t, w, o)
			c.want(c.ask("tools/list", `{}`), setupOnly)
			put(t, w, hosttest.Ceiling, "[ceiling]\n")
			c.wantNext(toolsChanged)
			c.want(c.ask("tools/call", `{"name":"a_reads"}`), `"A"`)
		})
	}
}

// TestWatchFollowsRemovalOfLastPlugin removes the only plugin of a directory, and then adds a plugin again.
func TestWatchFollowsRemovalOfLastPlugin(t *testing.T) {
	for name, moved := range map[string]bool{"named": false, "beside the program": true} {
		t.Run(name, func(t *testing.T) {
			w := hosttest.New(t, answering("a", "A"), answering("b", "B"))
			o := w.Options()
			if moved {
				o.System.Executable = filepath.Join(w.Dir, "bulkhead")
				o.PluginsDir = ""
			}
			h := w.Open(t, o)
			h.Watch(t.Context())
			c := connect(t, h)
			for _, plugin := range []string{"a", "b"} {
				if err := os.Rename(filepath.Join(w.Dir, "plugins", plugin), filepath.Join(w.Dir, plugin)); err != nil {
					t.Fatal(err)
				}
				c.wantNext(toolsChanged)
			}
			c.want(c.ask("tools/list", `{}`), setupOnly)
			c.want(c.ask("tools/call", `{"name":"b_reads"}`), "no plugin")
			if plugins := h.Plugins(); len(plugins) != 0 {
				t.Errorf("plugins: %v", plugins)
			}
			if err := os.Rename(filepath.Join(w.Dir, "a"), filepath.Join(w.Dir, "plugins", "a")); err != nil {
				t.Fatal(err)
			}
			c.wantNext(toolsChanged)
			c.want(c.ask("tools/call", `{"name":"a_reads"}`), `"A"`)
		})
	}
}

// The removal of the last plugin is applied, since it withdraws the plugin's access. So is its return.
func TestReloadAppliesRemovalOf(t *testing.T) {
	for name, c := range map[string]struct {
		config, changed string   // the config before and after the removal; "": there is none
		moved           string   // what is moved away instead
		chosen          []string // --plugin
		why             string
	}{
		"the directory of plugins":         {moved: "plugins", why: "there is no such directory"},
		"the chosen plugin":                {moved: "plugins/a", chosen: []string{"a"}, why: "the plugins are b"},
		"the chosen plugin of a config":    {config: "ab", changed: "b", chosen: []string{"a"}, why: "the plugins are b"},
		"the last plugin of a config":      {config: "a", changed: " ", why: "the config names no plugin"},
		"all plugins of a config together": {config: "ab", changed: " ", why: "the config names no plugin"},
	} {
		t.Run(name, func(t *testing.T) {
			w := hosttest.New(t, answering("a", "A"), answering("b", "B"))
			change := func(config, from, to string) {
				if config != "" {
					put(t, w, "work/bulkhead.toml", configOf(strings.Split(strings.TrimSpace(config), "")...)["work/bulkhead.toml"]+"\n")
				} else if err := os.Rename(filepath.Join(w.Dir, from), filepath.Join(w.Dir, to)); err != nil {
					t.Fatal(err)
				}
			}
			if c.config != "" {
				change(c.config, "", "")
			}
			o := w.Options()
			o.Plugins = c.chosen
			h := w.Open(t, o)
			session := connect(t, h)
			change(c.changed, c.moved, "moved")
			reload(t, h)
			session.wantAnswer(c.why)
			change(c.config, "moved", c.moved)
			reload(t, h)
			session.wantAnswer(`"A"`)
		})
	}
}

// wantAnswer calls a tool, and skips notifications.
func (c *client) wantAnswer(text string) {
	c.t.Helper()
	c.send("tools/call", `{"name":"a_reads"}`)
	answer := c.next()
	for strings.Contains(answer, `"method":`) {
		answer = c.next()
	}
	c.want(answer, text)
}

func TestChosenPluginsThatRemainAreServed(t *testing.T) {
	w := hosttest.New(t, answering("a", "A"), answering("b", "B"), answering("c", "C"), configOf("a", "b", "c"))
	o := w.Options()
	o.Plugins = []string{"a", "b"}
	h := w.Open(t, o)
	put(t, w, "work/bulkhead.toml", configOf("b", "c")["work/bulkhead.toml"])
	if err := h.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if plugins := h.Plugins(); len(plugins) != 1 || plugins[0].Name != "b" {
		t.Errorf("plugins are %+v, want b only", plugins)
	}
}

// A manifest that cannot be read may be that of the chosen plugin, about to be replaced.
func TestChosenPluginWithoutReadableManifestIsNotTakenForRemoved(t *testing.T) {
	w := hosttest.New(t, hosttest.Files{"plugins/dir/plugin.toml": answering("a", "A")["plugins/a/plugin.toml"], "plugins/dir/it.wasm": answering("a", "A")["plugins/a/it.wasm"]}, answering("b", "B"))
	o := w.Options()
	o.Plugins = []string{"a"}
	h := w.Open(t, o)
	w.Write(t, hosttest.Files{"plugins/dir/plugin.toml": "manifest =\n"})
	hosttest.WantUsage(t, h.Reload(t.Context()), `there is no plugin "a"`)
}

func TestCeilingThatRequiresAnAuditLogIsApplied(t *testing.T) {
	skipWithoutCeiling(t)
	w := hosttest.New(t, answering("a", "A"), configOf("a"))
	c := watched(t, w, w.Options())
	put(t, w, hosttest.Ceiling, "[audit]\nrequired = true\n")
	c.wantNext(toolsChanged)
	c.want(c.ask("tools/call", `{"name":"a_reads"}`), "an audit log is required")
	put(t, w, hosttest.Ceiling, "[ceiling]\n")
	c.wantNext(toolsChanged)
	c.want(c.ask("tools/call", `{"name":"a_reads"}`), `"A"`)
}
