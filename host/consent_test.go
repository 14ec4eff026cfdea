package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
)

// foundByItself are options that name no config and no plugins.
func (w *world) foundByItself() Options {
	o := w.options()
	o.ConfigFile, o.PluginsDir = "", ""
	return o
}

// wantUntrusted checks that nothing is opened, and that the error says what to do.
func wantUntrusted(t *testing.T, o Options, texts ...string) *UntrustedError {
	t.Helper()
	_, err := Open(o)
	wantUsage(t, err, texts...)
	var not *UntrustedError
	if !errors.As(err, &not) {
		t.Fatalf("got %v, want an *UntrustedError", err)
	}
	if _, err := Look(o); !errors.As(err, &not) {
		t.Errorf("Look: %v", err)
	}
	return not
}

// planted is a project that brings a config and plugins of its own.
func planted(t *testing.T) *world {
	return newWorld(t, at("pkg/plugins/evil", handmade("evil", answering(done), reads("evil_reads"))),
		at("pkg/dist/plugins/evil", handmade("evil", answering(done), reads("evil_reads"))),
		handmade("mine", answering(done), reads("mine_reads")),
		files{"pkg/.git/HEAD": "ref: x", "pkg/deep": "/", "pkg/bulkhead.toml": "[[plugins]]\npath = \"plugins/evil\"\n"})
}

func TestAPlantedConfigIsNotObeyed(t *testing.T) {
	for name, set := range map[string]func(w *world, o *Options){
		"in the working directory":             func(w *world, o *Options) { o.System.Dir = w.dir + "/pkg" },
		"in the repository around it":          func(w *world, o *Options) { o.System.Dir = w.dir + "/pkg/deep" },
		"in the project that is named":         func(w *world, o *Options) { o.Project = w.dir + "/pkg" },
		"in the project that a variable names": func(w *world, o *Options) { w.env["BULKHEAD_PROJECT"] = w.dir + "/pkg" },
		"beside plugins that are named":        func(w *world, o *Options) { o.System.Dir, o.PluginsDir = w.dir+"/pkg", w.dir+"/plugins" },
		"beside plugins that a variable names": func(w *world, o *Options) { o.System.Dir = w.dir + "/pkg"; w.env[envPlugins] = w.dir + "/plugins" },
		"for a plugin that is chosen by name":  func(w *world, o *Options) { o.System.Dir, o.Plugins = w.dir+"/pkg", []string{"mine"} },
		"in a directory that a link leads to":  func(w *world, o *Options) { o.System.Dir = w.dir + "/link" },
	} {
		t.Run(name, func(t *testing.T) {
			w := planted(t)
			if err := os.Symlink("pkg", w.dir+"/link"); err != nil {
				t.Fatal(err)
			}
			o := w.foundByItself()
			set(w, &o)
			file := w.dir + "/pkg/bulkhead.toml"
			wantUntrusted(t, o, file+" is not trusted, so no plugin is served", "`bulkhead trust "+file+"`", "--no-config")

			w.trust(t, "pkg/bulkhead.toml")
			o.Plugins = nil
			h := w.open(t, o)
			if got := h.Plugins(); len(got) != 1 || got[0].Name != "evil" {
				t.Errorf("once it is trusted: %+v", got)
			}
		})
	}
}

func TestTheConfigOfTheWorkingDirectoryIsTheOneThatCounts(t *testing.T) {
	w := planted(t)
	w.write(t, files{"pkg/deep/bulkhead.toml": "[[plugins]]\npath = \"../../plugins/mine\"\n"})
	w.trust(t, "pkg/bulkhead.toml")
	o := w.foundByItself()
	o.System.Dir = w.dir + "/pkg/deep"
	wantUntrusted(t, o, "/pkg/deep/bulkhead.toml is not trusted")
	w.trust(t, "pkg/deep/bulkhead.toml")
	if got := w.open(t, o).Plugins(); len(got) != 1 || got[0].Name != "mine" {
		t.Errorf("%+v", got)
	}
}

