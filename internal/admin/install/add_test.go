package install_test

import (
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/admintest"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/install"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
)

// commented is a config with comments in every position.
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

func TestAddAndRemovePreserveTheRestOfTheConfig(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", "")
	dir := w.Plugin(t, "second", "[capabilities]\nfs = [{ path = \"${project}\", access = \"rw\" }]\n")
	w.Config(t, commented)
	if err := os.Chmod(w.Path("work/bulkhead.toml"), 0o640); err != nil {
		t.Fatal(err)
	}
	p, err := install.Propose(w.Options(), install.Addition{Dir: dir, Choice: review.Choice{ReadOnly: true, AllowTools: []string{"second_*"}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.Read(t, "work/bulkhead.toml"); got != commented {
		t.Errorf("a proposal changed the config: %s", got)
	}
	if err := p.Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := commented + "\n[[plugins]]\npath = \"" + dir + "\"\nsha256 = \"" + p.Plugin.Digest + "\"\nallow_tools = [\"second_*\"]\nread_only = true\n" +
		"fs = [{ path = \"${project}\", access = \"r\" }]\nhttp = []\ngit = []\nask = []\n"
	if diff := cmp.Diff(want, w.Read(t, "work/bulkhead.toml")); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Stat(w.Path("work/bulkhead.toml")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the config does not have its previous mode 0640: got %v, %v", info.Mode(), err)
	}
	if why := p.Plugin.Tools[1].WhyNot; !strings.Contains(why, "read_only") {
		t.Errorf("the reason why the write tool is withheld does not name read_only: %q", why)
	}
	gone, err := install.Remove(w.Options(), "second")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(commented, w.Read(t, "work/bulkhead.toml")); diff != "" {
		t.Error(diff)
	}
	if gone.Dir != dir || gone.Left != 1 || gone.State != w.Path("state/bulkhead/second") {
		t.Errorf("Remove returned %+v, want the directory, the state and one plugin left", gone)
	}
	left, err := os.ReadDir(w.Path("work"))
	if err != nil || len(left) != 1 {
		t.Errorf("the directory of the config contains %v, %v; want the config only", left, err)
	}
}

func TestAddCreatesMissingConfig(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", "")
	p, err := install.Propose(w.Options(), install.Addition{Dir: "../plugins/first"})
	if err != nil {
		t.Fatal(err)
	}
	if !p.Creates {
		t.Error("Creates is false")
	}
	if err := p.Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(w.Path("work/bulkhead.toml")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the new config does not have the mode 0600: got %v, %v", info, err)
	}
}

func TestPluginBelowTheConfigHasRelativePath(t *testing.T) {
	w := admintest.New(t)
	dir := w.Plugin(t, "first", "")
	o := w.Options()
	o.ConfigFile = "../all.toml"
	p, err := install.Propose(o, install.Addition{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(p.Table, "path = \"plugins/first\"\n") {
		t.Error(p.Table)
	}
}

func TestAddWritesThroughSymbolicLink(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", "")
	w.Write(t, "etc/real.toml", "# real\n")
	if err := os.Symlink("../etc/real.toml", w.Path("work/bulkhead.toml")); err != nil {
		t.Fatal(err)
	}
	p, err := install.Propose(w.Options(), install.Addition{Dir: "../plugins/first"})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(w.Path("work/bulkhead.toml")); err != nil || to != "../etc/real.toml" {
		t.Errorf("the symbolic link to the config was replaced: got the target %s, %v", to, err)
	}
	if !strings.HasPrefix(w.Read(t, "etc/real.toml"), "# real\n\n[[plugins]]\n") {
		t.Error(w.Read(t, "etc/real.toml"))
	}
}

func TestWriteRefusesConfigThatChangedAfterReview(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", "")
	p, err := install.Propose(w.Options(), install.Addition{Dir: "../plugins/first"})
	if err != nil {
		t.Fatal(err)
	}
	w.Config(t, "# somebody else's\n")
	hosttest.WantUsage(t, p.Write(t.Context()), "has changed since it was read")
	if got := w.Read(t, "work/bulkhead.toml"); got != "# somebody else's\n" {
		t.Error(got)
	}
}

// The config is parsed as it is and as it will be written, and a manifest that does not change is parsed once.
func TestAddParsesEachContentOnce(t *testing.T) {
	for name, repin := range map[string]bool{"add": false, "repin": true} {
		t.Run(name, func(t *testing.T) {
			w := admintest.New(t)
			w.Plugin(t, "first", "")
			w.Plugin(t, "second", "")
			w.Config(t, "[[plugins]]\npath = \"../plugins/first\"\n")
			dir := "../plugins/second"
			if repin {
				dir = "../plugins/first"
			}
			parsed := countParses(t)
			p, err := install.Propose(w.Options(), install.Addition{Dir: dir, Repin: repin})
			if err == nil {
				err = p.Write(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			configs, manifests := 0, 0
			for content, n := range parsed() {
				if n > 1 {
					t.Errorf("this content is parsed %d times:\n%s", n, content)
				}
				if strings.Contains(content, "[[plugins]]") {
					configs++
				} else {
					manifests++
				}
			}
			if want := 2; configs != want {
				t.Errorf("%d contents of the config are parsed, want %d", configs, want)
			}
			if want := 2; !repin && manifests != want {
				t.Errorf("%d manifests are parsed, want %d", manifests, want)
			}
		})
	}
}

// countParses returns a function that returns how often each content was parsed.
func countParses(t *testing.T) func() map[string]int {
	var mu sync.Mutex
	counts := map[string]int{}
	tomlfile.TestOnlyOnParse = func(_ string, data []byte) {
		mu.Lock()
		defer mu.Unlock()
		counts[string(data)]++
	}
	t.Cleanup(func() { tomlfile.TestOnlyOnParse = nil })
	return func() map[string]int { return counts }
}

func TestAddRefuses(t *testing.T) {
	first := "[[plugins]]\npath = \"../plugins/first\"\n"
	for name, c := range map[string]struct {
		config string
		add    install.Addition
		before func(t *testing.T, w *admintest.Workspace)
		want   []string
	}{
		"a duplicate directory":                      {config: first, add: install.Addition{Dir: "../plugins/first"}, want: []string{`plugin "first" is in `, "pass --repin"}},
		"the same directory through a symbolic link": {config: first, add: install.Addition{Dir: "../link"}, want: []string{`plugin "first" is in `}, before: func(t *testing.T, w *admintest.Workspace) { admintest.Symlink(t, w, "plugins/first", "link") }},
		"a duplicate name":                           {config: first, add: install.Addition{Dir: "../plugins/copy"}, want: []string{`a plugin named "first" is in `, "remove that plugin first"}, before: func(t *testing.T, w *admintest.Workspace) { admintest.CopyPlugin(t, w, "first", "copy") }},
		"a duplicate tool":                           {config: first, add: install.Addition{Dir: "../plugins/other"}, want: []string{`both offer the tool first_read`, "--prefix"}, before: admintest.Clashing},
		"a duplicate prompt": {config: first, add: install.Addition{Dir: "../plugins/second"}, want: []string{`both claim the prompt "p"`, "deny_prompts"}, before: func(t *testing.T, w *admintest.Workspace) {
			w.Plugin(t, "first", "[offers]\nprompts = [\"p\"]\n")
			w.Plugin(t, "second", "[offers]\nprompts = [\"p\"]\n")
		}},
		"overlapping resources": {config: first, add: install.Addition{Dir: "../plugins/second"}, want: []string{"claim overlapping resources"}, before: func(t *testing.T, w *admintest.Workspace) {
			w.Plugin(t, "first", "[offers]\nresources = [\"a://\"]\n")
			w.Plugin(t, "second", "[offers]\nresources = [\"a://b/\"]\n")
		}},
		"a directory without a manifest": {add: install.Addition{Dir: "../plugins"}, want: []string{"plugins/plugin.toml: there is no such file"}},
		"an invalid manifest": {add: install.Addition{Dir: "../plugins/first"}, want: []string{"plugin.toml:20: tools[2].access: "},
			before: func(t *testing.T, w *admintest.Workspace) {
				w.Plugin(t, "first", "[[tools]]\nname = \"x\"\ndescription = \"x\"\naccess = \"all\"\n")
			}},
		"an invalid schema": {add: install.Addition{Dir: "../plugins/first"}, want: []string{"tools[2].input: schema is not valid"},
			before: func(t *testing.T, w *admintest.Workspace) {
				w.Plugin(t, "first", "[[tools]]\nname = \"x\"\ndescription = \"x\"\naccess = \"read\"\ninput_json = '{\"type\":\"object\",\"required\":3}'\n")
			}},
		"a missing module": {add: install.Addition{Dir: "../plugins/first"}, want: []string{"there is no module at ", "bulkhead plugin build"},
			before: func(t *testing.T, w *admintest.Workspace) { admintest.RemoveFile(t, w, "plugins/first/it.wasm") }},
		"a module with a different digest": {add: install.Addition{Dir: "../plugins/first"}, want: []string{"it.wasm has the SHA-256 ", "was built for "},
			before: func(t *testing.T, w *admintest.Workspace) { w.Write(t, "plugins/first/it.wasm", "another") }},
		"a module that is a directory": {add: install.Addition{Dir: "../plugins/first"}, want: []string{"it.wasm is not a regular file"},
			before: func(t *testing.T, w *admintest.Workspace) {
				admintest.RemoveFile(t, w, "plugins/first/it.wasm")
				w.Write(t, "plugins/first/it.wasm/x", "")
			}},
		"a manifest without the digest of the module": {add: install.Addition{Dir: "../plugins/first"}, want: []string{"does not contain the module's SHA-256"},
			before: func(t *testing.T, w *admintest.Workspace) {
				text := w.Read(t, "plugins/first/plugin.toml")
				start := strings.Index(text, "sha256")
				w.Write(t, "plugins/first/plugin.toml", text[:start]+text[start+strings.Index(text[start:], "\n"):])
			}},
		"an invalid config":         {config: "[sever]\n" + first, add: install.Addition{Dir: "../plugins/second"}, want: []string{"bulkhead.toml:1: sever: is not a known key"}},
		"a config that is not TOML": {config: "= 1", add: install.Addition{Dir: "../plugins/second"}, want: []string{"bulkhead.toml:1: is not TOML"}},
		"an inline plugins array":   {config: "plugins = [{ path = \"../plugins/first\" }]\n", add: install.Addition{Dir: "../plugins/second"}, want: []string{"is not written as [[plugins]] tables"}},
		"an invalid pattern":        {add: install.Addition{Dir: "../plugins/first", Choice: review.Choice{AllowTools: []string{"["}}}, want: []string{`--allow-tool "[": is not a pattern`}},
		"an unknown tool": {add: install.Addition{Dir: "../plugins/first", Choice: review.Choice{AllowTools: []string{"first_*", "firts_read"}}},
			want: []string{`--allow-tool "firts_read": first has no such tool; did you mean "first_read"?`}},
		"a variable that the plugin does not ask for":     {add: install.Addition{Dir: "../plugins/first", Choice: review.Choice{Env: []string{"TOKEN"}}}, want: []string{`--env TOKEN: first does not ask for this variable`}},
		"the public web that the plugin does not ask for": {add: install.Addition{Dir: "../plugins/first", Choice: review.Choice{PublicWeb: true}}, want: []string{"--public-web: first does not ask for the public web: remove the flag"}},
		"an unset variable": {add: install.Addition{Dir: "../plugins/first", Choice: review.Choice{Env: []string{"TOKEN"}}}, want: []string{`--env TOKEN: the variable is not set in this environment`},
			before: func(t *testing.T, w *admintest.Workspace) {
				w.Plugin(t, "first", "[capabilities]\nenv = [\"TOKEN\"]\n")
			}},
		"contradictory options":                           {add: install.Addition{Dir: "../plugins/first", Choice: review.Choice{ReadOnly: true, AllowWrite: true}}, want: []string{"--read-only and --allow-write"}},
		"a prefix that makes a name too long for clients": {add: install.Addition{Dir: "../plugins/first", Choice: review.Choice{Prefix: strings.Repeat("x", 60)}}, want: []string{"some clients refuse", "at most 64"}},
		"an invalid prefix":                               {add: install.Addition{Dir: "../plugins/first", Choice: review.Choice{Prefix: "no such"}}, want: []string{"prefix"}},
		"repin of an unknown plugin":                      {add: install.Addition{Dir: "../plugins/first", Repin: true}, want: []string{"no digest to replace"}},
		"a dangling symbolic link":                        {add: install.Addition{Dir: "../plugins/first"}, want: []string{"dangling symbolic link"}, before: func(t *testing.T, w *admintest.Workspace) { admintest.Symlink(t, w, "none", "work/bulkhead.toml") }},
		"an unset variable in the path of a plugin":       {config: "[[plugins]]\npath = \"${env:NONE}/x\"\n", add: install.Addition{Dir: "../plugins/first"}, want: []string{"the variable NONE is not set"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := admintest.New(t)
			w.Plugin(t, "first", "")
			w.Plugin(t, "second", "")
			if c.config != "" {
				w.Config(t, c.config)
			}
			if c.before != nil {
				c.before(t, w)
			}
			_, err := install.Propose(w.Options(), c.add)
			hosttest.WantUsage(t, err, c.want...)
		})
	}
}

func TestRepinChangesOnlyTheDigest(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", "")
	w.Config(t, commented)
	for _, more := range []string{"", "[offers]\nlogging = true\n"} {
		w.Plugin(t, "first", more)
		p, err := install.Propose(w.Options(), install.Addition{Dir: "../plugins/first", Repin: true})
		if err != nil {
			t.Fatal(err)
		}
		if p.Table != "" {
			t.Error(p.Table)
		}
		if err := p.Write(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := strings.Replace(commented, "# built weekly\n", "# built weekly\nsha256 = \""+p.Plugin.Digest+"\"\n", 1)
		if diff := cmp.Diff(want, w.Read(t, "work/bulkhead.toml")); diff != "" {
			t.Error(diff)
		}
	}
}

func TestRepinDoesNotExtendTheGrant(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", "")
	for _, a := range []install.Addition{{Dir: "../plugins/first"}, {Dir: "../plugins/first", Repin: true}} {
		p, err := install.Propose(w.Options(), a)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Write(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.Plugin(t, "first", admintest.AskedFor+"git = [{ repo = \"${project}\", access = \"r\" }]\n")
	}
	view, err := catalog.Look(w.Options())
	if err != nil || view.Plugins[0].Problem != "" {
		t.Fatalf("the host does not accept the new config: got %+v, %v", view, err)
	}
	if g := view.Plugins[0].Grant; len(g.FS) != 1 || !g.FS[0].State || len(g.HTTP)+len(g.Git)+len(g.Env) != 0 {
		t.Errorf("the grant contains more than the state directory: %+v", g)
	}
}

func TestPrefixOrAllowToolsResolveToolConflict(t *testing.T) {
	for name, choice := range map[string]review.Choice{"a prefix": {Prefix: "x_"}, "a choice of tools": {AllowTools: []string{"other_*"}}} {
		t.Run(name, func(t *testing.T) {
			w := admintest.New(t)
			w.Plugin(t, "first", "")
			admintest.Clashing(t, w)
			w.Config(t, "[[plugins]]\npath = \"../plugins/first\"\n")
			if _, err := install.Propose(w.Options(), install.Addition{Dir: "../plugins/other", Choice: choice}); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAddWritesNoValueOfAVariable(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", "[capabilities]\nenv = [\"TOKEN\"]\n")
	w.Env["TOKEN"] = "a secret"
	p, err := install.Propose(w.Options(), install.Addition{Dir: "../plugins/first", Choice: review.Choice{Env: []string{"TOKEN"}}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(p.Table, "env = { TOKEN = \"${env:TOKEN}\" }") || strings.Contains(p.Table, "secret") {
		t.Error(p.Table)
	}
}

// TestListedSizeIsThatOfOfferedTools compares with the sum of the names, descriptions and input schemas in the plugin's manifest.
func TestListedSizeIsThatOfOfferedTools(t *testing.T) {
	w := admintest.New(t)
	dir := w.Plugin(t, "first", "")
	const schema = `{"type":"object"}` // that of a tool that declares none
	read, write := len("first_read")+len("reads")+len(schema), len("first_write")+len("writes")+len(schema)
	for name, c := range map[string]struct {
		choice review.Choice
		want   int
	}{
		"all":       {review.Choice{}, read + write},
		"read-only": {review.Choice{ReadOnly: true}, read},
		"prefix":    {review.Choice{Prefix: "my_"}, read + write + 2*len("my_")},
	} {
		p, err := install.Propose(w.Options(), install.Addition{Dir: dir, Choice: c.choice})
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Plugin.Listed; got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}

func TestManifestIsShownOnRequest(t *testing.T) {
	w := admintest.New(t)
	dir := w.Plugin(t, "first", "# its author's comment\n")
	for _, asked := range []bool{true, false} {
		p, err := install.Propose(w.Options(), install.Addition{Dir: dir, ShowManifest: asked})
		if err != nil {
			t.Fatal(err)
		}
		if want := map[bool]string{true: w.Read(t, "plugins/first/plugin.toml")}[asked]; p.Manifest != want {
			t.Errorf("%v: got %q", asked, p.Manifest)
		}
	}
}
