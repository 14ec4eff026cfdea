package discovery_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

// names returns the names of the plugins that discovery.Find returns.
func names(o discovery.Options) ([]string, error) {
	found, err := discovery.Find(o)
	if err != nil {
		return nil, err
	}
	if found.Untrusted != nil {
		return nil, found.Untrusted
	}
	var names []string
	for _, c := range found.Candidates {
		names = append(names, c.Name())
	}
	return names, nil
}

func TestPluginsComeFrom(t *testing.T) {
	const folder, beside, dist = "plugins", "bin/plugins", "work/dist/plugins"
	built := func(folder, name string) hosttest.Files {
		digest := fmt.Sprintf("sha256 = \"%x\"\n", sha256.Sum256(wasmtest.Answering(hosttest.Done)))
		return hosttest.At(folder+"/"+name, hosttest.Plugin(name, wasmtest.Answering(hosttest.Done), digest+hosttest.Reads("t")))
	}
	source := func(folder, name string) hosttest.Files {
		return hosttest.At(folder+"/"+name, hosttest.Plugin(name, nil, hosttest.Reads("t")))
	}
	config := func(file, path string) hosttest.Files {
		return hosttest.Files{file: "[[plugins]]\npath = \"" + path + "\"\n"}
	}
	everywhere := []hosttest.Files{
		built("c", "configured"), built("f", "flagged"), built("v", "variable"), built(beside, "beside"), built(dist, "dist"),
		config("work/bulkhead.toml", "../c/configured"), config("team/bulkhead.toml", "../c/configured"),
	}
	without := func(names ...string) []hosttest.Files {
		out := slices.Clone(everywhere)
		for i, f := range out {
			out[i] = hosttest.Files{}
			for name, content := range f {
				if !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(name, n) }) {
					out[i][name] = content
				}
			}
		}
		return out
	}
	for name, c := range map[string]struct {
		there            []hosttest.Files
		config, dir, env string
		want             string
	}{
		"the config that is named":                            {there: without("work/bulkhead.toml"), config: "../team/bulkhead.toml", dir: "../f", env: "../v", want: "configured"},
		"the config in the working directory":                 {there: everywhere, dir: "../f", env: "../v", want: "configured"},
		"--plugins where there is no config":                  {there: without("work/bulkhead.toml"), dir: "../f", env: "../v", want: "flagged"},
		"$BULKHEAD_PLUGINS without --plugins":                 {there: without("work/bulkhead.toml"), env: "../v", want: "variable"},
		"plugins/ beside the program without either":          {there: without("work/bulkhead.toml"), want: "beside"},
		"./dist/plugins last":                                 {there: without("work/bulkhead.toml", beside), want: "dist"},
		"./dist/plugins where beside the program are sources": {there: append(without("work/bulkhead.toml", beside), source(beside, "source")), want: "dist"},
		"./dist/plugins where beside the program is none":     {there: append(without("work/bulkhead.toml", beside), hosttest.Files{beside + "/README": ""}), want: "dist"},
		"a folder that is named, with sources in it":          {there: append(without("work/bulkhead.toml"), source("s", "source")), dir: "../s", want: "source"},
		"a folder that is itself a plugin's":                  {there: without("work/bulkhead.toml"), dir: "../f/flagged", want: "flagged"},
	} {
		t.Run(name, func(t *testing.T) {
			w := hosttest.New(t, c.there...)
			w.Env["BULKHEAD_PLUGINS"] = c.env
			o := w.Options()
			o.ConfigFile, o.PluginsDir = c.config, c.dir
			for _, found := range []string{"work/bulkhead.toml", "work/dist/plugins"} {
				if _, err := os.Stat(w.Dir + "/" + found); err == nil {
					w.Trust(t, found)
				}
			}
			got, err := names(o)
			if err != nil {
				t.Fatal(err)
			}
			hosttest.WantEqual(t, got, []string{c.want})
			if warned := strings.Contains(w.Log.String(), "the directory of plugins is not used: the config lists the plugins; --no-config leaves it out"); warned != (c.want == "configured" && c.dir != "") {
				t.Errorf("the log warns of an unused directory of plugins where it should not, or does not where it should: %q", w.Log.String())
			}
		})
	}
}

