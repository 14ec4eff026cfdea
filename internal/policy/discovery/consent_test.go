package discovery_test

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
)

// discovering returns options that name no config and no plugins.
func discovering(w *hosttest.World) host.Options {
	o := w.Options()
	o.ConfigFile, o.PluginsDir = "", ""
	return o
}

// wantUntrusted checks that Open and Look fail with an *host.UntrustedError that contains texts.
func wantUntrusted(t *testing.T, o host.Options, texts ...string) *host.UntrustedError {
	t.Helper()
	_, err := host.Open(o)
	hosttest.WantUsage(t, err, texts...)
	var not *host.UntrustedError
	if !errors.As(err, &not) {
		t.Fatalf("got %v, want an *host.UntrustedError", err)
	}
	if _, err := catalog.Look(o); !errors.As(err, &not) {
		t.Errorf("Look: got %v, want an *host.UntrustedError", err)
	}
	return not
}

// planted returns a world with a project in pkg that contains a config and plugins.
func planted(t *testing.T) *hosttest.World {
	return hosttest.New(t, hosttest.At("pkg/plugins/evil", hosttest.Plugin("evil", wasmtest.Answering(hosttest.Done), hosttest.Reads("evil_reads"))),
		hosttest.At("pkg/dist/plugins/evil", hosttest.Plugin("evil", wasmtest.Answering(hosttest.Done), hosttest.Reads("evil_reads"))),
		hosttest.Plugin("mine", wasmtest.Answering(hosttest.Done), hosttest.Reads("mine_reads")),
		hosttest.Files{"pkg/.git/HEAD": "ref: x", "pkg/deep": "/", "pkg/bulkhead.toml": "[[plugins]]\npath = \"plugins/evil\"\n"})
}

func TestUntrustedConfigIsRefused(t *testing.T) {
	for name, set := range map[string]func(w *hosttest.World, o *host.Options){
		"in the working directory":             func(w *hosttest.World, o *host.Options) { o.System.Dir = w.Dir + "/pkg" },
		"in the repository around it":          func(w *hosttest.World, o *host.Options) { o.System.Dir = w.Dir + "/pkg/deep" },
		"in the project that is named":         func(w *hosttest.World, o *host.Options) { o.Project = w.Dir + "/pkg" },
		"in the project that a variable names": func(w *hosttest.World, o *host.Options) { w.Env["BULKHEAD_PROJECT"] = w.Dir + "/pkg" },
		"beside plugins that are named":        func(w *hosttest.World, o *host.Options) { o.System.Dir, o.PluginsDir = w.Dir+"/pkg", w.Dir+"/plugins" },
		"beside plugins that a variable names": func(w *hosttest.World, o *host.Options) {
			o.System.Dir = w.Dir + "/pkg"
			w.Env["BULKHEAD_PLUGINS"] = w.Dir + "/plugins"
		},
		"for a plugin that is chosen by name": func(w *hosttest.World, o *host.Options) { o.System.Dir, o.Plugins = w.Dir+"/pkg", []string{"mine"} },
		"in a directory that a link leads to": func(w *hosttest.World, o *host.Options) { o.System.Dir = w.Dir + "/link" },
	} {
		t.Run(name, func(t *testing.T) {
			w := planted(t)
			if err := os.Symlink("pkg", w.Dir+"/link"); err != nil {
				t.Fatal(err)
			}
			o := discovering(w)
			set(w, &o)
			file := w.Dir + "/pkg/bulkhead.toml"
			wantUntrusted(t, o, file+" is not trusted, so no plugin is served", "`bulkhead trust "+file+"`", "--no-config")

			w.Trust(t, "pkg/bulkhead.toml")
			o.Plugins = nil
			h := w.Open(t, o)
			if got := h.Plugins(); len(got) != 1 || got[0].Name != "evil" {
				t.Errorf("once it is trusted: %+v", got)
			}
		})
	}
}

func TestConfigOfWorkingDirectoryHasPrecedence(t *testing.T) {
	w := planted(t)
	w.Write(t, hosttest.Files{"pkg/deep/bulkhead.toml": "[[plugins]]\npath = \"../../plugins/mine\"\n"})
	w.Trust(t, "pkg/bulkhead.toml")
	o := discovering(w)
	o.System.Dir = w.Dir + "/pkg/deep"
	wantUntrusted(t, o, "/pkg/deep/bulkhead.toml is not trusted")
	w.Trust(t, "pkg/deep/bulkhead.toml")
	if got := w.Open(t, o).Plugins(); len(got) != 1 || got[0].Name != "mine" {
		t.Errorf("after the config was trusted, got the plugins %+v, want mine", got)
	}
}

