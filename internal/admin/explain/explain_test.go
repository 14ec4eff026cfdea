package explain_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/admintest"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/explain"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/install"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

func TestExplain(t *testing.T) {
	const leftOut = "the plugin is left out: $W/work/bulkhead.toml:11: plugins[2].env.A: broken does not ask for this variable\n  remedy: remove it"
	for name, c := range map[string]struct {
		ask  explain.Question
		want []string
	}{
		"an offered tool":                       {explain.Question{Tool: "first_read"}, []string{"first first_read read yes: nothing withholds it (bulkhead.toml:3)"}},
		"a denied tool":                         {explain.Question{Tool: "first_write"}, []string{`first first_write write no: denied by deny_tools "first_write" (bulkhead.toml:5)`}},
		"a tool by its name with the prefix":    {explain.Question{Tool: "x_second_read"}, []string{"second x_second_read read yes: nothing withholds it (bulkhead.toml:6)"}},
		"a tool by its name without the prefix": {explain.Question{Tool: "second_read"}, []string{"second x_second_read read yes: nothing withholds it (bulkhead.toml:6)"}},
		"a tool of a plugin that is left out":   {explain.Question{Tool: "broken_read"}, []string{"broken broken_read  no: " + leftOut}},
		"a path": {explain.Question{Plugin: "first", Path: "a"}, []string{
			"first $W/work/a read yes: it is in $W/work: plugin.toml:20 asks for it, and the config has no fs for the plugin (bulkhead.toml:3)",
			"first $W/work/a write yes: it is in $W/work: plugin.toml:20 asks for it, and the config has no fs for the plugin (bulkhead.toml:3)"}},
		"a symbolic link": {explain.Question{Plugin: "first", Path: "$W/work/alias"}, []string{
			"first $W/work/alias (which is $W/work/a) read yes: it is in $W/work: plugin.toml:20 asks for it, and the config has no fs for the plugin (bulkhead.toml:3)",
			"first $W/work/alias (which is $W/work/a) write yes: it is in $W/work: plugin.toml:20 asks for it, and the config has no fs for the plugin (bulkhead.toml:3)"}},
		"a symbolic link outside of the grant": {explain.Question{Plugin: "first", Path: "$W/outer"}, []string{
			"first $W/outer (which is $W/work/a) read no: it is not in any directory granted to first; a plugin reaches the file only by $W/work/a",
			"first $W/outer (which is $W/work/a) write no: it is not in any directory granted to first; a plugin reaches the file only by $W/work/a"}},
		"a path in .git": {explain.Question{Plugin: "first", Path: ".git/config"}, []string{
			"first $W/work/.git/config read yes: it is in $W/work: plugin.toml:20 asks for it, and the config has no fs for the plugin (bulkhead.toml:3)",
			"first $W/work/.git/config write no: files in a .git directory cannot be written"}},
		"a hidden path": {explain.Question{Plugin: "first", Path: "x/.env"}, []string{
			`first $W/work/x/.env read no: hidden by "**/.env": defaults.deny (bulkhead.toml)`, `first $W/work/x/.env write no: hidden by "**/.env": defaults.deny (bulkhead.toml)`}},
		"a file of the host": {explain.Question{Plugin: "first", Path: "bulkhead.toml"}, []string{
			"first $W/work/bulkhead.toml read no: $W/work/bulkhead.toml belongs to the host, which hides it from plugins: a grant must name it, or a path in it",
			"first $W/work/bulkhead.toml write no: $W/work/bulkhead.toml belongs to the host, which hides it from plugins: a grant must name it, or a path in it"}},
		"a path outside of the grant": {explain.Question{Plugin: "second", Path: "/etc/hosts"}, []string{
			"second /etc/hosts read no: it is not in any directory granted to second", "second /etc/hosts write no: it is not in any directory granted to second"}},
		"an ancestor of the grant": {explain.Question{Plugin: "first", Path: ".."}, []string{
			"first $W read no: it is an ancestor of a granted directory: only the path to that directory is visible",
			"first $W write no: it is an ancestor of a granted directory: only the path to that directory is visible"}},
		"two questions about all plugins": {explain.Question{Origin: "https://a.example", Variable: "TOKEN"}, []string{
			"first https://a.example  yes: plugin.toml:19 asks for it, and the config has no http for the plugin (bulkhead.toml:3); refused if the name resolves to this machine or its network, because the grant does not have private = true",
			"first TOKEN  no: it has no value: pass --env TOKEN, or write env = { TOKEN = \"…\" } for the plugin in bulkhead.toml",
			"second https://a.example  no: second does not ask for it, so nothing can grant it", "second TOKEN  no: second does not ask for it, so nothing can grant it",
			"broken https://a.example, TOKEN  no: " + leftOut}},
	} {
		t.Run(name, func(t *testing.T) {
			w := admintest.NewGranted(t)
			if err := os.Symlink("work/a", w.Dir+"/outer"); err != nil {
				t.Fatal(err)
			}
			c.ask.Path = strings.ReplaceAll(c.ask.Path, "$W", w.Dir)
			found, err := explain.Grants(w.Options(), c.ask)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, a := range found.Answers {
				yes := "no"
				if a.Allowed {
					yes = "yes"
				}
				got = append(got, strings.ReplaceAll(fmt.Sprintf("%s %s %s %s: %s", a.Plugin, a.Asked, a.Access, yes, a.Why), w.Dir, "$W"))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestExplainCompleteGrants(t *testing.T) {
	w := admintest.NewGranted(t)
	found, err := explain.Grants(w.Options(), explain.Question{})
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
	if _, err := os.Lstat(w.Path("state")); err == nil {
		t.Error("a state directory was created")
	}
	if found, err = explain.Grants(w.Options(), explain.Question{Plugin: "second"}); err != nil || len(found.Plugins) != 1 || found.Plugins[0].Tools[0].Name != "x_second_read" {
		t.Errorf("Explain of the plugin second returned %+v, %v; want only this plugin, with prefixed tools", found, err)
	}
}

func TestExplainRefuses(t *testing.T) {
	w := admintest.NewGranted(t)
	for want, q := range map[string]explain.Question{
		`there is no plugin "none": the plugins are first, second, broken`: {Plugin: "none"},
		`there is no tool "none"`:                            {Tool: "none"},
		`--origin "ftp://x": is not the URL of a web server`: {Origin: "ftp://x"},
		`--variable "A=B": not the name of an environment`:   {Variable: "A=B"},
	} {
		_, err := explain.Grants(w.Options(), q)
		hosttest.WantUsage(t, err, want)
	}
}

func TestCompare(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", "")
	admintest.CopyPlugin(t, w, "first", "old")
	d, err := install.Compare(w.Options(), "../plugins/old", "../plugins/first")
	if err != nil || d.More || len(d.Changes) != 0 {
		t.Fatalf("Compare of identical plugins returned %+v, %v; want no changes", d, err)
	}
	w.Plugin(t, "first", admintest.AskedFor)
	if d, err = install.Compare(w.Options(), "../plugins/old", "../plugins/first"); err != nil || !d.More || len(d.Changes) != 3 {
		t.Errorf("Compare with a plugin that asks for more returned %+v, %v; want More and 3 changes", d, err)
	}
	if d, err = install.Compare(w.Options(), "../plugins/first", "../plugins/old"); err != nil || d.More || len(d.Changes) != 3 {
		t.Errorf("Compare with a plugin that asks for less returned %+v, %v; want 3 changes and not More", d, err)
	}
	w.Write(t, "plugins/first/it.wasm", "another")
	_, err = install.Compare(w.Options(), "../plugins/old", "../plugins/first")
	hosttest.WantUsage(t, err, "was built for ")
	_, err = install.Compare(w.Options(), "none", "../plugins/first")
	hosttest.WantUsage(t, err, manifest.FileName+": there is no such file")
}

// TestExplainRefusesPathsOfRefusedGrant grants a symbolic link in the project, which the host does not follow.
func TestExplainRefusesPathsOfRefusedGrant(t *testing.T) {
	for name, asks := range map[string]string{
		"a directory":  "[capabilities]\nfs = [{ path = \"${project}/docs\", access = \"rw\" }]\n",
		"a repository": "[capabilities]\nfs = [{ path = \"${project}\", access = \"rw\" }]\ngit = [{ repo = \"${project}/docs\", access = \"r\" }]\n",
	} {
		t.Run(name, func(t *testing.T) {
			w := admintest.New(t)
			w.Plugin(t, "first", asks)
			w.Write(t, "elsewhere/a", "")
			if err := os.Symlink("../elsewhere", w.Path("work/docs")); err != nil {
				t.Fatal(err)
			}
			w.Config(t, "[[plugins]]\npath = \"../plugins/first\"\n")
			found, err := explain.Grants(w.Options(), explain.Question{Path: w.Path("work/docs/a")})
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

func TestExplainSaysWhatCeilingCuts(t *testing.T) {
	w := admintest.NewGranted(t)
	w.Config(t, "[[plugins]]\npath = \"../plugins/first\"\nhttp = [\"https://a.example\"]\nfs = [{ path = \"${project}\", access = \"rw\" }, { path = \"$W/home/x\", access = \"r\" }]\nenv = { TOKEN = \"t\" }\nlimits = { time = \"5s\" }\n")
	w.Config(t, strings.ReplaceAll(w.Read(t, "work/bulkhead.toml"), "$W", w.Dir))
	w.Write(t, "etc/bulkhead.toml", admintest.StrictCeiling)
	w.Write(t, "home/x/file", "")
	file := w.Path("etc/bulkhead.toml")
	for name, c := range map[string]struct {
		ask  explain.Question
		want string
	}{
		"a tool":        {explain.Question{Tool: "first_read"}, `denied by "first_read" in ceiling.deny_tools (` + file + ":2)"},
		"an origin":     {explain.Question{Origin: "https://a.example"}, "it is not in ceiling.http (" + file + ":4)"},
		"a variable":    {explain.Question{Variable: "TOKEN"}, "it is not in ceiling.env (" + file + ":5)"},
		"a path":        {explain.Question{Path: w.Path("home/x")}, w.Path("home/x") + " is not granted: it is in none of the directories of ceiling.fs (" + file + ":3)"},
		"writing":       {explain.Question{Path: w.Path("work/a")}, "ceiling.fs (" + file + ":3) allows no more"},
		"a hidden file": {explain.Question{Path: w.Path("work/a.key")}, "ceiling.deny (" + file + ":"},
	} {
		found, err := explain.Grants(w.Options(), c.ask)
		if err != nil || found.Ceiling != file {
			t.Fatalf("%s: Explain returned the error %v and the ceiling %s", name, err, found.Ceiling)
		}
		if !strings.Contains(found.Answers[len(found.Answers)-1].Why, c.want) {
			t.Errorf("%s: got %+v, want %s", name, found.Answers, c.want)
		}
	}
	found, err := explain.Grants(w.Options(), explain.Question{})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range found.Plugins[0].Limits {
		if want := "ceiling.limits (" + file + ":6), instead of 5s"; l.Key == "time" && (l.By != want || l.Value != "2s") {
			t.Errorf("got %+v, want %s", l, want)
		}
	}
	if n := len(found.Plugins[0].Warnings); n != 5 {
		t.Errorf("got %d warnings, want 5: %v", n, found.Plugins[0].Warnings)
	}
}

func TestHiddenFilesNameTheDenyThatHidesThem(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", "[capabilities]\nfs = [{ path = \"${project}\", access = \"r\" }]\ndeny = [\"*.key\"]\n")
	w.Config(t, "[[plugins]]\npath = \"../plugins/first\"\n")
	found, err := explain.Grants(w.Options(), explain.Question{Path: "a.key"})
	if want := `hidden by "*.key": deny (plugin.toml:`; err != nil || !strings.HasPrefix(found.Answers[0].Why, want) || !strings.HasSuffix(found.Answers[0].Why, "), since the plugin's table has no deny") {
		t.Errorf("got %+v, %v, want %s", found.Answers, err, want)
	}
}
