package host

import (
	"crypto/sha256"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// at puts a plugin's folder at another path.
func at(folder string, f files) files {
	moved := files{}
	for name, content := range f {
		_, file, _ := strings.Cut(strings.TrimPrefix(name, "plugins/"), "/")
		moved[folder+"/"+file] = content
	}
	return moved
}

// names discovers the plugins and gives their names.
func names(w *world, o Options) ([]string, error) {
	places, err := findPlaces(o)
	if err != nil {
		return nil, err
	}
	all, err := discover(o, places)
	if err == nil && all.untrusted != nil {
		err = all.untrusted
	}
	var names []string
	for _, c := range all.plugins {
		names = append(names, c.name())
	}
	return names, err
}

func TestPluginsComeFrom(t *testing.T) {
	const folder, beside, dist = "plugins", "bin/plugins", "work/dist/plugins"
	built := func(folder, name string) files {
		digest := fmt.Sprintf("sha256 = \"%x\"\n", sha256.Sum256(answering(done)))
		return at(folder+"/"+name, handmade(name, answering(done), digest+reads("t")))
	}
	source := func(folder, name string) files { return at(folder+"/"+name, handmade(name, nil, reads("t"))) }
	config := func(file, path string) files { return files{file: "[[plugins]]\npath = \"" + path + "\"\n"} }
	everywhere := []files{
		built("c", "configured"), built("f", "flagged"), built("v", "variable"), built(beside, "beside"), built(dist, "dist"),
		config("work/bulkhead.toml", "../c/configured"), config("team/bulkhead.toml", "../c/configured"),
	}
	without := func(names ...string) []files {
		out := slices.Clone(everywhere)
		for i, f := range out {
			out[i] = files{}
			for name, content := range f {
				if !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(name, n) }) {
					out[i][name] = content
				}
			}
		}
		return out
	}
	for name, c := range map[string]struct {
		there            []files
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
		"./dist/plugins where beside the program is none":     {there: append(without("work/bulkhead.toml", beside), files{beside + "/README": ""}), want: "dist"},
		"a folder that is named, with sources in it":          {there: append(without("work/bulkhead.toml"), source("s", "source")), dir: "../s", want: "source"},
		"a folder that is itself a plugin's":                  {there: without("work/bulkhead.toml"), dir: "../f/flagged", want: "flagged"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.there...)
			w.env["BULKHEAD_PLUGINS"] = c.env
			o := w.options()
			o.ConfigFile, o.PluginsDir = c.config, c.dir
			for _, found := range []string{"work/bulkhead.toml", "work/dist/plugins"} {
				if _, err := os.Stat(w.dir + "/" + found); err == nil {
					w.trust(t, found)
				}
			}
			got, err := names(w, o)
			if err != nil {
				t.Fatal(err)
			}
			wantEqual(t, got, []string{c.want})
			if warned := strings.Contains(w.log.String(), "the plugins folder is not used"); warned != (c.want == "configured" && c.dir != "") {
				t.Errorf("logged %q", w.log.String())
			}
		})
	}
}

func TestNoPluginsIsAnErrorThatSays(t *testing.T) {
	for name, c := range map[string]struct {
		there            files
		config, dir, env string
		want             []string
	}{
		"where it looked and what to run": {want: []string{"no bulkhead.toml is in $W/work", "--plugins", "$BULKHEAD_PLUGINS",
			"$W/bin/plugins: there is no such folder", "$W/work/dist/plugins: there is no such folder", "`bulkhead plugin build DIR`"}},
		"what is in the usual places": {there: files{"bin/plugins/x/plugin.toml": "", "work/dist/plugins/README": ""},
			want: []string{"$W/bin/plugins: no plugin in it is built", "$W/work/dist/plugins: no plugin is in it"}},
		"that --plugins names nothing":        {dir: "../nowhere", want: []string{"--plugins: $W/nowhere: there is no such folder"}},
		"that the variable names nothing":     {env: "../nowhere", want: []string{"$BULKHEAD_PLUGINS: $W/nowhere: there is no such folder"}},
		"that --plugins names a file":         {there: files{"file": ""}, dir: "../file", want: []string{"--plugins: $W/file: not a directory"}},
		"how to fill a folder that is empty":  {there: files{"empty": "/"}, dir: "../empty", want: []string{"--plugins: no plugin is in $W/empty", "plugin.toml", "-o ../empty`"}},
		"that the config is not there":        {config: "no.toml", want: []string{"$W/work/no.toml: there is no such file", "--config"}},
		"that the config names no plugin":     {there: files{"work/bulkhead.toml": ""}, want: []string{"$W/work/bulkhead.toml names no plugin", "[[plugins]]"}},
		"each fault of the config, with line": {there: files{"work/bulkhead.toml": "[[plugins]]\npath = ''\nfoo = 1\n"}, want: []string{"$W/work/bulkhead.toml:2: plugins[0].path: ", "$W/work/bulkhead.toml:3: plugins[0].foo: "}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.there)
			w.env["BULKHEAD_PLUGINS"] = c.env
			o := w.options()
			if o.PluginsDir = c.dir; c.config != "" {
				o.ConfigFile = c.config
			}
			_, err := names(w, o)
			for _, want := range c.want {
				wantUsage(t, err, strings.ReplaceAll(want, "$W", w.dir))
			}
		})
	}
}

