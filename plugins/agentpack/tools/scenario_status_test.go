package tools_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

type statusData struct {
	Drift []struct {
		Target, Root, Path, Kind string
		Expected, Actual         *string
		Modules                  []string
	}
	Summary      counts
	SummaryTotal *counts `json:"summary_total"`
	ByRoot       []struct {
		Target, Root string
		Summary      counts
	} `json:"summary_by_root"`
	NextActions []string                           `json:"next_actions"`
	Detailed    []struct{ Action, Command string } `json:"next_actions_detailed"`
}

type counts struct{ Modified, Missing, Extra int }

// drift returns "kind path" for each drifted file, with a path below Base.
func (w *world) drift(data statusData) []string {
	w.t.Helper()
	all := []string{}
	for _, item := range data.Drift {
		relative, err := filepath.Rel(w.Base, item.Path)
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, item.Kind+" "+relative)
	}
	return all
}

func TestStatus(t *testing.T) {
	t.Run("missing, modified and extra", func(t *testing.T) {
		files := base()
		files[repoFile] = standard("instructions:base", "prompt:hello", "prompt:more")
		files[modules("prompt/more/more.md")] = "more"
		w := newWorld(t, files)
		w.Deploy(``)
		w.Remove(promptOut)
		w.Write("home/.codex/prompts/more.md", "edited")
		w.Write("home/.codex/prompts/extra.md", "extra")
		w.Write("home/.codex/prompts/.agentpack-tmp-1", "a deploy in progress")
		var all, only statusData
		w.OK("status", ``, &all)
		want := []string{"missing " + promptOut, "modified home/.codex/prompts/more.md", "extra home/.codex/prompts/extra.md"}
		if diff := cmp.Diff(want, w.drift(all)); diff != "" || all.Summary != (counts{1, 1, 1}) || all.SummaryTotal != nil {
			t.Errorf("%+v %s", all.Summary, diff)
		}
		w.OK("status", `{"only":["missing"]}`, &only)
		if len(only.Drift) != 1 || only.Summary != (counts{0, 1, 0}) || only.SummaryTotal == nil || *only.SummaryTotal != (counts{1, 1, 1}) ||
			len(only.ByRoot) != 1 || only.ByRoot[0].Summary != (counts{0, 1, 0}) {
			t.Errorf("got %+v", only)
		}
		if diff := cmp.Diff(all.NextActions, only.NextActions); diff != "" {
			t.Error(diff)
		}
		var none statusData
		if w.OK("status", `{"only":[]}`, &none); none.SummaryTotal != nil || len(none.Drift) != 3 {
			t.Errorf("an empty list means all kinds: got %+v", none)
		}
	})
	t.Run("a directory that is too deep to be scanned", func(t *testing.T) {
		w := newWorld(t, base())
		w.Deploy(``)
		w.Remove(promptOut)
		w.Write("home/.codex/prompts/"+strings.Repeat("d/", 70)+"x", "")
		var got statusData
		warned(t, w.OK("status", ``, &got), "extra files in "+w.path("home/.codex/prompts")+" are not reported")
		if diff := cmp.Diff([]string{"missing " + promptOut}, w.drift(got)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("an unreadable file of the user", func(t *testing.T) {
		if testenv.AsNobody(t) {
			return
		}
		w := newWorld(t, base())
		w.Deploy(``)
		w.Write("home/.codex/prompts/mine.md", "mine")
		w.Write("home/.codex/prompts/theirs.md", "theirs")
		if err := os.Chmod(w.path("home/.codex/prompts/theirs.md"), 0); err != nil {
			t.Fatal(err)
		}
		var got statusData
		warned(t, w.OK("status", ``, &got), "theirs.md")
		if len(got.Drift) != 1 || got.Drift[0].Path != w.path("home/.codex/prompts/mine.md") {
			t.Errorf("got %+v", got.Drift)
		}
	})
	t.Run("directories that are not scanned", func(t *testing.T) {
		w := newWorld(t, base())
		w.Deploy(``)
		w.Write("home/.codex/history.jsonl", "{}")
		var got statusData
		w.OK("status", ``, &got)
		if len(got.Drift) > 0 {
			t.Errorf("got %q", w.drift(got))
		}
	})
	t.Run("never deployed", func(t *testing.T) {
		w := newWorld(t, base())
		var got statusData
		warned(t, w.OK("status", `{"target":"codex"}`, &got), "no usable target manifest")
		if diff := cmp.Diff([]string{"missing " + instructionsOut, "missing " + promptOut}, w.drift(got)); diff != "" {
			t.Error(diff)
		}
		var codes []string
		for _, action := range got.Detailed {
			codes = append(codes, action.Action)
		}
		if diff := cmp.Diff([]string{"bootstrap", "preview_diff", "deploy_apply"}, codes); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("a directory without its manifest", func(t *testing.T) {
		w := newWorld(t, base())
		w.Deploy(``)
		w.Remove(promptManifest)
		w.Write(promptOut, "edited")
		w.Write("home/.codex/prompts/extra.md", "extra files are not searched without a manifest")
		var got statusData
		warned(t, w.OK("status", ``, &got), promptManifest[len("home/"):])
		if diff := cmp.Diff([]string{"modified " + promptOut}, w.drift(got)); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("previously desired files are extra, new files are not missing", func(t *testing.T) {
		w := newWorld(t, base())
		w.Deploy(``)
		w.Write(repoFile, standard("instructions:base", "prompt:more"))
		w.Write(modules("prompt/more/more.md"), "more")
		var got statusData
		w.OK("status", ``, &got)
		if diff := cmp.Diff([]string{"extra " + promptOut}, w.drift(got)); diff != "" {
			t.Error(diff)
		}
		want := []string{"agentpack --target codex bootstrap --scope user --yes --json", "agentpack preview --diff --json"}
		if diff := cmp.Diff(want, got.NextActions); diff != "" {
			t.Error(diff)
		}
	})
}

func TestOperatorAssets(t *testing.T) {
	t.Run("a skill that is missing, unmarked, old and current", func(t *testing.T) {
		w := newWorld(t, base())
		w.Deploy(``)
		const skill = "home/.codex/skills/agentpack-operator/SKILL.md"
		const bootstrap = "agentpack --repo /r --machine m --target codex bootstrap --scope user --yes --json"
		for _, test := range []struct{ text, warning string }{
			{"", "operator assets missing (codex/user)"}, {"no version\n", "operator assets outdated (codex/user)"},
			{"---\nagentpack_version: \"0.0.0\"\n", "operator assets outdated (codex/user)"}, {"x\n<!-- agentpack_version: 0.9.1 -->\n", ""},
		} {
			if test.text != "" {
				w.Write(skill, test.text)
			}
			var got statusData
			answer := w.OK("status", w.with("", map[string]any{"repo": w.Repo, "machine": "m"}), &got)
			actions := strings.ReplaceAll(strings.Join(got.NextActions, "\n"), w.Repo, "/r")
			if test.warning == "" {
				if len(answer.Warnings) > 0 || strings.Contains(actions, "bootstrap") {
					t.Errorf("a current file: got %q and %q", answer.Warnings, actions)
				}
				continue
			}
			warned(t, answer, test.warning)
			if !strings.Contains(actions, bootstrap) {
				t.Errorf("%q: got %s", test.text, actions)
			}
		}
	})
	t.Run("the skill of Claude Code, and its commands", func(t *testing.T) {
		w := newWorld(t, map[string]string{repoFile: config("claude_code: {mode: files, scope: project, options: {write_repo_skills: true}}")})
		got := w.OK("status", ``, nil)
		warned(t, got, ".claude/skills/agentpack-operator/SKILL.md")
		warned(t, got, "operator assets missing (claude_code/project)")
		for _, command := range []string{"doctor", "update", "preview", "plan", "deploy", "status", "diff", "explain", "evolve"} {
			w.Write("project/.claude/commands/ap-"+command+".md", "<!-- agentpack_version: 0.1.0 -->")
		}
		w.Write("project/.claude/skills/agentpack-operator/SKILL.md", "agentpack_version: '0.9.1'")
		var data statusData
		warned(t, w.OK("status", ``, &data), "operator assets outdated (claude_code/project)")
		if strings.Contains(strings.Join(data.NextActions, "\n"), "bootstrap") {
			t.Errorf("outdated commands alone need no bootstrap: got %q", data.NextActions)
		}
	})
}

type doctorData struct {
	MachineID   string `json:"machine_id"`
	Roots       []rootData
	Fixes       []string `json:"gitignore_fixes"`
	NextActions []string `json:"next_actions"`
}

type rootData struct {
	Target, Root     string
	Exists, Writable bool
	Issues           []string
	Suggestion       *string
}

func TestDoctor(t *testing.T) {
	t.Run("a directory that is missing", func(t *testing.T) {
		w := newWorld(t, base())
		w.Write("home/.codex/x", "")
		var got doctorData
		w.OK("doctor", ``, &got)
		suggestion := "create directory: mkdir -p " + w.path("home/.codex/prompts")
		want := doctorData{
			MachineID: "test-machine", Fixes: []string{}, NextActions: []string{"mkdir -p " + w.path("home/.codex/prompts")},
			Roots: []rootData{
				{"codex", w.Codex, true, true, []string{}, nil},
				{"codex", w.path("home/.codex/prompts"), false, false, []string{"missing"}, &suggestion},
			},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("a file in place of a directory, and a read-only directory", func(t *testing.T) {
		w := newWorld(t, base())
		w.Write("home/.codex/prompts", "a file")
		if err := os.Chmod(w.Codex, 0o500); err != nil {
			t.Fatal(err)
		}
		var got doctorData
		w.OK("doctor", ``, &got)
		if err := os.Chmod(w.Codex, 0o755); err != nil {
			t.Fatal(err)
		}
		if len(got.NextActions) > 0 || !cmp.Equal(got.Roots[0].Issues, []string{"not_writable"}) || got.Roots[0].Suggestion == nil ||
			!cmp.Equal(got.Roots[1].Issues, []string{"not_a_directory"}) || got.Roots[1].Suggestion != nil {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("manifests that git does not ignore", func(t *testing.T) {
		w := newWorld(t, map[string]string{repoFile: config("cursor: {mode: files, scope: project}", "instructions:a"), modules("instructions/a/AGENTS.md"): "a"})
		w.Top = w.Project
		w.Write("project/.cursor/rules/x", "")
		arguments := w.with("", map[string]any{"repo": w.Repo, "target": "cursor"})
		var shown, hidden doctorData
		warned(t, w.OK("doctor", arguments, &shown), ".agentpack.manifest*.json")
		if want := "agentpack --repo " + w.Repo + " --target cursor doctor --fix --yes --json"; !cmp.Equal(shown.NextActions, []string{want}) {
			t.Errorf("got %q", shown.NextActions)
		}
		w.Ignored = []string{w.path("project/.cursor/rules/.agentpack.manifest.cursor.json")}
		if got := w.OK("doctor", arguments, &hidden); len(got.Warnings) > 0 || len(hidden.NextActions) > 0 {
			t.Errorf("got %q, %q", got.Warnings, hidden.NextActions)
		}
	})
}

func TestExplain(t *testing.T) {
	type module struct {
		ID    string  `json:"module_id"`
		Type  *string `json:"module_type"`
		Layer *string
		Path  *string `json:"module_path"`
	}
	type data struct {
		Changes []struct {
			Op, Path string
			Modules  []module
		}
		Drift []struct {
			Kind, Path string
			Modules    []string
		}
	}
	p := func(text string) *string { return &text }
	t.Run("a plan, a diff and a status", func(t *testing.T) {
		files := base()
		files[machineOverlay+"AGENTS.md"] = "mine"
		w := newWorld(t, files)
		var plan, diff data
		got := w.OK("explain", `{"kind":"plan"}`, &plan)
		if got.Command != "explain.plan" || got.CommandID != "explain plan" {
			t.Errorf("got %+v", got)
		}
		got = w.OK("explain", `{"kind":"diff"}`, &diff)
		if got.Command != "explain.plan" || got.CommandID != "explain diff" || !cmp.Equal(got.CommandPath, []string{"explain", "diff"}) || !cmp.Equal(plan, diff) {
			t.Errorf("got %+v", got)
		}
		if len(plan.Changes) != 2 {
			t.Fatalf("got %+v", plan)
		}
		if d := cmp.Diff([]module{{"instructions:base", p("Instructions"), p("machine"), p("AGENTS.md")}}, plan.Changes[0].Modules); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff([]module{{"prompt:hello", p("Prompt"), p("upstream"), p("hello.md")}}, plan.Changes[1].Modules); d != "" {
			t.Error(d)
		}
		var drift data
		warned(t, w.OK("explain", `{"kind":"status"}`, &drift), "no usable target manifest")
		w.Deploy(``)
		w.Write(promptOut, "edited")
		w.Write("home/.codex/prompts/extra.md", "not from a module")
		drift = data{}
		got = w.OK("explain", `{"kind":"status"}`, &drift)
		if got.Command != "explain.status" || len(drift.Drift) != 1 || drift.Drift[0].Kind != "modified" || !cmp.Equal(drift.Drift[0].Modules, []string{"prompt:hello"}) {
			t.Errorf("got %+v", drift)
		}
	})
	t.Run("what is deleted", func(t *testing.T) {
		w := newWorld(t, base())
		w.Deploy(``)
		w.Write(repoFile, strings.Replace(standard("prompt:hello"), "tags: [base]", "tags: [other]", 1))
		var plan data
		w.OK("explain", `{"kind":"plan"}`, &plan)
		if len(plan.Changes) != 2 {
			t.Fatalf("got %+v", plan)
		}
		if d := cmp.Diff([]module{{ID: "instructions:base"}}, plan.Changes[0].Modules); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff([]module{{"prompt:hello", p("Prompt"), p("upstream"), p("hello.md")}}, plan.Changes[1].Modules); d != "" {
			t.Error(d)
		}
	})
	t.Run("a prompt that VS Code's target renames is deleted", func(t *testing.T) {
		w := newWorld(t, map[string]string{repoFile: config("vscode: {mode: files, scope: project}", "prompt:hello"), modules("prompt/hello/hello.md"): "h"})
		w.Deploy(``)
		w.Write(repoFile, strings.Replace(w.Read(repoFile), "tags: [base], source", "tags: [other], source", 1))
		var plan data
		w.OK("explain", `{"kind":"plan"}`, &plan)
		if len(plan.Changes) != 1 || plan.Changes[0].Op != "delete" {
			t.Fatalf("got %+v", plan)
		}
		if d := cmp.Diff([]module{{"prompt:hello", p("Prompt"), p("upstream"), p("hello.md")}}, plan.Changes[0].Modules); d != "" {
			t.Error(d)
		}
	})
	t.Run("a missing or unknown kind", func(t *testing.T) {
		w := newWorld(t, base())
		for _, arguments := range []string{``, `{}`, `{"kind":"all"}`, `{"kind":5}`} {
			w.Fails("explain", arguments, "E_UNEXPECTED")
		}
	})
}