func TestNamedConfigAndPluginsNeedNoTrust(t *testing.T) {
	for name, set := range map[string]func(w *hosttest.World, o *host.Options){
		"a config":               func(w *hosttest.World, o *host.Options) { o.ConfigFile = "bulkhead.toml" },
		"plugins, and no config": func(w *hosttest.World, o *host.Options) { o.NoConfig, o.PluginsDir = true, "plugins" },
		"plugins by a variable":  func(w *hosttest.World, o *host.Options) { o.NoConfig = true; w.Env["BULKHEAD_PLUGINS"] = "plugins" },
		"the plugins found else": func(w *hosttest.World, o *host.Options) { o.NoConfig, o.PluginsDir = true, "dist/plugins" },
		"plugins beside a program": func(w *hosttest.World, o *host.Options) {
			o.NoConfig, o.System.Executable = true, w.Dir+"/pkg/dist/bulkhead"
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := planted(t)
			o := discovering(w)
			o.System.Dir = w.Dir + "/pkg"
			set(w, &o)
			if got := w.Open(t, o).Plugins(); len(got) != 1 || got[0].Name != "evil" {
				t.Errorf("got the plugins %+v, want evil, which the user names", got)
			}
		})
	}
	w := planted(t)
	o := w.Options()
	o.NoConfig, o.ConfigFile = true, "bulkhead.toml"
	_, err := host.Open(o)
	hosttest.WantUsage(t, err, "--config and --no-config contradict")
}

func TestChangedConfigIsNoLongerTrusted(t *testing.T) {
	w := planted(t)
	o := discovering(w)
	o.System.Dir = w.Dir + "/pkg"
	w.Trust(t, "pkg/bulkhead.toml")
	w.Open(t, o)
	w.Write(t, hosttest.Files{"pkg/bulkhead.toml": "[[plugins]]\npath = \"plugins/evil\"\nfs = []\n"})
	if not := wantUntrusted(t, o, "has changed since it was trusted on 20", "bulkhead trust "); not.Since.IsZero() {
		t.Errorf("the error has no time of the previous consent: %+v", not)
	}
	if _, err := w.TrustStore().Remove(w.Dir + "/pkg/bulkhead.toml"); err != nil {
		t.Fatal(err)
	}
	wantUntrusted(t, o, "is not trusted, so")
}

// TestConfigSwappedAfterTrustCheckIsNotParsed repeatedly swaps a trusted and an untrusted config while Look runs. Look must
// never return the untrusted one.
func TestConfigSwappedAfterTrustCheckIsNotParsed(t *testing.T) {
	w := planted(t)
	w.Write(t, hosttest.Files{"pkg/good": "[[plugins]]\npath = \"../plugins/mine\"\n", "pkg/bad": "[[plugins]]\npath = \"plugins/evil\"\n"})
	file := w.Dir + "/pkg/bulkhead.toml"
	swap := func(to string) error {
		if err := os.Link(w.Dir+"/pkg/"+to, w.Dir+"/pkg/new"); err != nil {
			return err
		}
		return os.Rename(w.Dir+"/pkg/new", file)
	}
	if err := swap("good"); err != nil {
		t.Fatal(err)
	}
	w.Trust(t, "pkg/bulkhead.toml")
	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			for _, to := range []string{"bad", "good"} {
				if err := swap(to); err != nil {
					stopped <- err
					return
				}
			}
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
		}
	}()
	o := discovering(w)
	o.Log, o.System.Dir = nil, w.Dir+"/pkg"
	seen := map[string]int{}
	for range 400 {
		v, err := catalog.Look(o)
		var not *host.UntrustedError
		switch {
		case errors.As(err, &not):
			seen["untrusted"]++
		case err != nil:
			t.Fatal(err)
		default:
			seen[v.Plugins[0].Name]++
		}
	}
	close(stop)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	if seen["evil"] > 0 || seen["mine"]+seen["untrusted"] != 400 {
		t.Errorf("got the plugins and errors %v, want evil never", seen)
	}
}

// TestSymbolicLinkToTrustedConfigIsNotTrusted checks that trust belongs to a path: paths in a config are relative to the
// directory in which it was found.
func TestSymbolicLinkToTrustedConfigIsNotTrusted(t *testing.T) {
	w := planted(t)
	w.Write(t, hosttest.Files{"work/bulkhead.toml": "[[plugins]]\npath = \"plugins/evil\"\n"})
	w.Trust(t, "work/bulkhead.toml")
	if err := errors.Join(os.Remove(w.Dir+"/pkg/bulkhead.toml"), os.Symlink("../work/bulkhead.toml", w.Dir+"/pkg/bulkhead.toml")); err != nil {
		t.Fatal(err)
	}
	o := discovering(w)
	o.System.Dir = w.Dir + "/pkg"
	wantUntrusted(t, o, "/pkg/bulkhead.toml is not trusted")
}

