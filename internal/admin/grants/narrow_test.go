package grants

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/admintest"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/explain"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/terminal"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

// follow changes the config as a narrowing says, and returns what plugin is granted then.
func follow(t *testing.T, w *admintest.Workspace, n *Narrowing) Plugin {
	t.Helper()
	lines := strings.Split(w.Read(t, "work/bulkhead.toml"), "\n")
	removed := func(line int) { lines[line-1] = "#" }
	for _, r := range n.Removes {
		for _, line := range r.Lines {
			if strings.HasPrefix(lines[line-1], "[[") {
				for below := line + 1; below <= len(lines) && lines[below-1] != "" && !strings.HasPrefix(lines[below-1], "["); below++ {
					removed(below)
				}
			}
			removed(line)
		}
	}
	if n.Replaces {
		lines = slices.Replace(lines, n.Excerpt.Line-1, n.Excerpt.Last, n.Lines)
	} else {
		lines = slices.Insert(lines, n.At.Line, n.Lines)
	}
	w.Config(t, strings.Join(lines, "\n"))
	p := look(t, w)
	i := slices.IndexFunc(p.Clients[0].Plugins, func(p Plugin) bool { return p.Name == n.Plugin })
	if p.Problem != "" || i < 0 || p.Clients[0].Plugins[i].Problem != "" {
		t.Fatalf("after the change: %s, %+v, with the config\n%s", p.Problem, p.Clients[0].Plugins, w.Read(t, "work/bulkhead.toml"))
	}
	return p.Clients[0].Plugins[i]
}

func narrow(t *testing.T, w *admintest.Workspace, l Less) *Narrowing {
	t.Helper()
	l.What = strings.ReplaceAll(l.What, "$W", w.Dir)
	n, err := Narrow(t.Context(), w.Options(), l)
	if err != nil {
		t.Fatal(err)
	}
	if n.Problem != "" {
		t.Fatalf("the plugin would not be served: %s", n.Problem)
	}
	return n
}

// granted returns what is granted as text, with access.
func granted(w *admintest.Workspace, p Plugin) string {
	var all []string
	for _, line := range describe(w, p) {
		what, _, _ := strings.Cut(line, ":")
		if strings.HasPrefix(line, "web server") {
			what = line[:strings.LastIndex(line, ":")]
			what = what[:strings.LastIndex(what, ":")]
		}
		if !strings.HasPrefix(line, "tool") {
			all = append(all, what)
		}
	}
	return strings.Join(all, "; ")
}

// TestWhatIsPartOfAnotherGrantCannotBeDropped has grants that are narrower than one that contains them, which would decide without them.
func TestWhatIsPartOfAnotherGrantCannotBeDropped(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "wide", "[capabilities]\nhttp = [\"public-web\", \"https://a.example:8443\"]\nfs = [{ path = \"${project}\", access = \"rw\", why = 'x' }]\ngit = [{ repo = \"*\", access = \"rw\" }]\n")
	w.Write(t, "work/secrets/a", "")
	w.Config(t, "[[plugins]]\npath = \"../plugins/wide\"\nhttp = [\"public-web\", \"https://a.example\", \"https://a.example:8443\"]\n"+
		"fs = [{ path = \"${project}\", access = \"rw\" }, { path = \"${project}/secrets\", access = \"r\" }]\n"+
		"git = [{ repo = \"${project}\", access = \"rw\" }, { repo = \"${project}/secrets\", access = \"r\" }]\n")
	parts := map[[2]string]string{
		{"fs", w.Path("work/secrets")}: w.Path("work"), {"git", w.Path("work/secrets")}: w.Path("work"), {"http", "https://a.example"}: "public-web",
	}
	for _, g := range look(t, w).Clients[0].Plugins[0].Grants {
		part := parts[[2]string{g.Key, g.What}]
		if !g.State && (g.PartOf != part || g.CanDrop() != (part == "")) {
			t.Errorf("%s %s is part of %q, can be dropped: %v", g.Key, g.What, g.PartOf, g.CanDrop())
		}
	}
	for what := range parts {
		var correctable *usage.Error
		if n, err := Narrow(t.Context(), w.Options(), Less{Plugin: "wide", Key: what[0], What: what[1]}); !errors.As(err, &correctable) || !strings.Contains(err.Error(), "stays granted") {
			t.Errorf("%q: got %+v, %v", what, n, err)
		}
	}
}