func TestPluginsInAFolderAre(t *testing.T) {
	built := func(name string) files { return handmade(name, answering(done), reads(name)) }
	for name, c := range map[string]struct {
		there []files
		want  []string
	}{
		"in the order of their folders":        {[]files{built("c"), built("a"), built("b")}, []string{"a", "b", "c"}},
		"not those that begin with a dot":      {[]files{built("a"), at("plugins/.a.new", built("z"))}, []string{"a"}},
		"not files, nor folders without one":   {[]files{built("a"), {"plugins/notes.txt": "", "plugins/b/c/plugin.toml": ""}}, []string{"a"}},
		"called as their manifests say":        {[]files{at("plugins/folder", built("a"))}, []string{"a"}},
		"called as their folders without that": {[]files{built("a"), {"plugins/broken/plugin.toml": "manifest = "}}, []string{"a", "broken"}},
		"there with a manifest full of faults": {[]files{built("a"), {"plugins/b/plugin.toml": "what = 1"}}, []string{"a", "b"}},
		"all of many, which are read in no order": {func() (all []files) {
			for _, r := range "zyxwvutsrqponmlkjihgfedcba" {
				all = append(all, built(string(r)))
			}
			return all
		}(), strings.Split("abcdefghijklmnopqrstuvwxyz", "")},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.there...)
			got, err := names(w, w.options())
			if err != nil {
				t.Fatal(err)
			}
			wantEqual(t, got, c.want)
		})
	}
}

func TestALinkedPluginFolderCounts(t *testing.T) {
	w := newWorld(t, handmade("a", answering(done), reads("a")), files{"some": "/"})
	if err := os.Symlink("../plugins/a", w.dir+"/some/a"); err != nil {
		t.Fatal(err)
	}
	o := w.options()
	o.PluginsDir = w.dir + "/some"
	got, err := names(w, o)
	if err != nil {
		t.Fatal(err)
	}
	wantEqual(t, got, []string{"a"})
}

func TestTwoPluginsOfOneNameAreRefused(t *testing.T) {
	w := newWorld(t, at("plugins/one", handmade("same", nil, "")), at("plugins/two", handmade("same", nil, "")))
	_, err := names(w, w.options())
	wantUsage(t, err, `two plugins are called "same"`, w.dir+"/plugins/one", w.dir+"/plugins/two", "take one of them out")
}

func TestPluginsAreChosenByName(t *testing.T) {
	w := newWorld(t, handmade("a", nil, ""), handmade("b", nil, ""), handmade("c", nil, ""))
	o := w.options()
	for name, c := range map[string]struct{ chosen, want []string }{
		"one":                                   {[]string{"b"}, []string{"b"}},
		"several, in the order they were found": {[]string{"c", "a"}, []string{"a", "c"}},
		"one that is named twice":               {[]string{"a", "a"}, []string{"a"}},
		"all, if none is named":                 {nil, []string{"a", "b", "c"}},
	} {
		t.Run(name, func(t *testing.T) {
			o.Plugins = c.chosen
			got, err := names(w, o)
			if err != nil {
				t.Fatal(err)
			}
			wantEqual(t, got, c.want)
		})
	}
	t.Run("one that is not there", func(t *testing.T) {
		o.Plugins = []string{"a", "d"}
		_, err := names(w, o)
		wantUsage(t, err, `there is no plugin "d": there are a, b, c`)
	})
}