func TestUnreadableConfigIsNotSkipped(t *testing.T) {
	w := planted(t)
	if err := errors.Join(os.Remove(w.Dir+"/pkg/bulkhead.toml"), os.Mkdir(w.Dir+"/pkg/bulkhead.toml", 0o755)); err != nil {
		t.Fatal(err)
	}
	o := discovering(w)
	o.System.Dir, o.PluginsDir = w.Dir+"/pkg", w.Dir+"/plugins"
	wantUntrusted(t, o, "bulkhead.toml cannot be read (is not a regular file)")
}

func TestPluginsOfWorkingDirectoryNeedTrust(t *testing.T) {
	const digest = "sha256 = '0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a'\n"
	w := hosttest.New(t, hosttest.At("work/dist/plugins/a", hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), digest+hosttest.Reads("a_reads"))))
	o := discovering(w)
	dir := w.Dir + "/work/dist/plugins"
	wantUntrusted(t, o, dir+" is not trusted", "`bulkhead trust "+dir+"`", "--plugins")
	w.Trust(t, "work/dist/plugins")
	w.Open(t, o)
	for name, f := range map[string]hosttest.Files{
		"a manifest that changed": hosttest.At("work/dist/plugins/a", hosttest.Plugin("a", nil, digest+hosttest.Reads("a_other"))),
		"another plugin":          hosttest.At("work/dist/plugins/b", hosttest.Plugin("b", wasmtest.Answering(hosttest.Done), digest+hosttest.Reads("b_reads"))),
	} {
		t.Run(name, func(t *testing.T) {
			w.Trust(t, "work/dist/plugins")
			w.Write(t, f)
			wantUntrusted(t, o, "has changed since it was trusted on 20")
		})
	}
	w.Write(t, hosttest.At("work/dist/plugins/b", hosttest.Plugin("b", wasmtest.Answering(hosttest.Done), hosttest.Reads("b_reads"))))
	wantUntrusted(t, o, "/b/plugin.toml does not contain the digest of its module")
}

func TestTrustStoreWritableByOthersTrustsNothing(t *testing.T) {
	w := planted(t)
	o := discovering(w)
	o.System.Dir = w.Dir + "/pkg"
	w.Trust(t, "pkg/bulkhead.toml")
	if err := os.Chmod(w.Dir+"/state/bulkhead/.trust", 0o777); err != nil {
		t.Fatal(err)
	}
	wantUntrusted(t, o, "can be written by others", "chmod go-w "+w.Dir+"/state/bulkhead/.trust")
}

func TestServerWithoutPluginsReportsReason(t *testing.T) {
	w := planted(t)
	o := discovering(w)
	o.System.Dir, o.ServeNothing = w.Dir+"/pkg", true
	h := w.Open(t, o)
	if got := h.Plugins(); len(got) != 0 {
		t.Errorf("an untrusted config has the plugins %+v, want none", got)
	}
	command := "bulkhead trust " + w.Dir + "/pkg/bulkhead.toml"
	var started struct {
		Result struct{ Instructions string }
	}
	hosttest.Decode(t, h, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, &started)
	if !strings.Contains(started.Result.Instructions, command) {
		t.Errorf("the instructions do not contain the command that trusts the config: %q", started.Result.Instructions)
	}
	var listed struct {
		Result struct {
			Tools []struct{ Name, Description string }
		}
	}
	hosttest.Decode(t, h, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, &listed)
	if tools := listed.Result.Tools; len(tools) != 1 || tools[0].Name != config.SetupName || !strings.Contains(tools[0].Description, command) {
		t.Errorf("tools/list returned %+v, want only the tool that says why there are no others", tools)
	}
	var out bytes.Buffer
	if err := h.Serve(t.Context(), strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"evil_reads"}}`+"\n"), &out); err != nil || !strings.Contains(out.String(), command) {
		t.Errorf("the answer to a call does not contain the command that trusts the config: %s, %v", out.String(), err)
	}
	if !strings.Contains(w.Log.String(), command) {
		t.Errorf("the log does not contain the command that trusts the config: %s", w.Log.String())
	}
}

func TestTrustCommandQuotesPath(t *testing.T) {
	for path, want := range map[string]string{
		"/p/bulkhead.toml": "`bulkhead trust /p/bulkhead.toml`",
		"/ü 日/$(x)'s":      `bulkhead trust '/ü 日/$(x)'\''s'`,
		"/p\x1b[2J\n/x":    "\"/p\\x1b[2J\\n/x\" is not trusted, so no plugin is served: review it with `bulkhead trust`,",
		"/p\u202e/x":       "with `bulkhead trust`,",
		"/p\ufe0f/x":       "\"/p\\ufe0f/x\" is not trusted",
		"/\xff":            "with `bulkhead trust`,",
	} {
		if got := (&host.UntrustedError{Path: path}).Error(); !strings.Contains(got, want) || strings.ContainsAny(got, "\x1b\n\u202e") {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