func TestWhatIsNamedNeedsNoTrust(t *testing.T) {
	for name, set := range map[string]func(w *world, o *Options){
		"a config":                 func(w *world, o *Options) { o.ConfigFile = "bulkhead.toml" },
		"plugins, and no config":   func(w *world, o *Options) { o.NoConfig, o.PluginsDir = true, "plugins" },
		"plugins by a variable":    func(w *world, o *Options) { o.NoConfig = true; w.env[envPlugins] = "plugins" },
		"the plugins found else":   func(w *world, o *Options) { o.NoConfig, o.PluginsDir = true, "dist/plugins" },
		"plugins beside a program": func(w *world, o *Options) { o.NoConfig, o.System.Executable = true, w.dir+"/pkg/dist/bulkhead" },
	} {
		t.Run(name, func(t *testing.T) {
			w := planted(t)
			o := w.foundByItself()
			o.System.Dir = w.dir + "/pkg"
			set(w, &o)
			if got := w.open(t, o).Plugins(); len(got) != 1 || got[0].Name != "evil" {
				t.Errorf("%+v", got)
			}
		})
	}
	w := planted(t)
	o := w.options()
	o.NoConfig, o.ConfigFile = true, "bulkhead.toml"
	_, err := Open(o)
	wantUsage(t, err, "--config and --no-config contradict")
}

func TestATrustedConfigThatChangesIsNotObeyed(t *testing.T) {
	w := planted(t)
	o := w.foundByItself()
	o.System.Dir = w.dir + "/pkg"
	w.trust(t, "pkg/bulkhead.toml")
	w.open(t, o)
	w.write(t, files{"pkg/bulkhead.toml": "[[plugins]]\npath = \"plugins/evil\"\nfs = []\n"})
	if not := wantUntrusted(t, o, "has changed since it was trusted on 20", "bulkhead trust "); not.Since.IsZero() {
		t.Errorf("%+v", not)
	}
	if _, err := trustStore(o.System).Remove(w.dir + "/pkg/bulkhead.toml"); err != nil {
		t.Fatal(err)
	}
	wantUntrusted(t, o, "is not trusted, so")
}

// TestTheConfigThatIsCheckedIsTheOneThatIsParsed: another process swaps the file as fast as it can between one
// that is trusted and one that is not; whatever Look sees was trusted.
func TestTheConfigThatIsCheckedIsTheOneThatIsParsed(t *testing.T) {
	w := planted(t)
	w.write(t, files{"pkg/good": "[[plugins]]\npath = \"../plugins/mine\"\n", "pkg/bad": "[[plugins]]\npath = \"plugins/evil\"\n"})
	file := w.dir + "/pkg/bulkhead.toml"
	swap := func(to string) error {
		if err := os.Link(w.dir+"/pkg/"+to, w.dir+"/pkg/new"); err != nil {
			return err
		}
		return os.Rename(w.dir+"/pkg/new", file)
	}
	if err := swap("good"); err != nil {
		t.Fatal(err)
	}
	w.trust(t, "pkg/bulkhead.toml")
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
	o := w.foundByItself()
	o.Log, o.System.Dir = nil, w.dir+"/pkg"
	seen := map[string]int{}
	for range 400 {
		v, err := Look(o)
		var not *UntrustedError
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
		t.Errorf("seen %v", seen)
	}
}

// TestALinkToATrustedConfigIsNotTrusted: paths in a config are relative to where it was found.
func TestALinkToATrustedConfigIsNotTrusted(t *testing.T) {
	w := planted(t)
	w.write(t, files{"work/bulkhead.toml": "[[plugins]]\npath = \"plugins/evil\"\n"})
	w.trust(t, "work/bulkhead.toml")
	if err := errors.Join(os.Remove(w.dir+"/pkg/bulkhead.toml"), os.Symlink("../work/bulkhead.toml", w.dir+"/pkg/bulkhead.toml")); err != nil {
		t.Fatal(err)
	}
	o := w.foundByItself()
	o.System.Dir = w.dir + "/pkg"
	wantUntrusted(t, o, "/pkg/bulkhead.toml is not trusted")
}

