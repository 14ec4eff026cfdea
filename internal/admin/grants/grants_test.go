package grants

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/admintest"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/explain"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
)

// sample is a config of the plugins first, second and broken, with two tables of clients, one of which may not write.
const sample = `[defaults]
deny = ["**/.env"]
[audit]
file = "audit.jsonl"
[http]
tokens = true
[[clients]]
name = "ci"
match = { tokens = ["ci-*"] }
plugins = ["first"]
read_only = true
[[clients]]
name = "ops"
match = { auth = "any" }
[[plugins]]
path = "../plugins/first"
fs = [
  { path = "${project}", access = "rw" },
  { path = "../docs", access = "r" },
]
env = { TOKEN = "s3cr3t" } # hunter2
http = ["https://a.example"]
[[plugins]]
path = "../plugins/second"
prefix = "x_"
deny_tools = ["second_write"]
`

func newSample(t *testing.T) *admintest.Workspace {
	t.Helper()
	w := admintest.NewGranted(t)
	w.Write(t, "docs/a", "")
	w.Config(t, strings.NewReplacer(`"../docs"`, fmt.Sprintf("%q", w.Path("docs")), `"audit.jsonl"`, fmt.Sprintf("%q", w.Path("audit.jsonl"))).Replace(sample))
	return w
}

func look(t *testing.T, w *admintest.Workspace) *Picture {
	t.Helper()
	p, err := Look(t.Context(), w.Options())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// describe formats what is granted: access, thing, and the lines that cause it.
func describe(w *admintest.Workspace, p Plugin) []string {
	lines := func(at []config.Position) string {
		var all []string
		for _, a := range at {
			all = append(all, a.String())
		}
		return strings.Join(all, " ")
	}
	var all []string
	for _, t := range p.Tools {
		if t.Offered {
			all = append(all, fmt.Sprintf("tool %s %s: %s", t.Name, t.Access, lines(t.At)))
		}
	}
	for _, g := range p.Grants {
		if !g.State {
			all = append(all, fmt.Sprintf("%s %s write=%v: %s", g.Kind, strings.ReplaceAll(g.What, w.Dir, "$W"), g.Write, lines(g.At)))
		}
	}
	return all
}

func TestPictureHasEachClientWithTheLinesOfItsGrants(t *testing.T) {
	w := newSample(t)
	p := look(t, w)
	var got []string
	for _, c := range p.Clients {
		for _, plugin := range c.Plugins {
			got = append(got, c.Name+" "+plugin.Name+" "+plugin.Problem)
			got = append(got, describe(w, plugin)...)
		}
	}
	first := []string{
		"tool first_read read: bulkhead.toml:15", "tool first_write write: bulkhead.toml:15",
		"directory $W/work write=true: bulkhead.toml:18", "directory $W/docs write=false: bulkhead.toml:19",
		"web server https://a.example write=true: bulkhead.toml:22", "variable TOKEN write=false: bulkhead.toml:21",
	}
	second := []string{"tool x_second_read read: bulkhead.toml:23"}
	ci := []string{
		"tool first_read read: bulkhead.toml:15",
		"directory $W/work write=false: bulkhead.toml:18 bulkhead.toml:11", "directory $W/docs write=false: bulkhead.toml:19",
		"web server https://a.example write=true: bulkhead.toml:22", "variable TOKEN write=false: bulkhead.toml:21",
	}
	want := slices.Concat(
		[]string{explain.ThisUser + " first "}, first, []string{explain.ThisUser + " second "}, second,
		[]string{"ci first "}, ci, []string{"ci second not in clients[ci].plugins (" + w.Path("work/bulkhead.toml") + ":10)"},
		[]string{"ops first "}, first, []string{"ops second "}, second,
	)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(want -, got +)\n%s", diff)
	}
}

func TestThingsNameWhoCanWriteThem(t *testing.T) {
	w := newSample(t)
	for _, thing := range look(t, w).Things {
		if thing.What != w.Path("work") {
			continue
		}
		if diff := cmp.Diff([]Reacher{{Plugin: "first", Clients: []string{explain.ThisUser, "ops"}}}, thing.Writers); diff != "" {
			t.Errorf("writers (want -, got +)\n%s", diff)
		}
		if diff := cmp.Diff([]Reacher{{Plugin: "first", Clients: []string{"ci"}}}, thing.Readers); diff != "" {
			t.Errorf("readers (want -, got +)\n%s", diff)
		}
		return
	}
	t.Error("the project is not among the things")
}

