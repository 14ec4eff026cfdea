package tools_test

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/tools"
	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/sdktest"
)

const (
	notInitialized = "! Chant not initialized. Run `chant init` first."
	noProject      = notInitialized + " Not in a chant project directory: run it in the project's root, or navigate to a directory containing `.chant/`."
)

// newHost returns a host with a new project outside of any repository, and the path of the project. The argument files maps paths relative to
// .chant to contents.
func newHost(t *testing.T, files map[string]string) (*sdktest.Host, string) {
	t.Helper()
	manifest, err := filepath.Abs(filepath.Join("..", "plugin.toml"))
	if err != nil {
		t.Fatal(err)
	}
	p := sdk.New()
	tools.Register(p)
	host := sdktest.New(t, p, manifest)
	for operation, none := range map[string]any{ // no repository
		abi.OpGitBranchExists: false, abi.OpGitFindCommit: abi.GitCommit{},
	} {
		host.Handle(operation, func(json.RawMessage) (any, error) { return none, nil })
	}
	return host, layOut(t, files)
}

// layOut creates a project with the given files, makes the project the working directory, and returns the path of the
// project.
func layOut(t *testing.T, files map[string]string) string {
	t.Helper()
	root := testenv.Tree(t, nil)
	testenv.WriteFiles(t, filepath.Join(root, ".chant"), files)
	t.Chdir(root)
	t.Setenv("BULKHEAD_PROJECT", root)
	return root
}

// call calls a tool and returns the only text of the result, with the prefix "! " if the result is an error.
func call(t *testing.T, host *sdktest.Host, tool, arguments string) string {
	t.Helper()
	result, err := host.CallTool(tool, arguments)
	if err != nil {
		t.Fatalf("%s %s: %v", tool, arguments, err)
	}
	if len(result.Texts) != 1 {
		t.Fatalf("%s %s: %d texts", tool, arguments, len(result.Texts))
	}
	if result.IsError {
		return "! " + result.Texts[0]
	}
	if strings.Contains(string(result.Raw), `"isError"`) {
		t.Errorf("%s: a success has an isError key: %s", tool, result.Raw)
	}
	return result.Texts[0]
}

// three returns the files of three specs: a completed spec, a spec that the third spec blocks, and a spec in progress.
func three() map[string]string {
	return map[string]string{
		"specs/2026-03-01-001-a1b.md": "---\ntype: code\nstatus: completed\ncommits: [9f3c2ab]\ncompleted_at: 2026-03-01T09:15:00Z\nmodel: claude-sonnet-4\n---\n# Añadir <b> & \"audit\"\n\nWrite one record per change.\n",
		"specs/2026-03-01-002-k4z.md": "---\nstatus: pending\ndepends_on: [2026-03-01-003-q7w]\nlabels: []\n---\n# Rotate keys\n\n## Acceptance Criteria\n- [x] Old keys expire\n- [ ] Docs updated\n",
		"specs/2026-03-01-003-q7w.md": "---\nstatus: in_progress\n---\nno heading",
	}
}

// TestStatusWords checks that results can have the names of statuses that the real program shows, and filters accept both.
func TestStatusWords(t *testing.T) {
	host, _ := newHost(t, map[string]string{
		"specs/a.md": "---\nstatus: in_progress\n---\n# A", "specs/b.md": "---\nstatus: needs_attention\n---\n# B",
	})
	for value, words := range map[string][2]string{
		"": {"in_progress", "needs_attention"}, "contract": {"in_progress", "needs_attention"}, "joined": {"inprogress", "needsattention"},
	} {
		t.Setenv("CHANT_STATUS_WORDS", value)
		for i, id := range []string{"a", "b"} {
			want := `"status": "` + words[i] + `"`
			for _, filter := range []string{"in_progress", "inprogress", "needs_attention", "needsattention"} {
				shown := call(t, host, "chant_spec_list", `{"status": "`+filter+`"}`)
				if strings.Contains(shown, want) != strings.HasPrefix(filter, words[i][:2]) || strings.Count(shown, `"id"`) != 1 {
					t.Errorf("%s, filter %s: got %s", value, filter, shown)
				}
			}
			for tool, arguments := range map[string]string{
				"chant_spec_list": `{}`, "chant_search": `{"query": ""}`, "chant_spec_get": `{"id": "` + id + `"}`, "chant_diagnose": `{"id": "` + id + `"}`,
			} {
				if got := call(t, host, tool, arguments); !strings.Contains(got, want) {
					t.Errorf("%s, %s: got %s, want %s", value, tool, got, want)
				}
			}
		}
		if got := call(t, host, "chant_status", `{"brief": true}`); got != "1 in_progress | 1 needs_attention" {
			t.Errorf("%s: got %s", value, got)
		}
	}
	t.Setenv("CHANT_STATUS_WORDS", "bogus")
	if got := call(t, host, "chant_status", `{}`); !strings.HasPrefix(got, `! CHANT_STATUS_WORDS is "bogus"`) {
		t.Error(got)
	}
}