func TestAConfigThatCannotBeReadIsNotPassedOver(t *testing.T) {
	w := planted(t)
	if err := errors.Join(os.Remove(w.dir+"/pkg/bulkhead.toml"), os.Mkdir(w.dir+"/pkg/bulkhead.toml", 0o755)); err != nil {
		t.Fatal(err)
	}
	o := w.foundByItself()
	o.System.Dir, o.PluginsDir = w.dir+"/pkg", w.dir+"/plugins"
	wantUntrusted(t, o, "bulkhead.toml is not trusted (is not a regular file)")
}

func TestPluginsOfTheWorkingDirectoryNeedTrust(t *testing.T) {
	const digest = "sha256 = '0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a'\n"
	w := newWorld(t, at("work/dist/plugins/a", handmade("a", answering(done), digest+reads("a_reads"))))
	o := w.foundByItself()
	dir := w.dir + "/work/dist/plugins"
	wantUntrusted(t, o, dir+" is not trusted", "`bulkhead trust "+dir+"`", "--plugins")
	w.trust(t, "work/dist/plugins")
	w.open(t, o)
	for name, f := range map[string]files{
		"a manifest that changed": at("work/dist/plugins/a", handmade("a", nil, digest+reads("a_other"))),
		"another plugin":          at("work/dist/plugins/b", handmade("b", answering(done), digest+reads("b_reads"))),
	} {
		t.Run(name, func(t *testing.T) {
			w.trust(t, "work/dist/plugins")
			w.write(t, f)
			wantUntrusted(t, o, "has changed since it was trusted on 20")
		})
	}
	w.write(t, at("work/dist/plugins/b", handmade("b", answering(done), reads("b_reads"))))
	wantUntrusted(t, o, "/b/plugin.toml does not name the digest of its module")
}

func TestAStoreOfTrustThatOthersCanWriteTrustsNothing(t *testing.T) {
	w := planted(t)
	o := w.foundByItself()
	o.System.Dir = w.dir + "/pkg"
	w.trust(t, "pkg/bulkhead.toml")
	if err := os.Chmod(w.dir+"/state/bulkhead/.trust", 0o777); err != nil {
		t.Fatal(err)
	}
	wantUntrusted(t, o, "can be written by others", "chmod go-w "+w.dir+"/state/bulkhead/.trust")
}

func TestAServerThatServesNothingSaysWhy(t *testing.T) {
	w := planted(t)
	o := w.foundByItself()
	o.System.Dir, o.ServeNothing = w.dir+"/pkg", true
	h := w.open(t, o)
	if got := h.Plugins(); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	command := "bulkhead trust " + w.dir + "/pkg/bulkhead.toml"
	var started struct {
		Result struct{ Instructions string }
	}
	answered(t, h, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, &started)
	if !strings.Contains(started.Result.Instructions, command) {
		t.Errorf("instructions: %q", started.Result.Instructions)
	}
	var listed struct {
		Result struct{ Tools []json.RawMessage }
	}
	if answered(t, h, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, &listed); listed.Result.Tools == nil || len(listed.Result.Tools) > 0 {
		t.Errorf("tools: %s", listed.Result.Tools)
	}
	var out bytes.Buffer
	if err := h.Serve(t.Context(), strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"evil_reads"}}`+"\n"), &out); err != nil || !strings.Contains(out.String(), command) {
		t.Errorf("call: %s, %v", out.String(), err)
	}
	if !strings.Contains(w.log.String(), command) {
		t.Errorf("log: %s", w.log.String())
	}
}

func TestTheCommandThatTrustsAPathCanBeTyped(t *testing.T) {
	for path, want := range map[string]string{
		"/p/bulkhead.toml": "`bulkhead trust /p/bulkhead.toml`",
		"/ü 日/$(x)'s":      `bulkhead trust '/ü 日/$(x)'\''s'`,
		"/p\x1b[2J\n/x":    "\"/p\\x1b[2J\\n/x\" is not trusted, so no plugin is served: review it with `bulkhead trust`,",
		"/p\u202e/x":       "with `bulkhead trust`,",
		"/p\ufe0f/x":       "\"/p\\ufe0f/x\" is not trusted",
		"/\xff":            "with `bulkhead trust`,",
	} {
		if got := (&UntrustedError{Path: path}).Error(); !strings.Contains(got, want) || strings.ContainsAny(got, "\x1b\n\u202e") {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
