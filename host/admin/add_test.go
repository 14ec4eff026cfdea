package admin_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/host/admin"
	"github.com/bulkhead-mcp/bulkhead/host/review"
)

// commented is a config as people write them.
const commented = `# our tools

[server]      # who we are
name = "team"

[defaults]
deny = [
    "**/.env",   # secrets
]

# the first
[[plugins]] # see the wiki
path = "../plugins/first"   # built weekly
limits = { time = "5s" }

# the end
`

func TestAddingAndRemovingLeavesTheRestAsItWas(t *testing.T) {
	w := newWorld(t)
	w.plugin(t, "first", "")
	dir := w.plugin(t, "second", "[capabilities]\nfs = [{ path = \"${project}\", access = \"rw\" }]\n")
	w.config(t, commented)
	if err := os.Chmod(w.path("work/bulkhead.toml"), 0o640); err != nil {
		t.Fatal(err)
	}
	p, err := admin.Propose(w.options(), admin.Addition{Dir: dir, Choice: review.Choice{ReadOnly: true, AllowTools: []string{"second_*"}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.read(t, "work/bulkhead.toml"); got != commented {
		t.Errorf("a proposal changed the config: %s", got)
	}
	if err := p.Write(); err != nil {
		t.Fatal(err)
	}
	want := commented + "\n[[plugins]]\npath = \"" + dir + "\"\nsha256 = \"" + p.Plugin.Digest + "\"\nallow_tools = [\"second_*\"]\nread_only = true\n" +
		"fs = [{ path = \"${project}\", access = \"r\" }]\nhttp = []\ngit = []\n"
	if diff := cmp.Diff(want, w.read(t, "work/bulkhead.toml")); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Stat(w.path("work/bulkhead.toml")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if why := p.Plugin.Tools[1].WhyNot; !strings.Contains(why, "read_only") {
		t.Errorf("the tool that writes: %q", why)
	}
	gone, err := admin.Remove(w.options(), "second")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(commented, w.read(t, "work/bulkhead.toml")); diff != "" {
		t.Error(diff)
	}
	if gone.Dir != dir || gone.Left != 1 || gone.State != w.path("state/bulkhead/second") {
		t.Errorf("%+v", gone)
	}
	left, err := os.ReadDir(w.path("work"))
	if err != nil || len(left) != 1 {
		t.Errorf("left in the folder: %v, %v", left, err)
	}
}

func TestAddingMakesTheConfig(t *testing.T) {
	w := newWorld(t)
	w.plugin(t, "first", "")
	p, err := admin.Propose(w.options(), admin.Addition{Dir: "../plugins/first"})
	if err != nil {
		t.Fatal(err)
	}
	if !p.Creates {
		t.Error("it does not say that it makes the config")
	}
	if err := p.Write(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(w.path("work/bulkhead.toml")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

func TestAPluginBelowTheConfigIsNamedFromThere(t *testing.T) {
	w := newWorld(t)
	dir := w.plugin(t, "first", "")
	o := w.options()
	o.ConfigFile = "../all.toml"
	p, err := admin.Propose(o, admin.Addition{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(p.Table, "path = \"plugins/first\"\n") {
		t.Error(p.Table)
	}
}

func TestALinkToAConfigStaysOne(t *testing.T) {
	w := newWorld(t)
	w.plugin(t, "first", "")
	w.write(t, "etc/real.toml", "# real\n")
	if err := os.Symlink("../etc/real.toml", w.path("work/bulkhead.toml")); err != nil {
		t.Fatal(err)
	}
	p, err := admin.Propose(w.options(), admin.Addition{Dir: "../plugins/first"})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Write(); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(w.path("work/bulkhead.toml")); err != nil || to != "../etc/real.toml" {
		t.Errorf("%s, %v", to, err)
	}
	if !strings.HasPrefix(w.read(t, "etc/real.toml"), "# real\n\n[[plugins]]\n") {
		t.Error(w.read(t, "etc/real.toml"))
	}
}

func TestAConfigThatChangedMeanwhileIsNotOverwritten(t *testing.T) {
	w := newWorld(t)
	w.plugin(t, "first", "")
	p, err := admin.Propose(w.options(), admin.Addition{Dir: "../plugins/first"})
	if err != nil {
		t.Fatal(err)
	}
	w.config(t, "# somebody else's\n")
	wantUsage(t, p.Write(), "was changed in the meantime")
	if got := w.read(t, "work/bulkhead.toml"); got != "# somebody else's\n" {
		t.Error(got)
	}
}

func TestAddRefuses(t *testing.T) {
	first := "[[plugins]]\npath = \"../plugins/first\"\n"
	for name, c := range map[string]struct {
		config string
		add    admin.Addition
		before func(t *testing.T, w *world)
		want   []string
	}{
		"a folder that is there":    {config: first, add: admin.Addition{Dir: "../plugins/first"}, want: []string{`plugin "first" is in `, "pass --repin"}},
		"the same folder by a link": {config: first, add: admin.Addition{Dir: "../link"}, want: []string{`plugin "first" is in `}, before: func(t *testing.T, w *world) { symlink(t, w, "plugins/first", "link") }},
		"a name that is taken":      {config: first, add: admin.Addition{Dir: "../plugins/copy"}, want: []string{`a plugin named "first" is in `, "remove that one first"}, before: func(t *testing.T, w *world) { copyPlugin(t, w, "first", "copy") }},
		"a tool that is taken":      {config: first, add: admin.Addition{Dir: "../plugins/other"}, want: []string{`both offer the tool first_read`, "--prefix"}, before: clashing},
		"a prompt that is taken": {config: first, add: admin.Addition{Dir: "../plugins/second"}, want: []string{`both claim the prompt "p"`, "deny_prompts"}, before: func(t *testing.T, w *world) {
			w.plugin(t, "first", "[offers]\nprompts = [\"p\"]\n")
			w.plugin(t, "second", "[offers]\nprompts = [\"p\"]\n")
		}},
		"resources that are taken": {config: first, add: admin.Addition{Dir: "../plugins/second"}, want: []string{"claim resources that meet"}, before: func(t *testing.T, w *world) {
			w.plugin(t, "first", "[offers]\nresources = [\"a://\"]\n")
			w.plugin(t, "second", "[offers]\nresources = [\"a://b/\"]\n")
		}},
		"a folder without a manifest": {add: admin.Addition{Dir: "../plugins"}, want: []string{"plugins/plugin.toml: there is no such file"}},
		"a manifest with faults": {add: admin.Addition{Dir: "../plugins/first"}, want: []string{"plugin.toml:20: tools[2].access: "},
			before: func(t *testing.T, w *world) {
				w.plugin(t, "first", "[[tools]]\nname = \"x\"\ndescription = \"x\"\naccess = \"all\"\n")
			}},
		"a schema that is none": {add: admin.Addition{Dir: "../plugins/first"}, want: []string{"tools[2].input: schema is not valid"},
			before: func(t *testing.T, w *world) {
				w.plugin(t, "first", "[[tools]]\nname = \"x\"\ndescription = \"x\"\naccess = \"read\"\ninput_json = '{\"type\":\"object\",\"required\":3}'\n")
			}},
		"a module that is not there": {add: admin.Addition{Dir: "../plugins/first"}, want: []string{"there is no module at ", "bulkhead plugin build"},
			before: func(t *testing.T, w *world) { remove(t, w, "plugins/first/it.wasm") }},
		"a module that is another": {add: admin.Addition{Dir: "../plugins/first"}, want: []string{"it.wasm has the SHA-256 ", "was built for "},
			before: func(t *testing.T, w *world) { w.write(t, "plugins/first/it.wasm", "another") }},
		"a module that is a folder": {add: admin.Addition{Dir: "../plugins/first"}, want: []string{"it.wasm is not a regular file"},
			before: func(t *testing.T, w *world) {
				remove(t, w, "plugins/first/it.wasm")
				w.write(t, "plugins/first/it.wasm/x", "")
			}},
		"a module that nothing pins": {add: admin.Addition{Dir: "../plugins/first"}, want: []string{"does not have the module's SHA-256"},
			before: func(t *testing.T, w *world) {
				text := w.read(t, "plugins/first/plugin.toml")
				start := strings.Index(text, "sha256")
				w.write(t, "plugins/first/plugin.toml", text[:start]+text[start+strings.Index(text[start:], "\n"):])
			}},
		"a config with faults":     {config: "[sever]\n" + first, add: admin.Addition{Dir: "../plugins/second"}, want: []string{"bulkhead.toml:1: sever: is not a known key"}},
		"a config that is no TOML": {config: "= 1", add: admin.Addition{Dir: "../plugins/second"}, want: []string{"bulkhead.toml:1: is not TOML"}},
		"plugins written inline":   {config: "plugins = [{ path = \"../plugins/first\" }]\n", add: admin.Addition{Dir: "../plugins/second"}, want: []string{"is not written as [[plugins]] tables"}},
		"a pattern that is none":   {add: admin.Addition{Dir: "../plugins/first", Choice: review.Choice{AllowTools: []string{"["}}}, want: []string{`--allow-tool "[": is not a pattern`}},
		"a tool that is not there": {add: admin.Addition{Dir: "../plugins/first", Choice: review.Choice{AllowTools: []string{"first_*", "firts_read"}}},
			want: []string{`--allow-tool "firts_read": first has no such tool; its tools are first_read, first_write`}},
		"a variable that is not asked for": {add: admin.Addition{Dir: "../plugins/first", Choice: review.Choice{Env: []string{"TOKEN"}}}, want: []string{`--env TOKEN: first does not ask for it`}},
		"a variable that is not set": {add: admin.Addition{Dir: "../plugins/first", Choice: review.Choice{Env: []string{"TOKEN"}}}, want: []string{`--env TOKEN: is not set here`},
			before: func(t *testing.T, w *world) { w.plugin(t, "first", "[capabilities]\nenv = [\"TOKEN\"]\n") }},
		"two words that contradict":          {add: admin.Addition{Dir: "../plugins/first", Choice: review.Choice{ReadOnly: true, AllowWrite: true}}, want: []string{"--read-only and --allow-write"}},
		"a prefix that is none":              {add: admin.Addition{Dir: "../plugins/first", Choice: review.Choice{Prefix: "no such"}}, want: []string{"prefix"}},
		"to pin again what is not there":     {add: admin.Addition{Dir: "../plugins/first", Repin: true}, want: []string{"cannot be pinned again"}},
		"a config in a folder that is none":  {add: admin.Addition{Dir: "../plugins/first"}, want: []string{"link to nothing"}, before: func(t *testing.T, w *world) { symlink(t, w, "none", "work/bulkhead.toml") }},
		"a variable in the path of a plugin": {config: "[[plugins]]\npath = \"${env:NONE}/x\"\n", add: admin.Addition{Dir: "../plugins/first"}, want: []string{"the variable NONE is not set"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.plugin(t, "first", "")
			w.plugin(t, "second", "")
			if c.config != "" {
				w.config(t, c.config)
			}
			if c.before != nil {
				c.before(t, w)
			}
			_, err := admin.Propose(w.options(), c.add)
			wantUsage(t, err, c.want...)
		})
	}
}

func TestPinningAgainChangesTheDigestAlone(t *testing.T) {
	w := newWorld(t)
	w.plugin(t, "first", "")
	w.config(t, commented)
	for _, more := range []string{"", "[offers]\nlogging = true\n"} {
		w.plugin(t, "first", more)
		p, err := admin.Propose(w.options(), admin.Addition{Dir: "../plugins/first", Repin: true})
		if err != nil {
			t.Fatal(err)
		}
		if p.Table != "" {
			t.Error(p.Table)
		}
		if err := p.Write(); err != nil {
			t.Fatal(err)
		}
		want := strings.Replace(commented, "# built weekly\n", "# built weekly\nsha256 = \""+p.Plugin.Digest+"\"\n", 1)
		if diff := cmp.Diff(want, w.read(t, "work/bulkhead.toml")); diff != "" {
			t.Error(diff)
		}
	}
}

func TestPinningAgainGrantsNothingNew(t *testing.T) {
	w := newWorld(t)
	w.plugin(t, "first", "")
	for _, a := range []admin.Addition{{Dir: "../plugins/first"}, {Dir: "../plugins/first", Repin: true}} {
		p, err := admin.Propose(w.options(), a)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Write(); err != nil {
			t.Fatal(err)
		}
		w.plugin(t, "first", askedFor+"git = [{ repo = \"${project}\", access = \"r\" }]\n")
	}
	view, err := host.Look(w.options())
	if err != nil || view.Plugins[0].Problem != "" {
		t.Fatalf("%+v, %v", view, err)
	}
	if g := view.Plugins[0].Grant; len(g.FS) != 1 || !g.FS[0].State || len(g.HTTP)+len(g.Git)+len(g.Env) != 0 {
		t.Errorf("%+v", g)
	}
}

func TestAPrefixAndAChoiceOfToolsKeepNamesApart(t *testing.T) {
	for name, choice := range map[string]review.Choice{"a prefix": {Prefix: "x_"}, "a choice of tools": {AllowTools: []string{"other_*"}}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.plugin(t, "first", "")
			clashing(t, w)
			w.config(t, "[[plugins]]\npath = \"../plugins/first\"\n")
			if _, err := admin.Propose(w.options(), admin.Addition{Dir: "../plugins/other", Choice: choice}); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAVariableIsWrittenByNameOnly(t *testing.T) {
	w := newWorld(t)
	w.plugin(t, "first", "[capabilities]\nenv = [\"TOKEN\"]\n")
	w.env["TOKEN"] = "a secret"
	p, err := admin.Propose(w.options(), admin.Addition{Dir: "../plugins/first", Choice: review.Choice{Env: []string{"TOKEN"}}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(p.Table, "env = { TOKEN = \"${env:TOKEN}\" }") || strings.Contains(p.Table, "secret") {
		t.Error(p.Table)
	}
}

// clashing makes a plugin that has a tool of the plugin first's.
func clashing(t *testing.T, w *world) {
	t.Helper()
	w.plugin(t, "other", "[[tools]]\nname = \"first_read\"\ndescription = \"x\"\naccess = \"read\"\n")
}

func copyPlugin(t *testing.T, w *world, from, to string) {
	t.Helper()
	for _, file := range []string{"plugin.toml", "it.wasm"} {
		w.write(t, "plugins/"+to+"/"+file, w.read(t, "plugins/"+from+"/"+file))
	}
}

func symlink(t *testing.T, w *world, target, name string) {
	t.Helper()
	if err := os.Symlink(w.path(target), w.path(name)); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, w *world, name string) {
	t.Helper()
	if err := os.Remove(w.path(name)); err != nil {
		t.Fatal(err)
	}
}
