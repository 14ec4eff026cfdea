package doctor_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/admintest"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/doctor"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

func TestExamineChecks(t *testing.T) {
	for name, c := range map[string]struct {
		config  string
		before  func(t *testing.T, w *admintest.Workspace)
		options func(o *discovery.Options)
		check   string
		outcome string
		says    string
		remedy  string
	}{
		"a cache that is a file": {before: func(t *testing.T, w *admintest.Workspace) { w.Write(t, "cache/bulkhead", "") },
			check: "cache", outcome: doctor.CheckFailed, says: "is not a directory", remedy: "XDG_CACHE_HOME"},
		"a cache below a file": {before: func(t *testing.T, w *admintest.Workspace) { w.Write(t, "cache", "") },
			check: "cache", outcome: doctor.CheckFailed, says: "cannot be accessed", remedy: "XDG_CACHE_HOME"},
		"a cache that others can write": {before: func(t *testing.T, w *admintest.Workspace) {
			w.Write(t, "cache/bulkhead/x", "")
			if err := os.Chmod(w.Path("cache/bulkhead"), 0o777); err != nil {
				t.Fatal(err)
			}
		}, check: "cache", outcome: doctor.CheckFailed, says: "cache/bulkhead can be written by others (owner ", remedy: "chmod go-w"},
		"a modified cache": {before: func(t *testing.T, w *admintest.Workspace) { w.Write(t, "cache/bulkhead/module-1/x", "") },
			check: "cache", outcome: doctor.CheckWarning, says: "module-1", remedy: "compiles the module again"},
		"a cache that does not exist yet": {check: "cache", outcome: doctor.CheckOK, says: "0 modules"},
		"derived data":                    {check: "derived data", outcome: doctor.CheckOK, says: "cache/bulkhead/derived: 0.0 MB, at most 268 MB"},
		"a directory of derived data that is a file": {before: func(t *testing.T, w *admintest.Workspace) { w.Write(t, "cache/bulkhead/derived", "") },
			check: "derived data", outcome: doctor.CheckWarning, says: "derived is not a directory: files are parsed again", remedy: "remove it"},
		"no location for a cache":          {before: func(t *testing.T, w *admintest.Workspace) { w.Env["XDG_CACHE_HOME"], w.Env["HOME"] = "", "relative" }, check: "cache", outcome: doctor.CheckWarning, says: "not cached", remedy: "XDG_CACHE_HOME"},
		"a state directory that is a file": {before: func(t *testing.T, w *admintest.Workspace) { w.Write(t, "state", "") }, check: "state", outcome: doctor.CheckFailed, says: "state is not a directory: no plugin gets a state directory", remedy: "use a different directory"},
		"a project":                        {check: "project", outcome: doctor.CheckOK, says: "/work"},
		"a missing project":                {options: func(o *discovery.Options) { o.Project = "none" }, check: "project", outcome: doctor.CheckFailed, says: "there is no such directory", remedy: "name an existing directory"},
		"no project":                       {before: func(t *testing.T, w *admintest.Workspace) { w.Env["HOME"] = w.Path("work") }, check: "project", outcome: doctor.CheckWarning, says: "cannot be the project", remedy: "left out"},
		"a missing config":                 {options: func(o *discovery.Options) { o.ConfigFile = "none.toml" }, check: "config", outcome: doctor.CheckFailed, says: "(named by --config)", remedy: "correct the path"},
		"no config, and no plugins":        {config: "-", check: "plugins", outcome: doctor.CheckFailed, says: "there are no plugins", remedy: "`bulkhead plugin build -o "},
		"an invalid config":                {config: "[sever]\n", check: "config", outcome: doctor.CheckFailed, says: "bulkhead.toml:1: sever: is not a known key", remedy: "did you mean"},
		"plugins of an invalid config":     {config: "[sever]\n", check: "plugins", outcome: doctor.CheckFailed, says: "not examined", remedy: "correct the config"},
		"an unset variable":                {config: "[[plugins]]\npath = \"${env:NONE}\"\n", check: "config", outcome: doctor.CheckFailed, says: "the variable NONE is not set", remedy: "set it"},
		"a warning in a config":            {config: "[credentials.c]\nenv = \"C\"\n[[plugins]]\npath = \"../plugins/first\"\n", check: "config", outcome: doctor.CheckWarning, says: "is used by no plugin", remedy: "remove it"},
		"a client's directory through a link": {
			before: func(t *testing.T, w *admintest.Workspace) {
				w.Write(t, "home/real/x", "")
				if err := os.Symlink("real", w.Path("home/link")); err != nil {
					t.Skip(err)
				}
				w.Config(t, fmt.Sprintf("[[plugins]]\npath = \"../plugins/first\"\n[[clients]]\nname = \"a\"\nmatch = { tokens = [\"a\"] }\nfs = [{ path = %q, access = \"r\" }]\n", w.Path("home/link")))
			}, check: "clients", outcome: doctor.CheckWarning, says: "through symbolic links", remedy: "without symbolic links"},
		"an unset credential": {config: "[credentials.c]\nenv = \"C\"\n[[plugins]]\npath = \"../plugins/first\"\n", check: "credential c", outcome: doctor.CheckFailed, says: "the variable C is not set", remedy: "set the variable"},
		"a credential": {config: "[credentials.c]\nenv = \"C\"\n[[plugins]]\npath = \"../plugins/first\"\n", before: func(t *testing.T, w *admintest.Workspace) { w.Env["C"] = "a secret" },
			check: "credential c", outcome: doctor.CheckOK, says: "can be read"},
		"an audit log":             {config: "[audit]\nfile = \"${env:HOME}/log/audit.jsonl\"\n[[plugins]]\npath = \"../plugins/first\"\n", check: "audit", outcome: doctor.CheckOK, says: "on_failure = \"open\""},
		"an audit log with a copy": {config: "[audit]\nfile = \"${env:HOME}/log/audit.jsonl\"\nalso = [\"stdout\"]\n[[plugins]]\npath = \"../plugins/first\"\n", check: "audit", outcome: doctor.CheckOK, says: "audit.jsonl, also stdout; on_failure"},
		"metrics":                  {config: "[audit]\nfile = \"${env:HOME}/log/audit.jsonl\"\nmetrics = \"127.0.0.1:9464\"\n[[plugins]]\npath = \"../plugins/first\"\n", check: "audit", outcome: doctor.CheckOK, says: "; metrics at 127.0.0.1:9464"},
		"traces":                   {config: "[audit]\nfile = \"${env:HOME}/log/audit.jsonl\"\notlp = \"http://127.0.0.1:4318/secret\"\n[[plugins]]\npath = \"../plugins/first\"\n", check: "audit", outcome: doctor.CheckOK, says: "; traces to http://127.0.0.1:4318"},
		"traces with a token": {config: "[audit]\nfile = \"${env:HOME}/log/audit.jsonl\"\notlp = \"http://127.0.0.1:4318\"\notlp_sample = 0.1\notlp_headers_file = \"${env:HOME}/headers\"\n[[plugins]]\npath = \"../plugins/first\"\n",
			before: func(t *testing.T, w *admintest.Workspace) {
				w.Write(t, "home/headers", "Authorization: Bearer secret\n")
			},
			check: "audit", outcome: doctor.CheckOK, says: "headers (10 % of those that begin here)"},
		"traces with a malformed token": {config: "[audit]\nfile = \"${env:HOME}/log/audit.jsonl\"\notlp = \"http://127.0.0.1:4318\"\notlp_headers_file = \"${env:HOME}/headers\"\n[[plugins]]\npath = \"../plugins/first\"\n",
			before: func(t *testing.T, w *admintest.Workspace) { w.Write(t, "home/headers", "secret\n") },
			check:  "audit", outcome: doctor.CheckFailed, says: "headers: line 1 is no header: write NAME: VALUE", remedy: "correct the file"},
		"an audit log that is a directory": {config: "[audit]\nfile = \"${env:HOME}\"\n[[plugins]]\npath = \"../plugins/first\"\n",
			check: "audit", outcome: doctor.CheckFailed, says: "is not a regular file", remedy: "audit.file"},
		"an audit log below a file": {config: "[audit]\nfile = \"${env:HOME}/x/audit\"\n[[plugins]]\npath = \"../plugins/first\"\n", before: func(t *testing.T, w *admintest.Workspace) { w.Write(t, "home/x", "") },
			check: "audit", outcome: doctor.CheckFailed, says: "cannot be accessed: not a directory", remedy: "audit.file"},
		"skills of the project": {config: "[server]\nname = \"x\"\nskills = [\"${project}/skills\"]\n[[plugins]]\npath = \"../plugins/first\"\n",
			before: func(t *testing.T, w *admintest.Workspace) {
				w.Write(t, "work/skills/review/SKILL.md", "---\nname: review\ndescription: d\n---\n")
			},
			check: "skills", outcome: doctor.CheckOK, says: "offered: 1: review"},
		"a malformed skill of the project": {config: "[server]\nname = \"x\"\nskills = [\"${project}/skills\"]\n[[plugins]]\npath = \"../plugins/first\"\n",
			before: func(t *testing.T, w *admintest.Workspace) {
				w.Write(t, "work/skills/review/SKILL.md", "---\nname: review\ndescription: d\nx: no\n---\n")
			},
			check: "skills", outcome: doctor.CheckWarning, says: "work/skills/review: the skill is not offered: SKILL.md: line 4: ", remedy: "correct it"},
		"no directory for the skills of the project": {config: "[server]\nname = \"x\"\nskills = [\"${project}/skills\"]\n[[plugins]]\npath = \"../plugins/first\"\n",
			check: "skills", outcome: doctor.CheckWarning, says: "bulkhead.toml:3: server.skills[0]: there is no directory", remedy: "create it"},
		"an invalid module": {check: "plugin first", outcome: doctor.CheckFailed, says: "cannot run", remedy: ""},
		"a module with a different digest": {before: func(t *testing.T, w *admintest.Workspace) { w.Write(t, "plugins/first/it.wasm", "x") },
			check: "plugin first", outcome: doctor.CheckFailed, says: "module.sha256"},
		"a manifest that does not match its pin": {config: "[[plugins]]\npath = \"../plugins/first\"\nsha256 = \"" + strings.Repeat("0", 64) + "\"\n",
			check: "plugin first", outcome: doctor.CheckFailed, says: "has changed since it was reviewed", remedy: "accept it with `bulkhead add "},
		"a lock that a killed process left in a repository": {config: "[[plugins]]\npath = \"../plugins/first\"\ngit = [{ repo = \"${project}\", access = \"commit\" }]\n",
			before: func(t *testing.T, w *admintest.Workspace) {
				w.Plugin(t, "first", "[capabilities]\ngit = [{ repo = \"${project}\", access = \"commit\" }]\n")
				w.Write(t, "work/.git/index.lock", "")
				old := time.Now().Add(-time.Hour)
				if err := os.Chtimes(w.Path("work/.git/index.lock"), old, old); err != nil {
					t.Fatal(err)
				}
			}, check: "plugin first", outcome: doctor.CheckWarning, says: "index.lock exists since", remedy: "remove that file"},
		"two plugins with one tool": {config: "[[plugins]]\npath = \"../plugins/first\"\n[[plugins]]\npath = \"../plugins/other\"\n", before: admintest.Clashing,
			check: "plugin other", outcome: doctor.CheckWarning, says: "both offer the tool first_read", remedy: "deny_tools"},
	} {
		t.Run(name, func(t *testing.T) {
			w := admintest.New(t)
			w.Plugin(t, "first", "")
			switch c.config {
			case "":
				w.Config(t, "[[plugins]]\npath = \"../plugins/first\"\n")
			case "-":
			default:
				w.Config(t, c.config)
			}
			if c.before != nil {
				c.before(t, w)
			}
			o := w.Options()
			if c.options != nil {
				c.options(&o)
			}
			checks := doctor.Examine(t.Context(), o)
			got := admintest.Found(t, checks, c.check, c.says)
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
	w := admintest.New(t)
	w.Plugin(t, "first", "")
	w.Config(t, "[audit]\nfile = \"${env:HOME}/log/audit.jsonl\"\n[[plugins]]\npath = \"../plugins/first\"\n")
	doctor.Examine(t.Context(), w.Options())
	for _, name := range []string{"state", "home/log"} {
		if _, err := os.Lstat(w.Path(name)); err == nil {
			t.Errorf("%s was created", name)
		}
	}
}

func TestCancelledExamineFailsPluginChecks(t *testing.T) {
	w := admintest.New(t)
	w.Plugin(t, "first", "")
	w.Config(t, "[[plugins]]\npath = \"../plugins/first\"\n")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := admintest.Found(t, doctor.Examine(ctx, w.Options()), "plugin first", "not examined"); got.Outcome != doctor.CheckFailed {
		t.Errorf("after a cancellation, the check of the plugin is %+v, want it failed", got)
	}
	if _, err := os.Lstat(w.Path("cache")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the cache of compiled code was created after the cancellation: %v", err)
	}
}

func TestExamineReportsCeiling(t *testing.T) {
	for name, c := range map[string]struct {
		text, outcome, says string
		mode                os.FileMode
	}{
		"a valid one":                  {admintest.StrictCeiling, doctor.CheckOK, "bounds all configs", 0o644},
		"an invalid one":               {"x = 1", doctor.CheckFailed, "no plugin is served", 0o644},
		"one that others can write":    {admintest.StrictCeiling, doctor.CheckFailed, "can be written by others", 0o666},
		"one with a link in its paths": {"[ceiling]\nfs = [{ path = \"$W/link\", access = \"r\" }]", doctor.CheckWarning, "symbolic links", 0o644},
	} {
		t.Run(name, func(t *testing.T) {
			w := admintest.NewGranted(t)
			w.Write(t, "etc/bulkhead.toml", strings.ReplaceAll(c.text, "$W", w.Dir))
			if err := errors.Join(os.Chmod(w.Path("etc/bulkhead.toml"), c.mode), os.Symlink("home", w.Path("link"))); err != nil {
				t.Fatal(err)
			}
			checks := doctor.Examine(t.Context(), w.Options())
			if got := admintest.Found(t, checks, "ceiling", c.says); got.Outcome != c.outcome {
				t.Errorf("got %+v", got)
			}
			if c.outcome == doctor.CheckFailed {
				admintest.Found(t, checks, "plugins", "not examined")
			}
		})
	}
	w := admintest.NewGranted(t)
	for _, check := range doctor.Examine(t.Context(), w.Options()) {
		if check.Name == "ceiling" {
			t.Errorf("got a check of the ceiling although there is none: %+v", check)
		}
	}
}
