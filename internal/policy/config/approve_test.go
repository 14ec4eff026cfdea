package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// approved lists what of a grant needs approval, with the keys that require it. A hyphen stands for requests that call no tool.
func approved(g config.Grant) any {
	var out []string
	for _, t := range g.Tools {
		if by := g.ApprovalBy(&t); by != "" {
			out = append(out, t.Name+": "+by)
		}
	}
	if by := g.ApprovalBy(nil); by != "" {
		out = append(out, "-: "+by)
	}
	return strings.Join(out, ", ")
}

func TestApprovals(t *testing.T) {
	const (
		writes = "plugins[0].approve_writes"
		rw     = "[[capabilities.fs]]\npath = '${project}'\naccess = 'rw'\n"
		repo   = "[[capabilities.git]]\nrepo = '${project}'\naccess = 'rw'\nremotes = ['https://a/r']\n"
	)
	for name, c := range map[string]struct {
		decide
		want     string
		problems string
	}{
		"nothing is required":     {decide{tools: "a W", caps: rw, config: conf("")}, "", ""},
		"without a write grant":   {decide{tools: "a W", config: conf("approve_writes = true")}, "W: approve_writes (bulkhead.toml:3)", ""},
		"a writable directory":    {decide{tools: "a W", caps: rw, config: conf("approve_writes = true")}, "a: approve_writes (bulkhead.toml:3), W: approve_writes (bulkhead.toml:3), -: approve_writes (bulkhead.toml:3)", ""},
		"a readable directory":    {decide{tools: "a", caps: rw, config: conf("approve_writes = true\nfs = [{ path = '${project}', access = 'r' }]")}, "", ""},
		"the state directory":     {decide{tools: "a", caps: "[[capabilities.fs]]\npath = '${state}'\naccess = 'rw'\n", config: conf("approve_writes = true")}, "", ""},
		"an origin":               {decide{tools: "a", caps: "[capabilities]\nhttp = ['https://a']", config: conf("approve_writes = true")}, "a: approve_writes (bulkhead.toml:3), -: approve_writes (bulkhead.toml:3)", ""},
		"the public web":          {decide{tools: "a", caps: "[capabilities]\nhttp = ['public-web']", config: conf("approve_writes = true\nhttp = ['public-web']")}, "a: approve_writes (bulkhead.toml:3), -: approve_writes (bulkhead.toml:3)", ""},
		"a writable repository":   {decide{tools: "a", caps: repo, config: conf("approve_writes = true\ngit = [{ repo = '${project}', access = 'rw' }]")}, "a: approve_writes (bulkhead.toml:3), -: approve_writes (bulkhead.toml:3)", ""},
		"a readable repository":   {decide{tools: "a", caps: repo, config: conf("approve_writes = true\ngit = [{ repo = '${project}', access = 'r', remotes = ['https://a/r'] }]")}, "", ""},
		"names":                   {decide{tools: "a ab W", caps: rw, config: conf("prefix = 'x_'\napprove_tools = ['ab', '[V-Z]']")}, "ab: approve_tools (bulkhead.toml:4), W: approve_tools (bulkhead.toml:4)", ""},
		"an unknown name":         {decide{tools: "a", config: conf("approve_tools = ['b']")}, "", "error /etc/bulkhead.toml:3 plugins[0].approve_tools[0]: notes has no tool \"b\""},
		"a pattern of nothing":    {decide{tools: "a", config: conf("approve_tools = ['b*']")}, "", "warning /etc/bulkhead.toml:3 plugins[0].approve_tools[0]"},
		"the defaults":            {decide{tools: "a W", config: "[defaults]\napprove_writes = true\napprove_tools = ['a']\n" + conf("approve_writes = false")}, "a: defaults.approve_tools (bulkhead.toml:3), W: defaults.approve_writes (bulkhead.toml:2)", ""},
		"the ceiling":             {decide{tools: "a W", config: conf("approve_writes = false"), ceiling: all("approve_writes = true\napprove_tools = ['a']")}, "a: ceiling.approve_tools (/etc/bulkhead/bulkhead.toml:3), W: ceiling.approve_writes (/etc/bulkhead/bulkhead.toml:2)", ""},
		"the ceiling of a plugin": {decide{tools: "a", config: conf(""), ceiling: "[[plugins]]\nname = 'notes'\napprove_tools = ['*']"}, "a: plugins[notes].approve_tools (/etc/bulkhead/bulkhead.toml:3)", ""},
		"what the ceiling leaves": {decide{tools: "a", caps: rw, config: conf("approve_writes = true"), ceiling: all("read_only = true")}, "", "warning"},
	} {
		t.Run(name, func(t *testing.T) {
			g, problems := c.run(t)
			check(t, "approvals", c.want, plain(approved(g).(string)))
			checkPrefixes(t, c.problems, problems)
		})
	}
}