// TestThingsNameWhoReachesThemByAnotherGrant has a directory in a granted one, a symbolic link, one that is refused, and origins of the public web.
func TestThingsNameWhoReachesThemByAnotherGrant(t *testing.T) {
	w := admintest.New(t)
	const asks = "[capabilities]\nhttp = [\"public-web\", \"https://a.example\"]\nfs = [{ path = \"${project}\", access = \"rw\", why = 'x' }]\n"
	for _, name := range []string{"outer", "inner", "link", "both"} {
		w.Plugin(t, name, asks)
	}
	w.Write(t, "src/app/a", "")
	w.Write(t, "file", "")
	admintest.Symlink(t, w, "src/app", "alias")
	fs := func(name, http string, dirs ...string) string {
		text := ""
		for _, dir := range dirs {
			text += "{ path = '" + w.Path(dir[1:]) + "', access = \"" + map[byte]string{'+': "rw", '-': "r"}[dir[0]] + "\" }, "
		}
		return "[[plugins]]\npath = \"../plugins/" + name + "\"\nhttp = [" + http + "]\nfs = [" + text + "]\n"
	}
	w.Config(t, fs("outer", `"public-web"`, "+src")+fs("inner", `"https://a.example"`, "-src/app")+fs("link", "", "+alias")+fs("both", "", "+src", "-src/app", "-file"))
	var got []string
	for _, thing := range look(t, w).Things {
		for _, list := range []struct {
			how string
			of  []Reacher
		}{{"writes", thing.Writers}, {"reads", thing.Readers}} {
			for _, r := range list.of {
				line := strings.ReplaceAll(fmt.Sprintf("%s %s %s", r.Plugin, list.how, thing.What), w.Dir, "$W")
				if r.By != "" {
					line += " by " + strings.ReplaceAll(r.By, w.Dir, "$W")
				}
				got = append(got, line)
			}
		}
	}
	want := []string{
		"outer writes $W/src", "both writes $W/src", "outer writes $W/src/app by $W/src", "link writes $W/src/app by $W/alias", "inner reads $W/src/app", "both reads $W/src/app",
		"outer writes https://a.example by public-web", "inner writes https://a.example", "outer writes public-web",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(want -, got +)\n%s", diff)
	}
}

// TestClientsOfOtherProjectsReachNothingHere has a table that does not allow the server's own project, the only one that is shown.
func TestClientsOfOtherProjectsReachNothingHere(t *testing.T) {
	w := admintest.NewGranted(t)
	w.Write(t, "site/a", "")
	w.Config(t, "[[projects]]\nname = \"site\"\npath = '"+w.Path("site")+"'\n[[clients]]\nname = \"web\"\nmatch = { auth = \"any\" }\nprojects = [\"site\"]\n"+
		"[[plugins]]\npath = \"../plugins/first\"\nfs = [{ path = \"${project}\", access = \"rw\" }]\n")
	p := look(t, w)
	if p.Projects != 1 {
		t.Errorf("%d projects are said", p.Projects)
	}
	for _, thing := range p.Things {
		for _, r := range append(thing.Writers, thing.Readers...) {
			if slices.Contains(r.Clients, "web") {
				t.Errorf("web reaches %s by %s", thing.What, r.Plugin)
			}
		}
	}
	if problem := p.Clients[1].Plugins[0].Problem; !strings.Contains(problem, "[[projects]]") {
		t.Errorf("the problem is %q", problem)
	}
}

