package install_test

import (
	"os"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/admintest"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/install"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
)

func TestCommandsThatEditStayBelowCeiling(t *testing.T) {
	w := admintest.NewGranted(t)
	w.Write(t, "etc/bulkhead.toml", "[[plugins]]\nname = \"second\"\n[[plugins]]\nname = \"third\"\nread_only = true\n")
	w.Write(t, "new/bulkhead.toml", "[[plugins]]\npath = \"../plugins/second\"\n")
	o := w.Options()
	o.ConfigFile = w.Path("new/bulkhead.toml")
	_, err := install.Propose(o, install.Addition{Dir: w.Path("plugins/first")})
	if err == nil || !strings.Contains(err.Error(), "first is not allowed: "+w.Path("etc/bulkhead.toml")+":1 allows only these plugins: second, third") {
		t.Errorf("Propose: got %v, want an error that names the plugins that the ceiling allows", err)
	}
	w.Plugin(t, "third", admintest.AskedFor)
	p, err := install.Propose(o, install.Addition{Dir: w.Path("plugins/third"), Choice: review.Choice{}})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Warnings) == 0 || !strings.Contains(p.Warnings.Error(), "read_only") {
		t.Errorf("Propose: got the warnings %v, want one that names read_only", p.Warnings)
	}
	trusted, err := install.ProposeTrust(w.Discovering(), w.Path("work/bulkhead.toml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, plugin := range trusted.Plugins {
		if plugin.Name == "first" && !strings.Contains(plugin.Problem, "allows only these plugins") {
			t.Errorf("ProposeTrust: got %+v, want the plugin refused by the ceiling", plugin)
		}
	}
}

func TestInitStaysBelowCeiling(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", admintest.AskedFor)
	w.Write(t, "etc/bulkhead.toml", "[[plugins]]\nname = \"other\"\n")
	o := w.Discovering()
	o.PluginsDir = w.Path("plugins")
	_, err := install.ProposeSetup(o, install.Preparation{Plugins: []string{"first"}, Env: map[string]string{"TOKEN": "x"}})
	if err == nil || !strings.Contains(err.Error(), "first is not allowed: "+w.Path("etc/bulkhead.toml")+":1 allows only these plugins: other") {
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
			w := admintest.New(t)
			w.Env["XDG_STATE_HOME"] = c.state
			w.Plugin(t, "first", "")
			second := w.Plugin(t, "second", "")
			w.Write(t, "etc/bulkhead.toml", auditing)
			w.Write(t, "more.toml", "[audit]\nfile = \"/var/log/more.jsonl\"\n")
			if c.config != "" {
				w.Config(t, c.config)
			}
			o := w.Options()
			o.PluginsDir = w.Path("plugins")
			o.ConfigFile = "bulkhead.toml"
			p, err := install.Propose(o, install.Addition{Dir: second})
			if err != nil {
				t.Fatal(err)
			}
			required := w.Path("etc/bulkhead.toml") + ":3"
			if wants := strings.Contains(c.want, "bulkhead/audit.jsonl"); wants != strings.HasPrefix(p.Audit, "[audit]\nfile = ") || wants != (p.AuditRequiredBy == required) {
				t.Errorf("add shows %q, required by %q", p.Audit, p.AuditRequiredBy)
			}
			s, err := install.ProposeSetup(o, install.Preparation{Plugins: []string{"second"}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Write(); err != nil {
				t.Fatal(err)
			}
			byInit := w.Read(t, "work/bulkhead.toml")
			if !strings.Contains(byInit, c.want+"name = \"second\"\n") || strings.Contains(s.Adds, "[audit]") != (s.AuditRequiredBy == required) {
				t.Errorf("init writes %s\nwant %s in it; required by %q", byInit, c.want, s.AuditRequiredBy)
			}
			if err := os.Remove(w.Path("work/bulkhead.toml")); err != nil {
				t.Fatal(err)
			}
			if c.config != "" {
				w.Config(t, c.config)
			}
			if p, err = install.Propose(o, install.Addition{Dir: second}); err == nil {
				err = p.Write(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			if byAdd := w.Read(t, "work/bulkhead.toml"); !strings.Contains(byAdd, c.want+"path = \""+second+"\"\n") {
				t.Errorf("add writes %s\nwant %s in it", byAdd, c.want)
			}
		})
	}
}

// --repin changes nothing but the digest, so the error says which table to add to the config.
func TestRepinNamesTheAuditLogThatTheCeilingRequires(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", "")
	w.Config(t, "[[plugins]]\npath = \"../plugins/first\"\n")
	w.Write(t, "etc/bulkhead.toml", auditing)
	_, err := install.Propose(w.Options(), install.Addition{Dir: "../plugins/first", Repin: true})
	hosttest.WantUsage(t, err, w.Path("etc/bulkhead.toml")+":3: audit.required: ", w.Path("work/bulkhead.toml")+" has no [audit]", "add [audit] with file = \"…\", the absolute path of the log, to the config")
}

// In a config, ${ begins a variable: the log would be written to another path than the one that the user has agreed to.
func TestAuditLogIsNotWrittenBelowAStateDirectoryThatAConfigCannotName(t *testing.T) {
	w := admintest.New(t)
	w.Env["XDG_STATE_HOME"] = "/st${env:HOME}"
	w.Plugin(t, "first", "")
	w.Write(t, "etc/bulkhead.toml", auditing)
	o := w.Options()
	o.PluginsDir = w.Path("plugins")
	o.ConfigFile = "bulkhead.toml"
	_, err := install.ProposeSetup(o, install.Preparation{Plugins: []string{"first"}})
	hosttest.WantUsage(t, err, "audit.required: ", "has no [audit]", "add [audit] with file = ")
}
