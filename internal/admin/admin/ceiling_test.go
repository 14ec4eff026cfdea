package admin_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/admin"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
)

const strictCeiling = `[ceiling]
deny_tools = ["first_read"]
fs = [{ path = "${project}", access = "r" }]
http = []
env = []
limits = { time = "2s" }
deny = ["**/*.key"]
`

func TestExplainSaysWhatCeilingCuts(t *testing.T) {
	w := policyWorkspace(t)
	w.config(t, "[[plugins]]\npath = \"../plugins/first\"\nhttp = [\"https://a.example\"]\nfs = [{ path = \"${project}\", access = \"rw\" }, { path = \"$W/home/x\", access = \"r\" }]\nenv = { TOKEN = \"t\" }\nlimits = { time = \"5s\" }\n")
	w.config(t, strings.ReplaceAll(w.read(t, "work/bulkhead.toml"), "$W", w.dir))
	w.write(t, "etc/bulkhead.toml", strictCeiling)
	w.write(t, "home/x/file", "")
	file := w.path("etc/bulkhead.toml")
	for name, c := range map[string]struct {
		ask  admin.Question
		want string
	}{
		"a tool":        {admin.Question{Tool: "first_read"}, `denied by "first_read" in ceiling.deny_tools (` + file + ":2)"},
		"an origin":     {admin.Question{Origin: "https://a.example"}, "it is not in ceiling.http (" + file + ":4)"},
		"a variable":    {admin.Question{Variable: "TOKEN"}, "it is not in ceiling.env (" + file + ":5)"},
		"a path":        {admin.Question{Path: w.path("home/x")}, w.path("home/x") + " is not granted: it is in none of the directories of ceiling.fs (" + file + ":3)"},
		"writing":       {admin.Question{Path: w.path("work/a")}, "ceiling.fs (" + file + ":3) allows no more"},
		"a hidden file": {admin.Question{Path: w.path("work/a.key")}, "ceiling.deny (" + file + ":"},
	} {
		found, err := admin.Explain(w.options(), c.ask)
		if err != nil || found.Ceiling != file {
			t.Fatalf("%s: Explain returned the error %v and the ceiling %s", name, err, found.Ceiling)
		}
		if !strings.Contains(found.Answers[len(found.Answers)-1].Why, c.want) {
			t.Errorf("%s: got %+v, want %s", name, found.Answers, c.want)
		}
	}
	found, err := admin.Explain(w.options(), admin.Question{})
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

func TestCommandsThatEditStayBelowCeiling(t *testing.T) {
	w := policyWorkspace(t)
	w.write(t, "etc/bulkhead.toml", "[[plugins]]\nname = \"second\"\n[[plugins]]\nname = \"third\"\nread_only = true\n")
	w.write(t, "new/bulkhead.toml", "[[plugins]]\npath = \"../plugins/second\"\n")
	o := w.options()
	o.ConfigFile = w.path("new/bulkhead.toml")
	_, err := admin.Propose(o, admin.Addition{Dir: w.path("plugins/first")})
	if err == nil || !strings.Contains(err.Error(), "first is not allowed: "+w.path("etc/bulkhead.toml")+":1 allows only these plugins: second, third") {
		t.Errorf("Propose: got %v, want an error that names the plugins that the ceiling allows", err)
	}
	w.plugin(t, "third", askedFor)
	p, err := admin.Propose(o, admin.Addition{Dir: w.path("plugins/third"), Choice: review.Choice{}})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Warnings) == 0 || !strings.Contains(p.Warnings.Error(), "read_only") {
		t.Errorf("Propose: got the warnings %v, want one that names read_only", p.Warnings)
	}
	trusted, err := admin.ProposeTrust(w.discovering(), w.path("work/bulkhead.toml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, plugin := range trusted.Plugins {
		if plugin.Name == "first" && !strings.Contains(plugin.Problem, "allows only these plugins") {
			t.Errorf("ProposeTrust: got %+v, want the plugin refused by the ceiling", plugin)
		}
	}
}

func TestExamineReportsCeiling(t *testing.T) {
	for name, c := range map[string]struct {
		text, outcome, says string
		mode                os.FileMode
	}{
		"a valid one":                  {strictCeiling, admin.CheckOK, "bounds all configs", 0o644},
		"an invalid one":               {"x = 1", admin.CheckFailed, "no plugin is served", 0o644},
		"one that others can write":    {strictCeiling, admin.CheckFailed, "can be written by others", 0o666},
		"one with a link in its paths": {"[ceiling]\nfs = [{ path = \"$W/link\", access = \"r\" }]", admin.CheckWarning, "symbolic links", 0o644},
	} {
		t.Run(name, func(t *testing.T) {
			w := policyWorkspace(t)
			w.write(t, "etc/bulkhead.toml", strings.ReplaceAll(c.text, "$W", w.dir))
			if err := errors.Join(os.Chmod(w.path("etc/bulkhead.toml"), c.mode), os.Symlink("home", w.path("link"))); err != nil {
				t.Fatal(err)
			}
			checks := admin.Examine(t.Context(), w.options())
			if got := found(t, checks, "ceiling", c.says); got.Outcome != c.outcome {
				t.Errorf("got %+v", got)
			}
			if c.outcome == admin.CheckFailed {
				found(t, checks, "plugins", "not examined")
			}
		})
	}
	w := policyWorkspace(t)
	for _, check := range admin.Examine(t.Context(), w.options()) {
		if check.Name == "ceiling" {
			t.Errorf("got a check of the ceiling although there is none: %+v", check)
		}
	}
}

func TestInitStaysBelowCeiling(t *testing.T) {
	w := newWorkspace(t)
	w.plugin(t, "first", askedFor)
	w.write(t, "etc/bulkhead.toml", "[[plugins]]\nname = \"other\"\n")
	o := w.discovering()
	o.PluginsDir = w.path("plugins")
	_, err := admin.ProposeSetup(o, admin.Preparation{Plugins: []string{"first"}, Env: map[string]string{"TOKEN": "x"}})
	if err == nil || !strings.Contains(err.Error(), "first is not allowed: "+w.path("etc/bulkhead.toml")+":1 allows only these plugins: other") {
		t.Errorf("got %v", err)
	}
}

const auditing = "[server]\nconfinement = \"available\"\n[audit]\nrequired = true\n"

func TestInitAndAddWriteTheAuditLogThatTheCeilingRequires(t *testing.T) {
	for name, c := range map[string]struct{ config, state, want, file string }{
		"no config":           {want: "[audit]\nfile = \"${env:HOME}/.local/state/bulkhead/audit.jsonl\"\n\n[[plugins]]\n"},
		"a config without":    {config: "[defaults]\n\n[[plugins]]\npath = \"../plugins/first\"\n", want: "first\"\n\n[audit]\nfile = \"${env:HOME}/.local/state/bulkhead/audit.jsonl\"\n\n[[plugins]]\n"},
		"a config with":       {config: "[audit]\nfile = \"/var/log/a.jsonl\"\n", want: "[audit]\nfile = \"/var/log/a.jsonl\"\n\n[[plugins]]\n"},
		"another state":       {state: "/elsewhere", want: "[audit]\nfile = \"/elsewhere/bulkhead/audit.jsonl\"\n\n[[plugins]]\n"},
		"an included [audit]": {config: "include = [\"../more.toml\"]\n", want: "include = [\"../more.toml\"]\n\n[[plugins]]\n"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t)
			w.env["XDG_STATE_HOME"] = c.state
			w.plugin(t, "first", "")
			second := w.plugin(t, "second", "")
			w.write(t, "etc/bulkhead.toml", auditing)
			w.write(t, "more.toml", "[audit]\nfile = \"/var/log/more.jsonl\"\n")
			if c.config != "" {
				w.config(t, c.config)
			}
			o := w.options()
			o.PluginsDir = w.path("plugins")
			o.ConfigFile = "bulkhead.toml"
			p, err := admin.Propose(o, admin.Addition{Dir: second})
			if err != nil {
				t.Fatal(err)
			}
			required := w.path("etc/bulkhead.toml") + ":3"
			if wants := strings.Contains(c.want, "bulkhead/audit.jsonl"); wants != strings.HasPrefix(p.Audit, "[audit]\nfile = ") || wants != (p.AuditRequiredBy == required) {
				t.Errorf("add shows %q, required by %q", p.Audit, p.AuditRequiredBy)
			}
			s, err := admin.ProposeSetup(o, admin.Preparation{Plugins: []string{"second"}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Write(); err != nil {
				t.Fatal(err)
			}
			byInit := w.read(t, "work/bulkhead.toml")
			if !strings.Contains(byInit, c.want+"name = \"second\"\n") || strings.Contains(s.Adds, "[audit]") != (s.AuditRequiredBy == required) {
				t.Errorf("init writes %s\nwant %s in it; required by %q", byInit, c.want, s.AuditRequiredBy)
			}
			if err := os.Remove(w.path("work/bulkhead.toml")); err != nil {
				t.Fatal(err)
			}
			if c.config != "" {
				w.config(t, c.config)
			}
			if p, err = admin.Propose(o, admin.Addition{Dir: second}); err == nil {
				err = p.Write()
			}
			if err != nil {
				t.Fatal(err)
			}
			if byAdd := w.read(t, "work/bulkhead.toml"); !strings.Contains(byAdd, c.want+"path = \""+second+"\"\n") {
				t.Errorf("add writes %s\nwant %s in it", byAdd, c.want)
			}
		})
	}
}

// --repin changes nothing but the digest, so the error says which table to add to the config.
func TestRepinNamesTheAuditLogThatTheCeilingRequires(t *testing.T) {
	w := newWorkspace(t)
	w.plugin(t, "first", "")
	w.config(t, "[[plugins]]\npath = \"../plugins/first\"\n")
	w.write(t, "etc/bulkhead.toml", auditing)
	_, err := admin.Propose(w.options(), admin.Addition{Dir: "../plugins/first", Repin: true})
	wantUsage(t, err, w.path("etc/bulkhead.toml")+":3: audit.required: ", w.path("work/bulkhead.toml")+" has no [audit]", "add [audit] with file = \"…\", the absolute path of the log, to the config")
}

// In a config, ${ begins a variable: the log would be written to another path than the one that the user has agreed to.
func TestAuditLogIsNotWrittenBelowAStateDirectoryThatAConfigCannotName(t *testing.T) {
	w := newWorkspace(t)
	w.env["XDG_STATE_HOME"] = "/st${env:HOME}"
	w.plugin(t, "first", "")
	w.write(t, "etc/bulkhead.toml", auditing)
	o := w.options()
	o.PluginsDir = w.path("plugins")
	o.ConfigFile = "bulkhead.toml"
	_, err := admin.ProposeSetup(o, admin.Preparation{Plugins: []string{"first"}})
	wantUsage(t, err, "audit.required: ", "has no [audit]", "add [audit] with file = ")
}