func TestResults(t *testing.T) {
	tests := []struct {
		name, tool, arguments, want string
	}{
		{"list", "chant_spec_list", `{"limit": 2}`, `{
  "specs": [
    {
      "id": "2026-03-01-001-a1b",
      "title": "Añadir <b> & \"audit\"",
      "status": "completed",
      "type": "code",
      "depends_on": null,
      "labels": null
    },
    {
      "id": "2026-03-01-002-k4z",
      "title": "Rotate keys",
      "status": "blocked",
      "type": "code",
      "depends_on": [
        "2026-03-01-003-q7w"
      ],
      "labels": []
    }
  ],
  "total": 3,
  "limit": 2,
  "returned": 2
}`},
		{"get", "chant_spec_get", `{"id": "a1b"}`, `{
  "id": "2026-03-01-001-a1b",
  "title": "Añadir <b> & \"audit\"",
  "status": "completed",
  "type": "code",
  "depends_on": null,
  "labels": null,
  "target_files": null,
  "context": null,
  "prompt": null,
  "branch": null,
  "commits": [
    "9f3c2ab"
  ],
  "completed_at": "2026-03-01T09:15:00Z",
  "model": "sonnet",
  "body": "# Añadir <b> & \"audit\"\n\nWrite one record per change."
}`},
		{"ready", "chant_ready", ``, `{
  "specs": [],
  "total": 0,
  "limit": 50,
  "returned": 0
}`},
		{"status", "chant_status", `{}`, `{
  "total": 3,
  "pending": 0,
  "in_progress": 1,
  "completed": 1,
  "failed": 0,
  "blocked": 1,
  "cancelled": 0,
  "needs_attention": 0
}`},
		{"brief has precedence over include_activity", "chant_status", `{"brief": true, "include_activity": true}`, "1 in_progress | 1 completed | 1 blocked"},
		{"search", "chant_search", `{"query": "EXPIRE"}`, `[
  {
    "id": "2026-03-01-002-k4z",
    "title": "Rotate keys",
    "status": "blocked",
    "type": "code"
  }
]`},
		{"search without hits", "chant_search", `{"query": "2026-03-01-002"}`, "[]"},
		{"diagnose", "chant_diagnose", `{"id": "k4z"}`, `{
  "spec_id": "2026-03-01-002-k4z",
  "status": "pending",
  "location": "main repository",
  "checks": [
    {
      "name": "Spec file",
      "passed": true,
      "details": "Valid YAML"
    },
    {
      "name": "Log file",
      "passed": false,
      "details": "Does not exist (checked in main)"
    },
    {
      "name": "Lock file",
      "passed": true,
      "details": "Not present (checked in main)"
    },
    {
      "name": "Git commit",
      "passed": false,
      "details": "No matching commit found"
    },
    {
      "name": "Acceptance criteria",
      "passed": false,
      "details": "1 unchecked items remaining"
    },
    {
      "name": "Status consistency",
      "passed": true,
      "details": null
    }
  ],
  "diagnosis": "Spec has issues: Log file, Git commit, Acceptance criteria",
  "suggestion": "Run ` + "`just chant log 2026-03-01-002-k4z`" + ` for details"
}`},
		{"verify", "chant_verify", `{"id": "k4z"}`, `{
  "spec_id": "2026-03-01-002-k4z",
  "verified": false,
  "criteria": {
    "total": 2,
    "checked": 1,
    "unchecked": 1
  },
  "unchecked_items": [
    "- [ ] Docs updated"
  ],
  "verification_notes": "1 criteria not yet checked"
}`},
		{"several specs match", "chant_spec_get", `{"id": "03-01"}`, "! Ambiguous spec ID '03-01'. Matches: 2026-03-01-001-a1b, 2026-03-01-002-k4z, 2026-03-01-003-q7w"},
		{"no spec matches", "chant_verify", `{"id": "nope"}`, "! Spec not found: nope"},
		{"no log", "chant_log", `{"id": "q7w"}`, "! No log file found for spec '2026-03-01-003-q7w'. Logs are created when a spec is executed with `chant work`."},
		{"a status that cannot be assigned", "chant_spec_update", `{"id": "q7w", "status": "blocked"}`, "! Invalid status: blocked. Must be one of: pending, in_progress, completed, failed"},
		{"update", "chant_spec_update", `{"id": "q7w", "status": "failed", "output": "Ran dry."}`, "Updated spec: 2026-03-01-003-q7w"},
		{"finalize", "chant_finalize", `{"id": "q7w"}`, "Finalized spec: 2026-03-01-003-q7w"},
		{"resume", "chant_resume", `{"id": "q7w"}`, "Resumed spec '2026-03-01-003-q7w' - reset to pending"},
		{"cancel", "chant_cancel", `{"id": "q7w"}`, "Cancelled spec: 2026-03-01-003-q7w"},
		{"archive", "chant_archive", `{"id": "a1b"}`, "Archived spec: 2026-03-01-001-a1b -> .chant/archive/2026-03-01/2026-03-01-001-a1b.md"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			files := three()
			if test.name == "resume" {
				files["specs/2026-03-01-003-q7w.md"] = "---\nstatus: failed\n---\n"
			}
			host, _ := newHost(t, files)
			if diff := cmp.Diff(test.want, call(t, host, test.tool, test.arguments)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	t.Run("activity of a spec without a log", func(t *testing.T) {
		host, _ := newHost(t, three())
		got := call(t, host, "chant_status", `{"include_activity": true}`)
		want := regexp.MustCompile(`(?s)"needs_attention": 0,
  "in_progress_activity": \[
    \{
      "id": "2026-03-01-003-q7w",
      "title": null,
      "spec_modified": "\d{4}-\d\d-\d\d \d\d:\d\d:\d\d",
      "log_modified": null,
      "has_log": false
    \}
  \]
\}$`)
		if !want.MatchString(got) {
			t.Error(got)
		}
	})
	t.Run("activity without a spec in progress is an empty list", func(t *testing.T) {
		host, _ := newHost(t, map[string]string{"specs/a.md": ""})
		if got := call(t, host, "chant_status", `{"include_activity": true}`); !strings.Contains(got, `"in_progress_activity": []`) {
			t.Error(got)
		}
	})
	t.Run("add", func(t *testing.T) {
		host, _ := newHost(t, three())
		added := call(t, host, "chant_add", `{"description": "A\nB", "prompt": "x: y"}`)
		id, ok := strings.CutPrefix(added, "Created spec: ")
		if !ok {
			t.Fatal(added)
		}
		got := call(t, host, "chant_spec_get", `{"id": "`+id+`"}`)
		for _, want := range []string{`"title": "A"`, `"body": "# A\nB"`, `"prompt": "x: y"`, `"status": "pending"`} {
			if !strings.Contains(got, want) {
				t.Errorf("%s is not in %s", want, got)
			}
		}
	})
}

func TestFileThatCannotBeLoadedIsReported(t *testing.T) {
	files := three()
	files["specs/2026-03-01-004-bad.md"] = "---\nstatus: done\n---\n# Bad"
	host, _ := newHost(t, files)
	if got := call(t, host, "chant_status", `{"brief": true}`); got != "1 in_progress | 1 completed | 1 blocked" {
		t.Errorf("status of the other specs: %s", got)
	}
	want := `.chant/specs/2026-03-01-004-bad.md:2: unknown status "done"`
	if got := call(t, host, "chant_cancel", `{"id": "2026-03-01-004-bad"}`); got != "! "+want {
		t.Errorf("chant_cancel with the id of the invalid file: %s", got)
	}
	each := []string{"not loaded: " + want, "1 spec is not loaded: 2026-03-01-004-bad.md (chant_diagnose with the id gives the reason)"}
	if diff := cmp.Diff(append(each, each...), host.Log()); diff != "" {
		t.Errorf("the log of two calls (-want +got)\n%s", diff)
	}
}

// TestAnswersNameSpecsOmittedByLimits checks that an answer which is a JSON object names omitted specs in a member, and
// that any other answer names them in a second text.
func TestAnswersNameSpecsOmittedByLimits(t *testing.T) {
	files := three()
	files["specs/2026-02-01-001-old.md"] = strings.Repeat("x", 5<<20)
	files["logs/2026-03-01-001-a1b.log"] = strings.Repeat(strings.Repeat("x", 99)+"\n", 50_000)
	host, _ := newHost(t, files)
	const omitted = "1 not included: .chant/specs/2026-02-01-001-old.md (larger than 4 MiB)"
	for _, test := range []struct{ tool, arguments, want, second string }{
		{"chant_spec_list", `{"limit": 1}`, "\"returned\": 1,\n  \"omitted\": \"" + omitted + "\"\n}", ""},
		{"chant_ready", `{}`, "\"returned\": 0,\n  \"omitted\": \"" + omitted + "\"\n}", ""},
		{"chant_status", `{}`, "\"needs_attention\": 0,\n  \"omitted\": \"" + omitted + "\"\n}", ""},
		{"chant_status", `{"brief": true}`, "1 in_progress | 1 completed | 1 blocked | " + omitted, ""},
		{"chant_search", `{"query": "nowhere"}`, "[]", omitted},
		{"chant_log", `{"id": "a1b", "lines": 50000}`, "xxx", ".chant/logs/2026-03-01-001-a1b.log: only the last 4 MiB are returned; the first of the requested lines are not included"},
		{"chant_log", `{"id": "a1b"}`, "xxx", ""},
		{"chant_spec_get", `{"id": "a1b"}`, `"status": "completed"`, ""},
	} {
		result, err := host.CallTool(test.tool, test.arguments)
		if err != nil || result.IsError {
			t.Fatalf("%s: %v, %+v", test.tool, err, result)
		}
		texts := append(result.Texts, "")
		if !strings.Contains(texts[0], test.want) || texts[1] != test.second || strings.Contains(texts[0], omitted) != strings.Contains(test.want, omitted) {
			t.Errorf("%s %s: got %.300q and %q", test.tool, test.arguments, texts[0], texts[1])
		}
	}
}