func TestCutsHaveTheLineOfTheCeiling(t *testing.T) {
	w := newSample(t)
	w.Write(t, hosttest.Ceiling, admintest.StrictCeiling)
	plugin := look(t, w).Clients[0].Plugins[0]
	var got []string
	for _, c := range plugin.Cuts {
		got = append(got, fmt.Sprintf("%s %s: %d", c.Key, strings.ReplaceAll(c.What, w.Dir, "$W"), c.At.Line))
		if c.At.File != w.Path(hosttest.Ceiling) {
			t.Errorf("%s has the position %s:%d", c.What, c.At.File, c.At.Line)
		}
	}
	want := []string{"fs $W/work: 3", "fs $W/docs: 3", "http https://a.example: 4", "env TOKEN: 5", "limits.time 30s: 6"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(want -, got +)\n%s", diff)
	}
	i := slices.IndexFunc(plugin.Tools, func(t Tool) bool { return t.Name == "first_read" })
	if tool := plugin.Tools[i]; tool.Offered || len(tool.At) != 1 || tool.At[0] != (config.Position{File: w.Path(hosttest.Ceiling), Line: 2}) {
		t.Errorf("the tool that the ceiling withholds is %+v", tool)
	}
}

// TestCutsHaveNothingThatIsGrantedOrHidden has a client that is granted a directory in a granted one, and more deny patterns.
func TestCutsHaveNothingThatIsGrantedOrHidden(t *testing.T) {
	w := newSample(t)
	w.Write(t, "work/src/a", "")
	w.Config(t, strings.Replace(w.Read(t, "work/bulkhead.toml"), "read_only = true\n", "deny = [\"**/*.key\"]\nfs = [{ path = \"${project}/src\", access = \"rw\" }, { path = "+quote(w.Path("docs"))+", access = \"r\" }]\n", 1))
	plugin := look(t, w).Clients[1].Plugins[0]
	var got []string
	for _, c := range plugin.Cuts {
		got = append(got, c.Key+" "+strings.ReplaceAll(c.What, w.Dir, "$W"))
	}
	for _, h := range plugin.Hidden {
		got = append(got, "hidden "+h.What)
	}
	for _, g := range plugin.Grants {
		if g.Key == "fs" && !g.State {
			got = append(got, fmt.Sprintf("granted %s write=%v", strings.ReplaceAll(g.What, w.Dir, "$W"), g.Write))
		}
	}
	want := []string{"fs $W/work", "hidden **/.env", "hidden **/*.key", "granted $W/docs write=false", "granted $W/work/src write=true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(want -, got +)\n%s", diff)
	}
}

func TestUnusedToolsAreThoseThatTheLogLacks(t *testing.T) {
	w := newSample(t)
	record := func(tool, plugin string, before time.Duration) string {
		return fmt.Sprintf(`{"time":%q,"kind":"call","id":"1","plugin":%q,"principal":"local","method":"tools/call","tool":%q,"outcome":"ok"}`+"\n",
			time.Now().Add(-before).UTC().Format(time.RFC3339Nano), plugin, tool)
	}
	prompt := strings.ReplaceAll(record("first_read", "first", time.Hour), "tools/call", "prompts/get")
	unused := func() []string {
		var all []string
		p := look(t, w)
		for _, plugin := range p.Clients[0].Plugins {
			for _, tool := range plugin.Tools {
				if tool.Unused {
					all = append(all, tool.Name)
				}
			}
		}
		return all
	}
	if got := unused(); got != nil {
		t.Errorf("without records, %q are unused", got)
	}
	const day = 24 * time.Hour
	w.Write(t, "audit.jsonl", record("first_write", "first", 50*day)+record("first_read", "first", 40*day)+record("x_second_read", "second", day)+prompt)
	if diff := cmp.Diff([]string{"first_read", "first_write"}, unused()); diff != "" {
		t.Errorf("(want -, got +)\n%s", diff)
	}
}

