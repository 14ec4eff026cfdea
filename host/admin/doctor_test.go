package admin_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/host/admin"
)

// found is the check with that name whose detail has the text.
func found(t *testing.T, checks []admin.Check, name, text string) admin.Check {
	t.Helper()
	for _, c := range checks {
		if c.Name == name && strings.Contains(c.Detail, text) {
			return c
		}
	}
	t.Fatalf("no check %q says %q: %+v", name, text, checks)
	return admin.Check{}
}

func TestExamineSaysWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		config  string
		before  func(t *testing.T, w *world)
		options func(o *host.Options)
		check   string
		outcome string
		says    string
		remedy  string
	}{
		"a cache that is no folder": {before: func(t *testing.T, w *world) { w.write(t, "cache/bulkhead", "") },
			check: "cache", outcome: admin.Failed, says: "is not a folder", remedy: "XDG_CACHE_HOME"},
		"a cache below what is no folder": {before: func(t *testing.T, w *world) { w.write(t, "cache", "") },
			check: "cache", outcome: admin.Failed, says: "cannot be looked at", remedy: "XDG_CACHE_HOME"},
		"a cache that others can write": {before: func(t *testing.T, w *world) {
			w.write(t, "cache/bulkhead/x", "")
			if err := os.Chmod(w.path("cache/bulkhead"), 0o777); err != nil {
				t.Fatal(err)
			}
		}, check: "cache", outcome: admin.Failed, says: "cache/bulkhead can be written by others (owner ", remedy: "chmod go-w"},
		"code in the cache that was changed": {before: func(t *testing.T, w *world) { w.write(t, "cache/bulkhead/module-1/x", "") },
			check: "cache", outcome: admin.Doubt, says: "module-1", remedy: "makes it anew"},
		"a cache that is not there yet":  {check: "cache", outcome: admin.Fine, says: "0 modules"},
		"no place for a cache":           {before: func(t *testing.T, w *world) { w.env["XDG_CACHE_HOME"], w.env["HOME"] = "", "relative" }, check: "cache", outcome: admin.Doubt, says: "not kept", remedy: "XDG_CACHE_HOME"},
		"a state folder that is none":    {before: func(t *testing.T, w *world) { w.write(t, "state", "") }, check: "state", outcome: admin.Failed, says: "state is not a directory: no plugin gets a state folder", remedy: "use another directory"},
		"a project":                      {check: "project", outcome: admin.Fine, says: "/work"},
		"a project that is not there":    {options: func(o *host.Options) { o.Project = "none" }, check: "project", outcome: admin.Failed, says: "there is no such folder", remedy: "name a folder"},
		"no project":                     {before: func(t *testing.T, w *world) { w.env["HOME"] = w.path("work") }, check: "project", outcome: admin.Doubt, says: "is no project", remedy: "left out"},
		"a config that is not there":     {options: func(o *host.Options) { o.ConfigFile = "none.toml" }, check: "config", outcome: admin.Failed, says: "there is no ", remedy: "--config"},
		"no config, and no plugins":      {config: "-", check: "plugins", outcome: admin.Failed, says: "there are no plugins"},
		"a config with faults":           {config: "[sever]\n", check: "config", outcome: admin.Failed, says: "bulkhead.toml:1: sever: is not a known key", remedy: "did you mean"},
		"plugins behind such a config":   {config: "[sever]\n", check: "plugins", outcome: admin.Failed, says: "not examined", remedy: "correct the config"},
		"a variable that is not set":     {config: "[[plugins]]\npath = \"${env:NONE}\"\n", check: "config", outcome: admin.Failed, says: "the variable NONE is not set", remedy: "set it"},
		"what a config warns of":         {config: "[credentials.c]\nenv = \"C\"\n[[plugins]]\npath = \"../plugins/first\"\n", check: "config", outcome: admin.Doubt, says: "is used by no plugin", remedy: "remove it"},
		"a credential that is not there": {config: "[credentials.c]\nenv = \"C\"\n[[plugins]]\npath = \"../plugins/first\"\n", check: "credential c", outcome: admin.Failed, says: "the variable C is not set", remedy: "set the variable"},
		"a credential": {config: "[credentials.c]\nenv = \"C\"\n[[plugins]]\npath = \"../plugins/first\"\n", before: func(t *testing.T, w *world) { w.env["C"] = "a secret" },
			check: "credential c", outcome: admin.Fine, says: "can be read"},
		"an audit log": {config: "[audit]\nfile = \"${env:HOME}/log/audit.jsonl\"\n[[plugins]]\npath = \"../plugins/first\"\n", check: "audit", outcome: admin.Fine, says: "on_failure = \"open\""},
		"an audit log that is no file": {config: "[audit]\nfile = \"${env:HOME}\"\n[[plugins]]\npath = \"../plugins/first\"\n",
			check: "audit", outcome: admin.Failed, says: "is not a regular file", remedy: "audit.file"},
		"an audit log without a place": {config: "[audit]\nfile = \"${env:HOME}/x/audit\"\n[[plugins]]\npath = \"../plugins/first\"\n", before: func(t *testing.T, w *world) { w.write(t, "home/x", "") },
			check: "audit", outcome: admin.Failed, says: "cannot be looked at: not a directory", remedy: "audit.file"},
		"a module that is none": {check: "plugin first", outcome: admin.Failed, says: "cannot run", remedy: ""},
		"a module that is another": {before: func(t *testing.T, w *world) { w.write(t, "plugins/first/it.wasm", "x") },
			check: "plugin first", outcome: admin.Failed, says: "module.sha256"},
		"a manifest that is not the pinned one": {config: "[[plugins]]\npath = \"../plugins/first\"\nsha256 = \"" + strings.Repeat("0", 64) + "\"\n",
			check: "plugin first", outcome: admin.Failed, says: "is not the one that was reviewed", remedy: "review it again"},
		"two plugins with one tool": {config: "[[plugins]]\npath = \"../plugins/first\"\n[[plugins]]\npath = \"../plugins/other\"\n", before: clashing,
			check: "plugins", outcome: admin.Failed, says: "both offer the tool first_read"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
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

func TestExamineMakesNothingButTheCache(t *testing.T) {
	w := newWorld(t)
	w.plugin(t, "first", "")
	w.config(t, "[audit]\nfile = \"${env:HOME}/log/audit.jsonl\"\n[[plugins]]\npath = \"../plugins/first\"\n")
	admin.Examine(t.Context(), w.options())
	for _, made := range []string{"state", "home/log"} {
		if _, err := os.Lstat(w.path(made)); err == nil {
			t.Errorf("%s was made", made)
		}
	}
}

func TestAnExaminationThatIsEndedSaysSo(t *testing.T) {
	w := newWorld(t)
	w.plugin(t, "first", "")
	w.config(t, "[[plugins]]\npath = \"../plugins/first\"\n")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := found(t, admin.Examine(ctx, w.options()), "plugin first", "not examined"); got.Outcome != admin.Failed {
		t.Errorf("%+v", got)
	}
}