func TestErrorWithoutPluginsReports(t *testing.T) {
	for name, c := range map[string]struct {
		there            hosttest.Files
		config, dir, env string
		want             []string
	}{
		"where it looked and what to run": {want: []string{"no bulkhead.toml is in $W/work", "--plugins", "$BULKHEAD_PLUGINS",
			"$W/bin/plugins: there is no such directory", "$W/work/dist/plugins: there is no such directory",
			"unpack a release archive", "`bulkhead plugin build -o $W/bin/plugins plugins/*`", "--plugins DIR"}},
		"what is in the usual places": {there: hosttest.Files{"bin/plugins/x/plugin.toml": "", "work/dist/plugins/README": ""},
			want: []string{"$W/bin/plugins: no plugin in it is built", "$W/work/dist/plugins: no plugin is in it"}},
		"that --plugins names nothing":        {dir: "../nowhere", want: []string{"--plugins: $W/nowhere: there is no such directory"}},
		"that the variable names nothing":     {env: "../nowhere", want: []string{"$BULKHEAD_PLUGINS: $W/nowhere: there is no such directory"}},
		"that --plugins names a file":         {there: hosttest.Files{"file": ""}, dir: "../file", want: []string{"--plugins: $W/file: not a directory"}},
		"how to fill a folder that is empty":  {there: hosttest.Files{"empty": "/"}, dir: "../empty", want: []string{"--plugins: no plugin is in $W/empty", "plugin.toml", "-o ../empty`"}},
		"that the config is not there":        {config: "no.toml", want: []string{"$W/work/no.toml: there is no such file", "--config"}},
		"that the config names no plugin":     {there: hosttest.Files{"work/bulkhead.toml": ""}, want: []string{"$W/work/bulkhead.toml: plugins: the config names no plugin", "[[plugins]]"}},
		"each fault of the config, with line": {there: hosttest.Files{"work/bulkhead.toml": "[[plugins]]\npath = ''\nfoo = 1\n"}, want: []string{"$W/work/bulkhead.toml:2: plugins[0].path: ", "$W/work/bulkhead.toml:3: plugins[0].foo: "}},
	} {
		t.Run(name, func(t *testing.T) {
			w := hosttest.New(t, c.there)
			w.Env["BULKHEAD_PLUGINS"] = c.env
			o := w.Options()
			if o.PluginsDir = c.dir; c.config != "" {
				o.ConfigFile = c.config
			}
			_, err := names(o)
			for _, want := range c.want {
				hosttest.WantUsage(t, err, strings.ReplaceAll(want, "$W", w.Dir))
			}
		})
	}
}

func TestServerWithoutAnyPluginTellsHowToGetThem(t *testing.T) {
	w := hosttest.New(t, hosttest.Files{"work": "/"})
	o := w.Options()
	o.PluginsDir, o.ServeNothing = "", true
	h := w.Open(t, o)
	var started struct {
		Result struct{ Instructions string }
	}
	hosttest.Decode(t, h, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, &started)
	command := "bulkhead plugin build -o " + w.Dir + "/bin/plugins"
	if !strings.Contains(started.Result.Instructions, command) {
		t.Errorf("the instructions do not contain the command that builds plugins: %q", started.Result.Instructions)
	}
	if got := hosttest.Call(t, h, "any_tool", "").Error.Message; !strings.Contains(got, command) {
		t.Errorf("the answer to a call does not contain the command that builds plugins: %q", got)
	}
	if !strings.Contains(w.Log.String(), command) {
		t.Errorf("the log does not contain the command that builds plugins: %s", w.Log.String())
	}
}