// TestWhatATableOfClientsOrACeilingNarrowsToCannotBeDropped has grants that only they name: the table of the plugin has a wider item, which Narrow
// cannot remove in part, also if the client is not granted all of it.
func TestWhatATableOfClientsOrACeilingNarrowsToCannotBeDropped(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "wide", "[capabilities]\nhttp = [\"public-web\"]\nfs = [{ path = \"${project}\", access = \"rw\", why = 'x' }]\n")
	w.Write(t, "work/src/a", "")
	w.Write(t, "work/docs/a", "")
	const clients = "[http]\ntokens = true\n[[clients]]\nname = \"ci\"\nmatch = { tokens = [\"ci-*\"] }\nhttp = [\"https://a.example\"]\n" +
		"fs = [{ path = \"${project}/src\", access = \"rw\" }, { path = \"${project}/docs\", access = \"r\" }]\n"
	for name, c := range map[string]struct{ config, ceiling, want string }{
		"table of clients": {
			clients + "[[plugins]]\npath = \"../plugins/wide\"\nhttp = [\"public-web\"]\nfs = [{ path = \"${project}\", access = \"rw\" }]\n", "",
			"$W/work, public-web; $W/work/src part of $W/work, $W/work/docs part of $W/work, https://a.example part of public-web",
		},
		"table of clients, with items of the plugin": {
			clients + "[[plugins]]\npath = \"../plugins/wide\"\nhttp = [\"https://a.example\"]\nfs = [{ path = \"${project}/docs\", access = \"r\" }, { path = \"${project}/src\", access = \"rw\" }]\n", "",
			"$W/work/docs, $W/work/src, https://a.example; $W/work/docs, $W/work/src, https://a.example",
		},
		"manifest": {
			clients + "[[plugins]]\npath = \"../plugins/wide\"\n", "",
			"$W/work; $W/work/src part of $W/work, $W/work/docs part of $W/work",
		},
		"ceiling": {
			"[[plugins]]\npath = \"../plugins/wide\"\nhttp = [\"public-web\"]\nfs = [{ path = \"${project}\", access = \"rw\" }, { path = \"${project}/src\", access = \"r\" }]\n",
			"[ceiling]\nhttp = [\"https://a.example\"]\nfs = [{ path = \"${project}/src\", access = \"rw\" }]\n",
			"$W/work/src part of $W/work, https://a.example part of public-web",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w.Config(t, c.config)
			w.Write(t, hosttest.Ceiling, c.ceiling)
			var clients []string
			for _, client := range look(t, w).Clients {
				var all []string
				for _, g := range client.Plugins[0].Grants {
					if g.State {
						continue
					}
					_, err := Narrow(t.Context(), w.Options(), Less{Plugin: "wide", Key: g.Key, What: g.What})
					if g.CanDrop() != (err == nil) {
						t.Errorf("%s: %s can be dropped: %v, but Narrow returns %v", client.Name, g.What, g.CanDrop(), err)
					}
					what := g.What
					if g.PartOf != "" {
						what += " part of " + g.PartOf
					}
					all = append(all, what)
				}
				clients = append(clients, strings.Join(all, ", "))
			}
			if got := strings.ReplaceAll(strings.Join(clients, "; "), w.Dir, "$W"); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestNarrowGrantsNothingMore has a manifest that requests broad directories and remotes, and a config without these keys.
func TestNarrowGrantsNothingMore(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "wide", `[capabilities]
fs = [
  { path = "${project}", access = "rw", why = 'x' }, { path = "${project}/docs", access = "r", why = 'x' },
  { path = "${home}", access = "rw", why = 'x', optional = true }, { path = "/", access = "r", why = 'x', optional = true },
]
git = [{ repo = "${project}", access = "rw", remotes = ["https://git.example/a"] }, { repo = "../other", access = "r" }, { repo = "*", access = "r" }]
`)
	w.Write(t, "plugins/wide/plugin.toml", strings.ReplaceAll(w.Read(t, "plugins/wide/plugin.toml"), `"../other"`, quote(w.Path("other"))))
	w.Write(t, "work/docs/a", "")
	w.Write(t, "work/.git/config", "")
	w.Write(t, "other/.git/config", "")
	for _, c := range []struct{ key, what, lines, after string }{
		{"fs", "$W/work", `fs = [{ path = "${project}/docs", access = "r" }]`, "directory $W/work/docs write=false"},
		{"git", "$W/other", `git = [{ repo = "${project}", access = "r", remotes = ["https://git.example/a"] }]`, "directory $W/work write=true; directory $W/work/docs write=false; repository $W/work write=false"},
	} {
		w.Config(t, "[[plugins]]\npath = \"../plugins/wide\"\n")
		n := narrow(t, w, Less{Plugin: "wide", Key: c.key, What: c.what})
		if strings.TrimSpace(n.Lines) != c.lines {
			t.Errorf("%s: got %s, want %s", c.key, n.Lines, c.lines)
		}
		if got := granted(w, follow(t, w, n)); got != c.after {
			t.Errorf("%s: after the change it is granted %s, want %s", c.key, got, c.after)
		}
	}
}

func quote(text string) string { return "'" + text + "'" }

// TestNarrowingsFitHowTheTableIsWritten follows what the page says in tables with keys that stand against the change, or are written in other ways.
func TestNarrowingsFitHowTheTableIsWritten(t *testing.T) {
	const writes = "[plugin]\nwrite = \"opt-in\""
	for name, c := range map[string]struct {
		table   string
		less    Less
		removes []Removed
		after   string
	}{
		"allow_write":             {"allow_write = true\nfs = [{ path = \"${project}\", access = \"rw\" }]", Less{Key: KeyReadOnly}, []Removed{{"allow_write", []int{3}}}, "directory $W/work write=false"},
		"read_only = false":       {"read_only = false\nfs = [{ path = \"${project}\", access = \"rw\" }]", Less{Key: KeyReadOnly}, nil, "directory $W/work write=false"},
		"a list of several lines": {"fs = [\n  { path = \"${project}\", access = \"rw\" }, # x\n\n  { path = '$W/docs', access = \"r\" },\n]\nread_only = false", Less{Key: "fs", What: "$W/docs"}, nil, "directory $W/work write=true"},
		"tables of fs": {"prefix = \"x_\"\n[[plugins.fs]]\npath = \"${project}\"\naccess = \"rw\"\n[[plugins.fs]]\npath = '$W/docs'\naccess = \"r\"", Less{Key: "fs", What: "$W/docs"},
			[]Removed{{"[[plugins.fs]]", []int{4, 7}}}, "directory $W/work write=true"},
		"tables of http": {"fs = []\n[[plugins.http]]\norigin = \"https://a.example\"\n[[plugins.http]]\norigin = \"https://b.example\"", Less{Key: "http", What: "https://a.example"},
			[]Removed{{"[[plugins.http]]", []int{4, 6}}}, "web server https://b.example write=true"},
	} {
		t.Run(name, func(t *testing.T) {
			w := admintest.New(t)
			w.Plugin(t, "first", "[capabilities]\nhttp = [\"*\"]\nfs = [{ path = \"${project}\", access = \"rw\" }]\n")
			w.Write(t, "plugins/first/plugin.toml", strings.ReplaceAll(w.Read(t, "plugins/first/plugin.toml"), "[plugin]", writes))
			w.Write(t, "docs/a", "")
			w.Config(t, "[[plugins]]\npath = \"../plugins/first\"\n"+strings.ReplaceAll(c.table, "$W", w.Dir)+"\n")
			c.less.Plugin = "first"
			n := narrow(t, w, c.less)
			if !slices.EqualFunc(n.Removes, c.removes, func(a, b Removed) bool { return a.What == b.What && slices.Equal(a.Lines, b.Lines) }) {
				t.Errorf("it removes %+v, want %+v", n.Removes, c.removes)
			}
			if got := granted(w, follow(t, w, n)); got != c.after {
				t.Errorf("after the change it is granted %s, want %s", got, c.after)
			}
		})
	}
	t.Run("inline tables", func(t *testing.T) {
		w := admintest.New(t)
		w.Plugin(t, "first", admintest.AskedFor)
		w.Config(t, "plugins = [{ path = \"../plugins/first\" }]\n")
		if n, err := Narrow(t.Context(), w.Options(), Less{Plugin: "first", Key: KeyReadOnly}); err == nil || !strings.Contains(err.Error(), "does not begin with [[") {
			t.Errorf("got %+v, %v", n, err)
		}
	})
}

// TestLinesOfAKeyAreMarked has keys of a client and of a plugin that span lines, and an item in one of them.
func TestLinesOfAKeyAreMarked(t *testing.T) {
	w := admintest.NewGranted(t)
	w.Config(t, "[[clients]]\nname = \"ci\"\nmatch = { tokens = [\"ci-*\"] }\ndeny_tools = [\n  \"x\",\n  \"y\",\n]\n\n[[plugins]]\npath = \"../plugins/first\"\nfs = [\n  { path = \"${project}\", access = \"rw\" },\n]\n")
	marked := func(e *Excerpt) string {
		all := e.Place() + ":"
		for _, l := range e.Lines {
			if l.Marked {
				all += fmt.Sprint(" ", l.Number)
			}
		}
		return all
	}
	n := narrow(t, w, Less{Plugin: "first", Key: KeyTool, What: "first_read", Client: "ci"})
	if got := marked(n.Excerpt); got != "lines 4 to 7: 4 5 6 7" || !n.Replaces {
		t.Errorf("the change replaces (%v) %s", n.Replaces, got)
	}
	if want := terminal.Command(w.Options(), "policy", "first", "--client", "table:ci"); !slices.Equal(n.Commands, []string{want}) {
		t.Errorf("the commands are %q, want %q", n.Commands, want)
	}
	w.Config(t, strings.Join(slices.Replace(strings.Split(w.Read(t, "work/bulkhead.toml"), "\n"), n.Excerpt.Line-1, n.Excerpt.Last, n.Lines), "\n"))
	if c := look(t, w).Clients[1]; c.Plugins[0].Tools[0].Offered {
		t.Errorf("after the change, %s is offered %+v", c.Name, c.Plugins[0].Tools[0])
	}
	for line, want := range map[int]string{2: "line 2: 2", 4: "line 4: 4", 7: "line 7: 7", 9: "lines 9 to 11: 9 10 11", 10: "line 10: 10", 11: "line 11: 11"} {
		if e, err := Show(w.Options(), w.Path("work/bulkhead.toml"), line); err != nil || marked(e) != want {
			t.Errorf("line %d: got %v, %v, want %s", line, e, err, want)
		}
	}
}

func TestClientsCanBeMadeReadOnly(t *testing.T) {
	w := newSample(t)
	n := narrow(t, w, Less{Plugin: "first", Key: KeyReadOnly, Client: "ops"})
	if n.Lines != "read_only = true\n" || n.At.Line != 12 || n.Replaces || !n.ReadOnly || n.Words != "the client ops without write tools and write access, for all plugins" {
		t.Errorf("got %+v", n)
	}
	if len(n.Reached) != 1 || n.Reached[0].Client != "ops" || len(n.Changes) == 0 {
		t.Errorf("it reaches %+v, with %+v", n.Reached, n.Changes)
	}
	follow(t, w, n)
	for _, c := range look(t, w).Clients {
		if writes := c.Plugins[0].Breadth.Writing > 0; writes != (c.Name == explain.ThisUser) {
			t.Errorf("for %s, tools write: %v", c.Name, writes)
		}
	}
	if n := narrow(t, w, Less{Plugin: "first", Key: KeyReadOnly, Client: "ci"}); n.At.Line != 11 || !n.Replaces {
		t.Errorf("for a table with the key: %+v", n)
	}
}

func TestChangedConfigIsTrustedByItsPath(t *testing.T) {
	w := newSample(t)
	w.Trust(t, "work/bulkhead.toml")
	n, err := Narrow(t.Context(), w.Discovering(), Less{Plugin: "first", Key: KeyReadOnly})
	if err != nil {
		t.Fatal(err)
	}
	if want := "bulkhead trust " + visible.ShellWord(w.Path("work/bulkhead.toml")); n.Commands[0] != want {
		t.Errorf("the commands are %q, want %q first", n.Commands, want)
	}
}