func TestUnusedDirectoriesAreThoseThatTheLogLacks(t *testing.T) {
	const day = 24 * time.Hour
	record := func(before time.Duration, grants string) string {
		return fmt.Sprintf(`{"time":%q,"kind":"call","id":"1","plugin":"first","principal":"local","method":"tools/call","tool":"first_read","outcome":"ok","grants":[%s]}`+"\n",
			time.Now().Add(-before).UTC().Format(time.RFC3339Nano), grants)
	}
	directory := func(path, access string) string {
		return fmt.Sprintf(`{"kind":"directory","path":%q,"access":%q}`, path, access)
	}
	for name, c := range map[string]struct {
		log  string
		want []string
	}{
		"no log":                              {"", nil},
		"a log of a host that does not count": {record(50*day, "") + record(day, ""), nil},
		"nothing since 40 days":               {record(40*day, directory("$W/docs", "r")), []string{"unused $W/work", "unused $W/docs"}},
		"one directory":                       {record(40*day, directory("$W/work", "r")) + record(day, directory("$W/docs", "r")), []string{"unused $W/work"}},
		"written once":                        {record(40*day, directory("$W/work", "w")) + record(day, directory("$W/work", "r")), []string{"unwritten $W/work", "unused $W/docs"}},
		"both":                                {record(40*day, directory("$W/work", "r")) + record(day, directory("$W/work", "w")+","+directory("$W/docs", "r")), nil},
		"in a directory of it":                {record(day, directory("$W/work/src", "rw")), []string{"unused $W/docs"}},
		"beside it":                           {record(day, directory("$W/workshop", "rw")), []string{"unused $W/docs"}}, // perhaps of another project
		"long ago beside it":                  {record(40*day, directory("$W/workshop", "rw")), []string{"unused $W/work", "unused $W/docs"}},
		"what contained it":                   {record(day, directory("$W", "r")), nil}, // perhaps by a wider grant
		"lost records":                        {record(day, directory("$W/docs", "r")) + fmt.Sprintf(`{"time":%q,"kind":"gap","lost":1}`+"\n", time.Now().UTC().Format(time.RFC3339Nano)), []string{"unused $W/work"}},
		"a repository":                        {strings.ReplaceAll(record(day, directory("$W/work", "rw")), `"directory"`, `"repository"`), []string{"unused $W/work", "unused $W/docs"}},
		"a worker was lost": {record(40*day, directory("$W/work", "r")) +
			strings.Replace(record(day, ""), `"outcome":"ok"`, `"outcome":"failed","code":"worker_lost"`, 1), nil},
		"a record that does not list all": {record(40*day, directory("$W/work", "r")) +
			strings.Replace(record(day, ""), `"grants":[]`, `"grants_left_out":3`, 1), nil},
		"an old record that does not list all": {record(40*day, directory("$W/work", "r")) +
			strings.Replace(record(39*day, ""), `"grants":[]`, `"grants_left_out":3`, 1), []string{"unused $W/work", "unused $W/docs"}},
		"another plugin": {strings.ReplaceAll(record(day, directory("$W/work", "r")), `"first"`, `"second"`), []string{"unused $W/work", "unused $W/docs"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSample(t)
			w.Write(t, "audit.jsonl", strings.ReplaceAll(c.log, "$W", w.Dir))
			var got []string
			p := look(t, w).Clients[0].Plugins[0]
			for _, g := range p.Grants {
				what := strings.ReplaceAll(g.What, w.Dir, "$W")
				if g.Unused {
					got = append(got, "unused "+what)
				}
				if g.Unwritten {
					got = append(got, "unwritten "+what)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(want -, got +)\n%s", diff)
			}
		})
	}
}

func TestNarrowingsAreAcceptedAndRemoveWhatTheySay(t *testing.T) {
	for name, c := range map[string]struct {
		plugin, key, what, lines string
		replaces                 bool
		line                     int
		removed                  []string
	}{
		"a tool":               {"first", KeyTool, "first_write", "deny_tools = [\"first_write\"]\n", false, 15, []string{"tool first_write write"}},
		"a tool with a prefix": {"second", KeyTool, "second_read", "deny_tools = [\"second_write\", \"second_read\"]\n", true, 26, []string{"tool x_second_read read"}},
		"writing":              {"first", KeyReadOnly, "", "read_only = true\n", false, 15, []string{"tool first_write write", "directory $W/work rw"}},
		"a directory":          {"first", "fs", "$W/docs", "fs = [{ path = \"${project}\", access = \"rw\" }]\n", true, 17, []string{"directory $W/docs r"}},
		"an origin":            {"first", "http", "https://a.example", "http = []\n", true, 22, []string{"web server https://a.example"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSample(t)
			n, err := Narrow(t.Context(), w.Options(), Less{Plugin: c.plugin, Key: c.key, What: strings.ReplaceAll(c.what, "$W", w.Dir)})
			if err != nil {
				t.Fatal(err)
			}
			if n.Lines != c.lines || n.Replaces != c.replaces || n.At.Line != c.line || n.Problem != "" {
				t.Errorf("got %q at line %d, replaces = %v, %s", n.Lines, n.At.Line, n.Replaces, n.Problem)
			}
			if want := fmt.Sprintf("${EDITOR:-vi} +%d %s", c.line, w.Path("work/bulkhead.toml")); n.Edit != want {
				t.Errorf("the command is %q, want %q", n.Edit, want)
			}
			var removed []string
			for _, l := range n.Changes {
				if l.Change == "removed" {
					removed = append(removed, l.Kind+" "+strings.ReplaceAll(l.What, w.Dir, "$W"))
				}
			}
			if diff := cmp.Diff(c.removed, removed); diff != "" {
				t.Errorf("(want -, got +)\n%s", diff)
			}
			// The lines are written where the page says.
			lines := strings.SplitAfter(w.Read(t, "work/bulkhead.toml"), "\n")
			switch {
			case !n.Replaces:
				lines = slices.Insert(lines, n.At.Line, n.Lines)
			case c.key == "fs":
				lines = slices.Replace(lines, n.At.Line-1, n.At.Line+3, n.Lines)
			default:
				lines[n.At.Line-1] = n.Lines
			}
			w.Config(t, strings.Join(lines, ""))
			if err := removedFrom(w, look(t, w), c.plugin, c.key, strings.ReplaceAll(c.what, "$W", w.Dir)); err != nil {
				t.Error(err)
			}
		})
	}
}

// removedFrom returns an error if the plugin is still granted what was removed.
func removedFrom(w *admintest.Workspace, p *Picture, plugin, key, what string) error {
	for _, served := range p.Clients[0].Plugins {
		if served.Name != plugin {
			continue
		}
		if served.Problem != "" && served.Breadth.Tools > 0 {
			return errors.New(served.Problem)
		}
		for _, line := range describe(w, served) {
			if key == KeyReadOnly && strings.Contains(line, "write=true") && !strings.HasPrefix(line, "web server") {
				return fmt.Errorf("it can still write: %s", line)
			}
			if what != "" && strings.Contains(line, " "+strings.ReplaceAll(what, w.Dir, "$W")+" ") {
				return fmt.Errorf("it is still granted %s", line)
			}
		}
		return nil
	}
	return fmt.Errorf("there is no plugin %s", plugin)
}

// TestNarrowingsOfClientsChangeTheirTable has a table with read_only and one without a key.
func TestNarrowingsOfClientsChangeTheirTable(t *testing.T) {
	w := newSample(t)
	n, err := Narrow(t.Context(), w.Options(), Less{Plugin: "first", Key: KeyTool, What: "first_write", Client: "ops"})
	if err != nil {
		t.Fatal(err)
	}
	want := Narrowing{
		Plugin: "first", Client: "ops", Words: "first without first_write for the client ops", At: config.Position{File: w.Path("work/bulkhead.toml"), Line: 12},
		Lines: "deny_tools = [\"first_write\"]\n", Changes: []review.GrantLine{{Change: review.Removed, Kind: "tool", What: "first_write write"}},
		Reached: []Reached{{"ops", []string{"first"}}}, Unreached: []string{explain.ThisUser, "ci"},
	}
	if diff := cmp.Diff(&want, n, cmpopts.IgnoreFields(Narrowing{}, "Edit", "Commands", "Excerpt")); diff != "" {
		t.Errorf("(want -, got +)\n%s", diff)
	}
	lines := strings.SplitAfter(w.Read(t, "work/bulkhead.toml"), "\n")
	w.Config(t, strings.Join(slices.Insert(lines, n.At.Line, n.Lines), ""))
	for _, c := range look(t, w).Clients {
		got := slices.ContainsFunc(c.Plugins[0].Tools, func(tool Tool) bool { return tool.Name == "first_write" && tool.Offered })
		if got != (c.Name == explain.ThisUser) { // the table of ci is read-only
			t.Errorf("for %s, the tool is offered: %v", c.Name, got)
		}
	}
	for _, l := range []Less{{"first", KeyTool, "first_write", "absent"}, {"first", KeyTool, "absent", "ops"}, {"first", "fs", w.Path("docs"), "ops"}} {
		var correctable *usage.Error
		if n, err := Narrow(t.Context(), w.Options(), l); !errors.As(err, &correctable) {
			t.Errorf("%q: got %+v, %v", l, n, err)
		}
	}
}

func TestNarrowingsOfPluginsNameTheClientsThatTheyReach(t *testing.T) {
	w := newSample(t)
	n, err := Narrow(t.Context(), w.Options(), Less{Plugin: "first", Key: KeyReadOnly})
	if err != nil {
		t.Fatal(err)
	}
	want := []Reached{{explain.ThisUser, []string{"first"}}, {"ops", []string{"first"}}}
	if diff := cmp.Diff(want, n.Reached); diff != "" || !slices.Equal(n.Unreached, []string{"ci"}) || n.Client != explain.ThisUser || !n.ReadOnly {
		t.Errorf("got %+v: (want -, got +)\n%s", n, diff)
	}
}

func TestReadOnlyDirectoriesAreSaidBesideToolsThatWrite(t *testing.T) {
	for _, c := range []struct {
		Breadth
		cannot, writes bool
	}{
		{Breadth{Writing: 1, Directories: 1}, true, false}, {Breadth{Writing: 1, Directories: 1, Origins: 1}, true, true}, {Breadth{Writing: 1}, false, true},
		{Breadth{Writing: 1, Directories: 2, Writable: 1}, false, true}, {Breadth{Writing: 1, Repositories: 1}, true, false}, {Breadth{Directories: 1, Writable: 1}, false, false},
	} {
		if c.CannotWrite() != c.cannot || c.Writes() != c.writes {
			t.Errorf("%v: got %v, %v", c.Breadth, c.CannotWrite(), c.Writes())
		}
	}
}

func TestNarrowRefusesWhatIsNotGranted(t *testing.T) {
	w := newSample(t)
	for _, c := range [][3]string{
		{"unknown", KeyTool, "x"}, {"first", KeyTool, "x"}, {"first", "fs", "/etc"}, {"first", "http", "https://b.example"}, {"first", "git", "/"}, {"first", "env", "TOKEN"},
		{"second", KeyTool, "second_write"}, {"first", "path", "/"},
	} {
		var correctable *usage.Error
		if n, err := Narrow(t.Context(), w.Options(), Less{Plugin: c[0], Key: c[1], What: c[2]}); !errors.As(err, &correctable) {
			t.Errorf("%q: got %+v, %v", c, n, err)
		}
	}
}

func TestExcerptsAreOfFilesOfTheInstallationAndHaveNoSecrets(t *testing.T) {
	w := newSample(t)
	e, err := Show(w.Options(), w.Path("work/bulkhead.toml"), 21)
	if err != nil {
		t.Fatal(err)
	}
	var text []string
	for _, l := range e.Lines {
		text = append(text, l.Text)
		if l.Marked != (l.Number == 21) {
			t.Errorf("line %d: marked = %v", l.Number, l.Marked)
		}
	}
	shown := strings.Join(text, "\n")
	if strings.Contains(shown, "s3cr3t") || strings.Contains(shown, "hunter2") || !strings.Contains(shown, "\nenv = …\nhttp = [\"https://a.example\"]\n") {
		t.Errorf("the excerpt is\n%s", shown)
	}
	if _, err := Show(w.Options(), w.Path("plugins/first/plugin.toml"), 2); err != nil {
		t.Errorf("the manifest: %v", err)
	}
	for _, file := range []string{"/etc/passwd", w.Path("audit.jsonl"), w.Path("work/a"), w.Path("work/../work/bulkhead.toml") + "/", "work/bulkhead.toml", ""} {
		if e, err := Show(w.Options(), file, 1); err == nil {
			t.Errorf("%s is shown: %+v", file, e)
		}
	}
	for _, line := range []int{-1, 1000} {
		if _, err := Show(w.Options(), w.Path("work/bulkhead.toml"), line); err == nil {
			t.Errorf("line %d is shown", line)
		}
	}
}

func TestExcerptsHideWhereTracesGo(t *testing.T) {
	lines, err := tomlfile.Outline([]byte("[audit]\notlp = \"https://collector.example/s3cr3t\"\n"), isSecret)
	if shown := strings.Join(lines, "\n"); err != nil || strings.Contains(shown, "s3cr3t") || !strings.Contains(shown, "otlp = …") {
		t.Errorf("got %q, %v", shown, err)
	}
}