func TestPluginsAreFoundBesideTheProgramThatALinkNames(t *testing.T) {
	w := hosttest.New(t, hosttest.At("opt/plugins/a", hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), hosttest.Reads("a_reads"))),
		hosttest.Files{"opt/bulkhead": "", "bin": "/"})
	o := w.Options()
	o.PluginsDir, o.System.Executable = "", w.Dir+"/bin/bulkhead"
	if err := os.Symlink("../opt/bulkhead", o.System.Executable); err != nil {
		t.Fatal(err)
	}
	got, err := names(o)
	if err != nil {
		t.Fatal(err)
	}
	hosttest.WantEqual(t, got, []string{"a"})
}

func TestPluginsInDirectoryAre(t *testing.T) {
	built := func(name string) hosttest.Files {
		return hosttest.Plugin(name, wasmtest.Answering(hosttest.Done), hosttest.Reads(name))
	}
	for name, c := range map[string]struct {
		there []hosttest.Files
		want  []string
	}{
		"in the order of their folders":        {[]hosttest.Files{built("c"), built("a"), built("b")}, []string{"a", "b", "c"}},
		"not those that begin with a dot":      {[]hosttest.Files{built("a"), hosttest.At("plugins/.a.new", built("z"))}, []string{"a"}},
		"not files, nor folders without one":   {[]hosttest.Files{built("a"), {"plugins/notes.txt": "", "plugins/b/c/plugin.toml": ""}}, []string{"a"}},
		"called as their manifests say":        {[]hosttest.Files{hosttest.At("plugins/folder", built("a"))}, []string{"a"}},
		"called as their folders without that": {[]hosttest.Files{built("a"), {"plugins/broken/plugin.toml": "manifest = "}}, []string{"a", "broken"}},
		"there with a manifest full of faults": {[]hosttest.Files{built("a"), {"plugins/b/plugin.toml": "what = 1"}}, []string{"a", "b"}},
		"all of many, which are read in no order": {func() (all []hosttest.Files) {
			for _, r := range "zyxwvutsrqponmlkjihgfedcba" {
				all = append(all, built(string(r)))
			}
			return all
		}(), strings.Split("abcdefghijklmnopqrstuvwxyz", "")},
	} {
		t.Run(name, func(t *testing.T) {
			w := hosttest.New(t, c.there...)
			got, err := names(w.Options())
			if err != nil {
				t.Fatal(err)
			}
			hosttest.WantEqual(t, got, c.want)
		})
	}
}

func TestLinkedPluginDirectoryIsFound(t *testing.T) {
	w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering(hosttest.Done), hosttest.Reads("a")), hosttest.Files{"some": "/"})
	if err := os.Symlink("../plugins/a", w.Dir+"/some/a"); err != nil {
		t.Fatal(err)
	}
	o := w.Options()
	o.PluginsDir = w.Dir + "/some"
	got, err := names(o)
	if err != nil {
		t.Fatal(err)
	}
	hosttest.WantEqual(t, got, []string{"a"})
}

func TestPluginsAreChosenByName(t *testing.T) {
	w := hosttest.New(t, hosttest.Plugin("a", nil, ""), hosttest.Plugin("b", nil, ""), hosttest.Plugin("c", nil, ""))
	o := w.Options()
	for name, c := range map[string]struct{ chosen, want []string }{
		"one":                                   {[]string{"b"}, []string{"b"}},
		"several, in the order they were found": {[]string{"c", "a"}, []string{"a", "c"}},
		"one that is named twice":               {[]string{"a", "a"}, []string{"a"}},
		"all, if none is named":                 {nil, []string{"a", "b", "c"}},
	} {
		t.Run(name, func(t *testing.T) {
			o.Plugins = c.chosen
			got, err := names(o)
			if err != nil {
				t.Fatal(err)
			}
			hosttest.WantEqual(t, got, c.want)
		})
	}
	t.Run("one that is not there", func(t *testing.T) {
		o.Plugins = []string{"a", "d"}
		_, err := names(o)
		hosttest.WantUsage(t, err, `there is no plugin "d": the plugins are a, b, c`)
	})
}

