package admin_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/admin"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// askedFor is the table of capabilities in the manifest of the plugin "first".
const askedFor = "[capabilities]\nenv = [\"TOKEN\"]\nhttp = [\"https://a.example\"]\nfs = [{ path = \"${project}\", access = \"rw\" }]\n"

const policyConfig = `[defaults]
deny = ["**/.env"]
[[plugins]]
path = "../plugins/first"
deny_tools = ["first_write"]
[[plugins]]
path = "../plugins/second"
prefix = "x_"
[[plugins]]
path = "../plugins/broken"
env = { A = "b" }
`

func policyWorkspace(t *testing.T) *workspace {
	t.Helper()
	w := newWorkspace(t)
	w.plugin(t, "first", askedFor)
	w.plugin(t, "second", "")
	w.plugin(t, "broken", "")
	w.config(t, policyConfig)
	w.write(t, "work/.git/config", "")
	w.write(t, "work/a", "")
	if err := os.Symlink("a", w.path("work/alias")); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestExplain(t *testing.T) {
	const leftOut = "the plugin is left out: $W/work/bulkhead.toml:11: plugins[2].env.A: broken does not ask for this variable\n  remedy: remove it"
	for name, c := range map[string]struct {
		ask  admin.Question
		want []string
	}{
		"an offered tool":                       {admin.Question{Tool: "first_read"}, []string{"first first_read read yes: nothing withholds it (bulkhead.toml:3)"}},
		"a denied tool":                         {admin.Question{Tool: "first_write"}, []string{`first first_write write no: denied by deny_tools "first_write" (bulkhead.toml:5)`}},
		"a tool by its name with the prefix":    {admin.Question{Tool: "x_second_read"}, []string{"second x_second_read read yes: nothing withholds it (bulkhead.toml:6)"}},
		"a tool by its name without the prefix": {admin.Question{Tool: "second_read"}, []string{"second x_second_read read yes: nothing withholds it (bulkhead.toml:6)"}},
		"a tool of a plugin that is left out":   {admin.Question{Tool: "broken_read"}, []string{"broken broken_read  no: " + leftOut}},
		"a path": {admin.Question{Plugin: "first", Path: "a"}, []string{
			"first $W/work/a read yes: it is in $W/work: plugin.toml:20 asks for it, and the config has no fs for the plugin (bulkhead.toml:3)",
			"first $W/work/a write yes: it is in $W/work: plugin.toml:20 asks for it, and the config has no fs for the plugin (bulkhead.toml:3)"}},
		"a symbolic link": {admin.Question{Plugin: "first", Path: "$W/work/alias"}, []string{
			"first $W/work/alias (which is $W/work/a) read yes: it is in $W/work: plugin.toml:20 asks for it, and the config has no fs for the plugin (bulkhead.toml:3)",
			"first $W/work/alias (which is $W/work/a) write yes: it is in $W/work: plugin.toml:20 asks for it, and the config has no fs for the plugin (bulkhead.toml:3)"}},
		"a path in .git": {admin.Question{Plugin: "first", Path: ".git/config"}, []string{
			"first $W/work/.git/config read yes: it is in $W/work: plugin.toml:20 asks for it, and the config has no fs for the plugin (bulkhead.toml:3)",
			"first $W/work/.git/config write no: files in a .git directory cannot be written"}},
		"a hidden path": {admin.Question{Plugin: "first", Path: "x/.env"}, []string{
			`first $W/work/x/.env read no: hidden by "**/.env": defaults.deny (bulkhead.toml)`, `first $W/work/x/.env write no: hidden by "**/.env": defaults.deny (bulkhead.toml)`}},
		"a file of the host": {admin.Question{Plugin: "first", Path: "bulkhead.toml"}, []string{
			"first $W/work/bulkhead.toml read no: $W/work/bulkhead.toml belongs to the host, which hides it from plugins: a grant must name it, or a path in it",
			"first $W/work/bulkhead.toml write no: $W/work/bulkhead.toml belongs to the host, which hides it from plugins: a grant must name it, or a path in it"}},
		"a path outside of the grant": {admin.Question{Plugin: "second", Path: "/etc/hosts"}, []string{
			"second /etc/hosts read no: it is not in any directory granted to second", "second /etc/hosts write no: it is not in any directory granted to second"}},
		"an ancestor of the grant": {admin.Question{Plugin: "first", Path: ".."}, []string{
			"first $W read no: it is an ancestor of a granted directory: only the path to that directory is visible",
			"first $W write no: it is an ancestor of a granted directory: only the path to that directory is visible"}},
		"two questions about all plugins": {admin.Question{Origin: "https://a.example", Variable: "TOKEN"}, []string{
			"first https://a.example  yes: plugin.toml:19 asks for it, and the config has no http for the plugin (bulkhead.toml:3); refused if the name resolves to this machine or its network, because the grant does not have private = true",
			"first TOKEN  no: it has no value: pass --env TOKEN, or write env = { TOKEN = \"…\" } for the plugin in bulkhead.toml",
			"second https://a.example  no: second does not ask for it, so nothing can grant it", "second TOKEN  no: second does not ask for it, so nothing can grant it",
			"broken https://a.example, TOKEN  no: " + leftOut}},
	} {
		t.Run(name, func(t *testing.T) {
			w := policyWorkspace(t)
			c.ask.Path = strings.ReplaceAll(c.ask.Path, "$W", w.dir)
			found, err := admin.Explain(w.options(), c.ask)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, a := range found.Answers {
				yes := "no"
				if a.Allowed {
					yes = "yes"
				}
				got = append(got, strings.ReplaceAll(fmt.Sprintf("%s %s %s %s: %s", a.Plugin, a.Asked, a.Access, yes, a.Why), w.dir, "$W"))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestExplainCompleteGrants(t *testing.T) {
	w := policyWorkspace(t)
	found, err := admin.Explain(w.options(), admin.Question{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range found.Plugins {
		got = append(got, fmt.Sprintf("%s %s pinned %v, policy %v, problem %v", p.Name, p.At, p.Pinned, p.Policy != nil, p.Problem != ""))
	}
	want := []string{"first bulkhead.toml:3 pinned false, policy true, problem false", "second bulkhead.toml:6 pinned false, policy true, problem false",
		"broken bulkhead.toml:9 pinned false, policy false, problem true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Lstat(w.path("state")); err == nil {
		t.Error("a state directory was created")
	}
	if found, err = admin.Explain(w.options(), admin.Question{Plugin: "second"}); err != nil || len(found.Plugins) != 1 || found.Plugins[0].Tools[0].Name != "x_second_read" {
		t.Errorf("Explain of the plugin second returned %+v, %v; want only this plugin, with prefixed tools", found, err)
	}
}

func TestExplainRefuses(t *testing.T) {
	w := policyWorkspace(t)
	for want, q := range map[string]admin.Question{
		`there is no plugin "none": the plugins are first, second, broken`: {Plugin: "none"},
		`there is no tool "none"`:                            {Tool: "none"},
		`--origin "ftp://x": is not the URL of a web server`: {Origin: "ftp://x"},
		`--variable "A=B": not the name of an environment`:   {Variable: "A=B"},
	} {
		_, err := admin.Explain(w.options(), q)
		wantUsage(t, err, want)
	}
}

func TestCompare(t *testing.T) {
	w := newWorkspace(t)
	w.plugin(t, "first", "")
	copyPlugin(t, w, "first", "old")
	d, err := admin.Compare(w.options(), "../plugins/old", "../plugins/first")
	if err != nil || d.More || len(d.Changes) != 0 {
		t.Fatalf("Compare of identical plugins returned %+v, %v; want no changes", d, err)
	}
	w.plugin(t, "first", askedFor)
	if d, err = admin.Compare(w.options(), "../plugins/old", "../plugins/first"); err != nil || !d.More || len(d.Changes) != 3 {
		t.Errorf("Compare with a plugin that asks for more returned %+v, %v; want More and 3 changes", d, err)
	}
	if d, err = admin.Compare(w.options(), "../plugins/first", "../plugins/old"); err != nil || d.More || len(d.Changes) != 3 {
		t.Errorf("Compare with a plugin that asks for less returned %+v, %v; want 3 changes and not More", d, err)
	}
	w.write(t, "plugins/first/it.wasm", "another")
	_, err = admin.Compare(w.options(), "../plugins/old", "../plugins/first")
	wantUsage(t, err, "was built for ")
	_, err = admin.Compare(w.options(), "none", "../plugins/first")
	wantUsage(t, err, manifest.FileName+": there is no such file")
}

// TestExplainRefusesPathsOfRefusedGrant grants a symbolic link in the project, which the host does not follow.
func TestExplainRefusesPathsOfRefusedGrant(t *testing.T) {
	for name, asks := range map[string]string{
		"a directory":  "[capabilities]\nfs = [{ path = \"${project}/docs\", access = \"rw\" }]\n",
		"a repository": "[capabilities]\nfs = [{ path = \"${project}\", access = \"rw\" }]\ngit = [{ repo = \"${project}/docs\", access = \"r\" }]\n",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t)
			w.plugin(t, "first", asks)
			w.write(t, "elsewhere/a", "")
			if err := os.Symlink("../elsewhere", w.path("work/docs")); err != nil {
				t.Fatal(err)
			}
			w.config(t, "[[plugins]]\npath = \"../plugins/first\"\n")
			found, err := admin.Explain(w.options(), admin.Question{Path: w.path("work/docs/a")})
			if err != nil || len(found.Answers) != 2 {
				t.Fatalf("Explain of a path returned %+v, %v; want answers about reading and writing", found, err)
			}
			for _, a := range found.Answers {
				if a.Allowed || !strings.Contains(a.Why, "the plugin cannot run: ") || !strings.Contains(a.Why, "is a symbolic link") {
					t.Errorf("got the answer %+v, want it denied because of the symbolic link", a)
				}
			}
		})
	}
}
