package tools_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// modules returns the path of a file in the directory modules of the config repo.
func modules(path string) string { return "home/.agentpack/repo/modules/" + path }

const skillText = "---\nname: s\ndescription: d\n---\n"

func TestRendering(t *testing.T) {
	t.Run("instructions and a prompt, first deploy", func(t *testing.T) {
		w := newWorld(t, base())
		var plan, diff planData
		w.OK("plan", ``, &plan)
		w.OK("diff", ``, &diff)
		if d := cmp.Diff(plan, diff); d != "" {
			t.Error(d)
		}
		if len(plan.Changes) != 2 || plan.Changes[0].Path != w.path("home/.codex/AGENTS.md") || plan.Changes[1].Path != w.path("home/.codex/prompts/hello.md") ||
			!strings.HasPrefix(*plan.Changes[0].After, "9fd1eb37") || !strings.HasPrefix(*plan.Changes[1].After, "a82da1d0") ||
			plan.Changes[0].Before != nil || plan.Changes[0].Reason != "file missing" || plan.Summary.Create != 2 {
			t.Errorf("got %+v", plan)
		}
	})
	t.Run("one module verbatim, two with markers", func(t *testing.T) {
		files := base()
		w := newWorld(t, files)
		w.Deploy(``)
		if got := w.Read("home/.codex/AGENTS.md"); got != "# Base instructions\n" {
			t.Errorf("got %q", got)
		}
		w.Write(repoFile, standard("instructions:base", "prompt:hello", "instructions:another"))
		w.Write(modules("instructions/another/AGENTS.md"), "no line break")
		w.Deploy(``)
		want := "<!-- agentpack:module=instructions:another -->\nno line break\n<!-- /agentpack -->\n\n---\n\n" +
			"<!-- agentpack:module=instructions:base -->\n# Base instructions\n<!-- /agentpack -->"
		if got := w.Read("home/.codex/AGENTS.md"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("Cursor rules", func(t *testing.T) {
		w := newWorld(t, map[string]string{
			repoFile:                               config("cursor: {mode: files, scope: both}", "instructions:base", "instructions:other"),
			modules("instructions/base/AGENTS.md"): "# Base", modules("instructions/other/AGENTS.md"): "other\n",
		})
		w.Deploy(`{"target":"cursor"}`)
		want := "---\ndescription: \"agentpack: instructions:base\"\nglobs: []\nalwaysApply: true\n---\n\n# Base\n"
		if got := w.Read("project/.cursor/rules/instructions_base--d39861fff1.mdc"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if rules, err := filepath.Glob(w.path("project/.cursor/rules/*.mdc")); err != nil || len(rules) != 2 {
			t.Errorf("got %q, %v", rules, err)
		}
	})
	t.Run("prompts for VS Code", func(t *testing.T) {
		w := newWorld(t, map[string]string{
			repoFile:                         config("vscode: {mode: files, scope: project}", "prompt:hello", "prompt:review", "instructions:a"),
			modules("prompt/hello/hello.md"): "h", modules("prompt/review/review.prompt.md"): "r", modules("instructions/a/AGENTS.md"): "a",
		})
		w.Wants(``, "create project/.github/copilot-instructions.md", "create project/.github/prompts/hello.prompt.md", "create project/.github/prompts/review.prompt.md")
		w.Deploy(``)
		for _, manifest := range []string{"project/.github/.agentpack.manifest.vscode.json", "project/.github/prompts/.agentpack.manifest.vscode.json"} {
			if w.Read(manifest) == "(none)" {
				t.Errorf("there is no %s", manifest)
			}
		}
	})
	t.Run("skills for Claude Code", func(t *testing.T) {
		const target = "claude_code: {mode: files, scope: project, options: {write_repo_skills: true}}"
		files := map[string]string{repoFile: config(target, "skill:s"), modules("skill/s/SKILL.md"): skillText}
		w := newWorld(t, files)
		w.Deploy(``)
		if w.Read("project/.claude/skills/s/SKILL.md") != skillText || w.Read("project/.claude/skills/.agentpack.manifest.claude_code.json") == "(none)" {
			t.Errorf("got %v", w.Files())
		}
		w.Write(repoFile, config("claude_code: {mode: files, scope: project}", "skill:s"))
		w.Remove("project/.claude")
		w.Wants(``)
	})
}

func TestModuleValidation(t *testing.T) {
	t.Run("invalid skills", func(t *testing.T) {
		for name, text := range map[string]string{
			"no front matter": "# s\n", "a blank description": "---\nname: s\ndescription: ''\n---\n",
			"no map": "---\n- a\n---\n", "no end": "---\nname: s\ndescription: d\n",
		} {
			t.Run(name, func(t *testing.T) {
				w := newWorld(t, map[string]string{repoFile: standard("skill:s"), modules("skill/s/SKILL.md"): text})
				if details := w.Fails("plan", ``, "E_CONFIG_INVALID"); details["module_id"] != "skill:s" {
					t.Error(details)
				}
			})
		}
	})
	t.Run("invalid commands", func(t *testing.T) {
		for text, code := range map[string]string{
			"do it": "E_UNEXPECTED", "---\ndescription: d\n---\n!bash\n": "E_UNEXPECTED",
			"---\ndescription: d\nallowed-tools: [\"Bash(\\\"git status\\\")\"]\n---\n!bash\n": "",
		} {
			t.Run("expects "+code, func(t *testing.T) {
				w := newWorld(t, map[string]string{repoFile: config("claude_code: {mode: files, scope: user}", "command:c"), modules("command/c/c.md"): text})
				if code == "" {
					w.Wants(``, "create home/.claude/commands/c.md")
					return
				}
				w.Fails("plan", ``, code)
			})
		}
	})
	t.Run("a prompt of two files", func(t *testing.T) {
		files := base()
		files[modules("prompt/hello/more.md")] = ""
		newWorld(t, files).Fails("plan", ``, "E_UNEXPECTED")
	})
	t.Run("two prompts with one file name", func(t *testing.T) {
		files := map[string]string{repoFile: standard("prompt:a", "prompt:b"), modules("prompt/a/prompt.md"): "1", modules("prompt/b/prompt.md"): "2"}
		w := newWorld(t, files)
		details := w.Fails("plan", ``, "E_DESIRED_STATE_CONFLICT")
		side := func(id, sum string) map[string]any { return map[string]any{"sha256": sum, "module_ids": []any{id}} }
		want := map[string]any{
			"target": "codex", "path": w.path("home/.codex/prompts/prompt.md"), "reason_code": "desired_state_conflict",
			"next_actions": []any{"resolve_desired_state_conflict", "retry_command"},
			"existing":     side("prompt:a", "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"),
			"new":          side("prompt:b", "d4735e3a265e16eee03f59718b9b5d03019c07d8b6c51f90da3a666eec13ab35"),
		}
		if diff := cmp.Diff(want, details); diff != "" {
			t.Error(diff)
		}
		w.Write(modules("prompt/b/prompt.md"), "1")
		w.Wants(``, "create home/.codex/prompts/prompt.md")
		w.Deploy(``)
		if got := w.Read("home/.codex/prompts/.agentpack.manifest.codex.json"); !strings.Contains(got, `"prompt:a",`) || !strings.Contains(got, `"prompt:b"`) {
			t.Errorf("got %s", got)
		}
	})
	t.Run("names of skills outside the root", func(t *testing.T) {
		for _, id := range []string{"skill:../../evil", "skill:a/b", `skill:a\b`, "skill:..", "skill:.", "skill:.Git", "skill:.agentpack", "skill:.agentpack.manifest.codex.json", "skill:.agentpack-tmp-1"} {
			t.Run(id, func(t *testing.T) {
				text := strings.Replace(config("codex: {mode: files, scope: user}", "skill:s"), "'skill:s'", "'"+id+"'", 1)
				w := newWorld(t, map[string]string{repoFile: text, modules("skill/s/SKILL.md"): skillText})
				if details := w.Fails("plan", ``, "E_CONFIG_INVALID"); details["module_id"] != id {
					t.Error(details)
				}
			})
		}
	})
}

func TestTargets(t *testing.T) {
	t.Run("one skill for the user and for the project", func(t *testing.T) {
		w := newWorld(t, map[string]string{repoFile: config("codex: {mode: files, scope: both}", "skill:s"), modules("skill/s/SKILL.md"): skillText, modules("skill/s/a/b.txt"): "b"})
		w.Wants(`{"target":"codex"}`, "create home/.codex/skills/s/SKILL.md", "create home/.codex/skills/s/a/b.txt",
			"create project/.codex/skills/s/SKILL.md", "create project/.codex/skills/s/a/b.txt")
	})
	t.Run("location of codex", func(t *testing.T) {
		w := newWorld(t, nil)
		w.Write(modules("prompt/p/p.md"), "p")
		t.Setenv("CODEX_HOME", w.path("home/variable"))
		for option, want := range map[string]string{
			`""`: "home/variable", `"  "`: "home/variable", `"~/.codex"`: "home/.codex", `"~/o"`: "home/o", "5": "home/variable",
		} {
			w.Write(repoFile, config("codex: {mode: files, scope: user, options: {codex_home: "+option+"}}", "prompt:p"))
			w.Wants(``, "create "+want+"/prompts/p.md")
		}
		t.Setenv("CODEX_HOME", "")
		w.Write(repoFile, config("codex: {mode: files, scope: user}", "prompt:p"))
		w.Wants(``, "create home/.codex/prompts/p.md")
	})
	t.Run("jetbrains and zed", func(t *testing.T) {
		w := newWorld(t, map[string]string{
			repoFile: config("jetbrains: {mode: files, scope: project}\nzed: {mode: files, scope: both}", "instructions:a"), modules("instructions/a/AGENTS.md"): "a",
		})
		w.Wants(``, "create project/.junie/guidelines.md", "create project/.rules")
		w.Wants(`{"target":"jetbrains"}`, "create project/.junie/guidelines.md")
		w.Wants(`{"target":"zed"}`, "create project/.rules")
		w.Write(repoFile, config("jetbrains: {mode: files, scope: project, options: {write_guidelines: no}}\nzed: {mode: files, scope: both, options: {write_rules: false}}", "instructions:a"))
		w.Wants(``)
	})
	t.Run("switches of codex", func(t *testing.T) {
		for off, gone := range map[string]string{
			"write_agents_global": "home/.codex/AGENTS.md", "write_user_prompts": "home/.codex/prompts/p.md",
			"write_user_skills": "home/.codex/skills/s/SKILL.md", "write_agents_repo_root": "project/AGENTS.md", "write_repo_skills": "project/.codex/skills/s/SKILL.md",
		} {
			t.Run(off, func(t *testing.T) {
				w := newWorld(t, map[string]string{
					repoFile:                            config("codex: {mode: files, scope: both, options: {"+off+": false}}", "instructions:a", "prompt:p", "skill:s"),
					modules("instructions/a/AGENTS.md"): "a", modules("prompt/p/p.md"): "p", modules("skill/s/SKILL.md"): skillText,
				})
				if got := w.Plan(``); len(got) != 4 || strings.Contains(strings.Join(got, " "), gone) {
					t.Errorf("got %q", got)
				}
			})
		}
	})
	t.Run("a module for one target", func(t *testing.T) {
		files := map[string]string{repoFile: strings.Replace(config("cursor: {mode: files, scope: project}\nzed: {mode: files, scope: project}", "instructions:a"),
			", tags:", ", targets: [zed], tags:", 1), modules("instructions/a/AGENTS.md"): "a"}
		newWorld(t, files).Wants(``, "create project/.rules")
	})
}