func TestApprovalKeysAreChecked(t *testing.T) {
	for text, want := range map[string]string{
		conf("approve_writes = 'yes'"):                   "3 plugins[0].approve_writes",
		conf("approve_tools = ['[']"):                    "3 plugins[0].approve_tools",
		conf("approve = true"):                           "3 plugins[0].approve",
		"[defaults]\napprove_tools = true\n" + conf(""):  "2 defaults.approve_tools",
		conf("") + client("approve_tools = ['']"):        "6 clients[0].approve_tools",
		conf("") + client("approve_writes = 'all'\n"):    "6 clients[0].approve_writes",
		conf("") + client("approve_writes = [true]\n\n"): "6 clients[0].approve_writes",
	} {
		_, ps := config.ParseWith("/etc/bulkhead.toml", []byte(onHost(text)), tree{}.read)
		if ps.Err() == nil || !strings.Contains(ps.Err().Error(), "bulkhead.toml:"+strings.Replace(want, " ", ": ", 1)) {
			t.Errorf("%s: got %v, want %s", text, ps.Err(), want)
		}
	}
}

func TestApprovalsOfClient(t *testing.T) {
	m := &manifest.Manifest{Name: "notes", Tools: []manifest.Tool{{Name: "a"}, {Name: "w", Write: true}}}
	cfg, ps := config.ParseWith("/etc/bulkhead.toml", []byte(onHost(conf("approve_tools = ['a']\n")+client("approve_writes = true"))), tree{}.read)
	if ps.Err() != nil {
		t.Fatal(ps)
	}
	before, _ := config.Decide(m, cfg.Plugins[0], cfg.Defaults, places, config.Flags{})
	after := cfg.Clients.Tables[0].Narrow(m, cfg.Plugins[0], places, nil, before)
	check(t, "approvals", "a: approve_tools (bulkhead.toml:3), w: clients[c].approve_writes (/etc/bulkhead.toml:7)", approved(after))
	check(t, "approvals of others", "a: approve_tools (bulkhead.toml:3)", approved(before))
	check(t, "keys", []string{"approve_writes"}, cfg.Clients.Tables[0].Keys)
}

// checkApprovals checks that bounds remove no rule of a grant, that theirs hold, and that a tool which needed approval does without it only
// if nothing is left that it could write.
func checkApprovals(t *testing.T, b config.Bounds, before, after config.Grant) {
	t.Helper()
	if len(after.Approve) < len(before.Approve) {
		t.Fatalf("%d rules are left of %d", len(after.Approve), len(before.Approve))
	}
	check(t, "rules", before.Approve, after.Approve[:len(before.Approve)])
	reads := len(after.HTTP) == 0 && !slices.ContainsFunc(after.FS, func(m config.Mount) bool { return !m.State && m.Access != manifest.Read }) &&
		!slices.ContainsFunc(after.Git, func(g config.Git) bool { return g.Access != manifest.Read })
	named := config.Filter{Allow: b.Approve.Tools}
	for _, tool := range after.Tools {
		by := after.ApprovalBy(&tool)
		if by == "" && (before.ApprovalBy(&tool) != "" && !reads || b.Approve.Writes && (tool.Write || !reads) || len(b.Approve.Tools) > 0 && named.Allowed(tool.Name)) {
			t.Errorf("tool %s needs no approval any more", tool.Name)
		}
	}
}

func TestPatternsOfApprovalThatMatchNothingAreReported(t *testing.T) {
	text := "[defaults]\napprove_tools = ['notes_*', 'note_add']\n" + conf("") + client("approve_tools = [\n'notes_add', 'x']")
	cfg, ps := config.ParseWith("/etc/bulkhead.toml", []byte(onHost(text)), tree{}.read)
	if ps.Err() != nil {
		t.Fatal(ps)
	}
	var got []string
	for _, p := range config.UnmatchedApprovals(cfg.Defaults, cfg.Clients.Tables, []string{"notes_add"}) {
		got = append(got, p.String())
	}
	check(t, "warnings", []string{
		`/etc/bulkhead.toml:2: defaults.approve_tools[1]: "note_add" matches no tool of any plugin, so it requires no approval` + "\n  remedy: did you mean \"notes_add\"? Otherwise remove it",
		`/etc/bulkhead.toml:8: clients[0].approve_tools[1]: "x" matches no tool of any plugin, so it requires no approval` + "\n  remedy: correct or remove it",
	}, got)
}