func TestWrongPathNamesTheLineOfTheConfig(t *testing.T) {
	w := hosttest.New(t, hosttest.Files{
		"plugins/file": "", "plugins/empty/x": "",
		"work/bulkhead.toml": "[[plugins]]\npath = '../plugins/none'\n[[plugins]]\npath = '../plugins/empty'\n[[plugins]]\npath = '../plugins/file'\n",
	})
	found, err := discovery.Find(w.Options())
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"there is no directory " + w.Dir + "/plugins/none", w.Dir + "/plugins/empty contains no plugin.toml", w.Dir + "/plugins/file is not a directory"} {
		want = fmt.Sprintf("%s/work/bulkhead.toml:%d: plugins[%d].path: %s\n  remedy: write the path of a built plugin", w.Dir, 2+2*i, i, want)
		if got := found.Candidates[i].Problems.Error(); !strings.HasPrefix(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestPluginOfConfigByNameIsTheInstalledOne(t *testing.T) {
	w := hosttest.New(t, hosttest.At("bin/plugins/a", hosttest.Plugin("a", nil, hosttest.Reads("beside"))),
		hosttest.At("mine/a", hosttest.Plugin("a", nil, hosttest.Reads("mine"))), hosttest.At("work/dist/plugins/a", hosttest.Plugin("a", nil, hosttest.Reads("planted"))),
		hosttest.At("work/a", hosttest.Plugin("a", nil, hosttest.Reads("planted"))), hosttest.At("mine/other", hosttest.Plugin("b", nil, hosttest.Reads("b"))),
		hosttest.Files{"work/bulkhead.toml": "[[plugins]]\nname = 'a'\n", "work/other.toml": "[[plugins]]\nname = 'other'\n", "work/none.toml": "[[plugins]]\nname = 'none'\n"})
	o := w.Options()
	o.System.Executable, o.PluginsDir = w.Dir+"/bin/bulkhead", ""
	tool := func(o discovery.Options) string {
		t.Helper()
		found, err := discovery.Find(o)
		if err != nil {
			t.Fatal(err)
		}
		if c := found.Candidates[0]; c.Problems.Err() != nil {
			return c.Problems.Error()
		}
		return found.Candidates[0].Manifest.Tools[0].Name
	}
	if got := tool(o); got != "beside" {
		t.Errorf("by default: %s", got)
	}
	w.Env["BULKHEAD_PLUGINS"] = w.Dir + "/mine"
	if got := tool(o); got != "mine" {
		t.Errorf("by variable: %s", got)
	}
	w.Env["BULKHEAD_PLUGINS"] = w.Dir + "/nowhere"
	o.PluginsDir = "../mine"
	if got := tool(o); got != "mine" {
		t.Errorf("by option: %s", got)
	}
	o.PluginsDir = "../mine/a"
	if got := tool(o); got != "mine" {
		t.Errorf("option that names the plugin itself: %s", got)
	}
	for file, want := range map[string]string{
		"other.toml": ":2: plugins[0].name: " + w.Dir + "/mine/other is plugin \"b\"",
		"none.toml":  ":2: plugins[0].name: the plugin is not installed: " + w.Dir + "/mine/none contains no plugin.toml\n  remedy: install it there, or name the directory of your plugins with --plugins DIR or $BULKHEAD_PLUGINS",
	} {
		o.ConfigFile, o.PluginsDir = file, "../mine"
		if got := tool(o); !strings.HasSuffix(got, want) && !strings.Contains(got, want+"\n") {
			t.Errorf("%s: got %s, want %s", file, got, want)
		}
	}
}
