package admin_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/admin"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

// found returns the check with that name whose detail contains text.
func found(t *testing.T, checks []admin.Check, name, text string) admin.Check {
	t.Helper()
	for _, c := range checks {
		if c.Name == name && strings.Contains(c.Detail, text) {
			return c
		}
	}
	t.Fatalf("no check %q contains %q: %+v", name, text, checks)
	return admin.Check{}
}

func TestExamineChecks(t *testing.T) {
	for name, c := range map[string]struct {
		config  string
		before  func(t *testing.T, w *workspace)
		options func(o *discovery.Options)
		check   string
		outcome string
		says    string
		remedy  string
	}{
		"a cache that is a file": {before: func(t *testing.T, w *workspace) { w.write(t, "cache/bulkhead", "") },
			check: "cache", outcome: admin.CheckFailed, says: "is not a directory", remedy: "XDG_CACHE_HOME"},
		"a cache below a file": {before: func(t *testing.T, w *workspace) { w.write(t, "cache", "") },
			check: "cache", outcome: admin.CheckFailed, says: "cannot be accessed", remedy: "XDG_CACHE_HOME"},
		"a cache that others can write": {before: func(t *testing.T, w *workspace) {
			w.write(t, "cache/bulkhead/x", "")
			if err := os.Chmod(w.path("cache/bulkhead"), 0o777); err != nil {
				t.Fatal(err)
			}
		}, check: "cache", outcome: admin.CheckFailed, says: "cache/bulkhead can be written by others (owner ", remedy: "chmod go-w"},
		"a modified cache": {before: func(t *testing.T, w *workspace) { w.write(t, "cache/bulkhead/module-1/x", "") },
			check: "cache", outcome: admin.CheckWarning, says: "module-1", remedy: "compiles the module again"},
		"a cache that does not exist yet": {check: "cache", outcome: admin.CheckOK, says: "0 modules"},
		"derived data":                    {check: "derived data", outcome: admin.CheckOK, says: "cache/bulkhead/derived: 0.0 MB, at most 268 MB"},
		"a directory of derived data that is a file": {before: func(t *testing.T, w *workspace) { w.write(t, "cache/bulkhead/derived", "") },
			check: "derived data", outcome: admin.CheckWarning, says: "derived is not a directory: files are parsed again", remedy: "remove it"},
		"no location for a cache":          {before: func(t *testing.T, w *workspace) { w.env["XDG_CACHE_HOME"], w.env["HOME"] = "", "relative" }, check: "cache", outcome: admin.CheckWarning, says: "not cached", remedy: "XDG_CACHE_HOME"},
		"a state directory that is a file": {before: func(t *testing.T, w *workspace) { w.write(t, "state", "") }, check: "state", outcome: admin.CheckFailed, says: "state is not a directory: no plugin gets a state directory", remedy: "use a different directory"},
		"a project":                        {check: "project", outcome: admin.CheckOK, says: "/work"},
		"a missing project":                {options: func(o *discovery.Options) { o.Project = "none" }, check: "project", outcome: admin.CheckFailed, says: "there is no such directory", remedy: "name an existing directory"},
		"no project":                       {before: func(t *testing.T, w *workspace) { w.env["HOME"] = w.path("work") }, check: "project", outcome: admin.CheckWarning, says: "cannot be the project", remedy: "left out"},
		"a missing config":                 {options: func(o *discovery.Options) { o.ConfigFile = "none.toml" }, check: "config", outcome: admin.CheckFailed, says: "(named by --config)", remedy: "correct the path"},
		"no config, and no plugins":        {config: "-", check: "plugins", outcome: admin.CheckFailed, says: "there are no plugins", remedy: "`bulkhead plugin build -o "},
		"an invalid config":                {config: "[sever]\n", check: "config", outcome: admin.CheckFailed, says: "bulkhead.toml:1: sever: is not a known key", remedy: "did you mean"},
		"plugins of an invalid config":     {config: "[sever]\n", check: "plugins", outcome: admin.CheckFailed, says: "not examined", remedy: "correct the config"},
		"an unset variable":                {config: "[[plugins]]\npath = \"${env:NONE}\"\n", check: "config", outcome: admin.CheckFailed, says: "the variable NONE is not set", remedy: "set it"},
		"a warning in a config":            {config: "[credentials.c]\nenv = \"C\"\n[[plugins]]\npath = \"../plugins/first\"\n", check: "config", outcome: admin.CheckWarning, says: "is used by no plugin", remedy: "remove it"},
		"an unset credential":              {config: "[credentials.c]\nenv = \"C\"\n[[plugins]]\npath = \"../plugins/first\"\n", check: "credential c", outcome: admin.CheckFailed, says: "the variable C is not set", remedy: "set the variable"},
		"a credential": {config: "[credentials.c]\nenv = \"C\"\n[[plugins]]\npath = \"../plugins/first\"\n", before: func(t *testing.T, w *workspace) { w.env["C"] = "a secret" },
			check: "credential c", outcome: admin.CheckOK, says: "can be read"},
		"an audit log": {config: "[audit]\nfile = \"${env:HOME}/log/audit.jsonl\"\n[[plugins]]\npath = \"../plugins/first\"\n", check: "audit", outcome: admin.CheckOK, says: "on_failure = \"open\""},
		"an audit log that is a directory": {config: "[audit]\nfile = \"${env:HOME}\"\n[[plugins]]\npath = \"../plugins/first\"\n",
			check: "audit", outcome: admin.CheckFailed, says: "is not a regular file", remedy: "audit.file"},
		"an audit log below a file": {config: "[audit]\nfile = \"${env:HOME}/x/audit\"\n[[plugins]]\npath = \"../plugins/first\"\n", before: func(t *testing.T, w *workspace) { w.write(t, "home/x", "") },
			check: "audit", outcome: admin.CheckFailed, says: "cannot be accessed: not a directory", remedy: "audit.file"},
		"an invalid module": {check: "plugin first", outcome: admin.CheckFailed, says: "cannot run", remedy: ""},
		"a module with a different digest": {before: func(t *testing.T, w *workspace) { w.write(t, "plugins/first/it.wasm", "x") },
			check: "plugin first", outcome: admin.CheckFailed, says: "module.sha256"},
		"a manifest that does not match its pin": {config: "[[plugins]]\npath = \"../plugins/first\"\nsha256 = \"" + strings.Repeat("0", 64) + "\"\n",
			check: "plugin first", outcome: admin.CheckFailed, says: "has changed since it was reviewed", remedy: "accept it with `bulkhead add "},
		"two plugins with one tool": {config: "[[plugins]]\npath = \"../plugins/first\"\n[[plugins]]\npath = \"../plugins/other\"\n", before: clashing,
			check: "plugin other", outcome: admin.CheckWarning, says: "both offer the tool first_read", remedy: "deny_tools"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t)
			w.plugin(t, "first", "")
			switch c.config {
			case "":
				w.config(t, "[[plugins]]\npath = \"../plugins/first\"\n")
			case "-":
			default:
				w.config(t, c.config)
			}
			if c.before != nil {
				c.before(t, w)
			}
			o := w.options()
			if c.options != nil {
				c.options(&o)
			}
			checks := admin.Examine(t.Context(), o)
			got := found(t, checks, c.check, c.says)
			if got.Outcome != c.outcome || !strings.Contains(got.Remedy, c.remedy) {
				t.Errorf("got %+v", got)
			}
			for _, check := range checks {
				if strings.Contains(check.Detail, "a secret") {
					t.Errorf("a secret is in %+v", check)
				}
			}
		})
	}
}

func TestExamineWritesOnlyTheCache(t *testing.T) {
	w := newWorkspace(t)
	w.plugin(t, "first", "")
	w.config(t, "[audit]\nfile = \"${env:HOME}/log/audit.jsonl\"\n[[plugins]]\npath = \"../plugins/first\"\n")
	admin.Examine(t.Context(), w.options())
	for _, name := range []string{"state", "home/log"} {
		if _, err := os.Lstat(w.path(name)); err == nil {
			t.Errorf("%s was created", name)
		}
	}
}

func TestCancelledExamineFailsPluginChecks(t *testing.T) {
	w := newWorkspace(t)
	w.plugin(t, "first", "")
	w.config(t, "[[plugins]]\npath = \"../plugins/first\"\n")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := found(t, admin.Examine(ctx, w.options()), "plugin first", "not examined"); got.Outcome != admin.CheckFailed {
		t.Errorf("after a cancellation, the check of the plugin is %+v, want it failed", got)
	}
}
