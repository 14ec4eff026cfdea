package tools_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// base returns the files of a config repo with one module of instructions and one prompt, both for the target codex.
func base() map[string]string {
	return map[string]string{
		"home/.agentpack/repo/agentpack.yaml":                      standard("instructions:base", "prompt:hello"),
		"home/.agentpack/repo/modules/instructions/base/AGENTS.md": "# Base instructions\n",
		"home/.agentpack/repo/modules/prompt/hello/hello.md":       "Hello v1\n",
	}
}

const repoFile = "home/.agentpack/repo/agentpack.yaml"

func TestConfig(t *testing.T) {
	t.Run("no manifest", func(t *testing.T) {
		w := newWorld(t, nil)
		details := w.Fails("plan", `{}`, "E_CONFIG_MISSING")
		if diff := cmp.Diff([]any{"run_init", "retry_with_repo", "retry_command"}, details["next_actions"]); diff != "" {
			t.Error(diff)
		}
	})
	for _, test := range []struct {
		name, text, code string
		details          map[string]any
	}{
		{"truncated YAML", "version: [", "E_CONFIG_INVALID", map[string]any{"reason_code": "config_invalid"}},
		{"another version", "version: 2", "E_CONFIG_UNSUPPORTED_VERSION", map[string]any{"supported": []any{1.0}, "version": 2.0}},
		{
			"4 an unknown target", config("emacs: {mode: files, scope: user}"), "E_TARGET_UNSUPPORTED",
			map[string]any{"reason_code": "target_not_compiled", "next_actions": []any{"inspect_help_json", "edit_manifest_targets", "rebuild_with_target_feature", "retry_command"}},
		},
		{"no default profile", "version: 1\nprofiles: {other: {}}", "E_CONFIG_INVALID", map[string]any{"profile": "default"}},
		{"a duplicate id", standard("prompt:a", "prompt:a"), "E_CONFIG_INVALID", map[string]any{"module_id": "prompt:a"}},
		{"two sources", strings.Replace(standard("prompt:a"), "source: {", "source: {git: {url: x}, ", 1), "E_CONFIG_INVALID", map[string]any{"module_id": "prompt:a"}},
		{"no source", strings.Replace(standard("prompt:a"), "local_path: {path: modules/prompt/a}", "", 1), "E_CONFIG_INVALID", map[string]any{"module_id": "prompt:a"}},
		{"cursor with user scope", config("cursor: {mode: files, scope: user}"), "E_CONFIG_INVALID", map[string]any{"target": "cursor", "allowed_scopes": []any{"project", "both"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, map[string]string{repoFile: test.text})
			details := w.Fails("plan", `{}`, test.code)
			for key, want := range test.details {
				if diff := cmp.Diff(want, details[key]); diff != "" {
					t.Errorf("%s: %s", key, diff)
				}
			}
		})
	}
}

func TestConfigArguments(t *testing.T) {
	t.Run("an unknown target argument", func(t *testing.T) {
		w := newWorld(t, base())
		for _, target := range []string{"nope", ""} {
			details := w.Fails("plan", w.with("", map[string]any{"target": target, "profile": "ghost"}), "E_TARGET_UNSUPPORTED")
			want := map[string]any{
				"target": target, "allowed": []any{"all", "codex", "claude_code", "cursor", "vscode", "jetbrains", "zed"},
				"reason_code": "target_filter_unsupported", "next_actions": []any{"inspect_help_json", "retry_with_supported_target"},
			}
			if diff := cmp.Diff(want, details); diff != "" {
				t.Error(diff)
			}
		}
	})
	t.Run("a target that the manifest does not have", func(t *testing.T) {
		w := newWorld(t, base())
		if details := w.Fails("plan", `{"target":"cursor"}`, "E_CONFIG_INVALID"); details["target"] != "cursor" || details["hint"] == nil {
			t.Error(details)
		}
	})
	t.Run("an unknown profile", func(t *testing.T) {
		w := newWorld(t, base())
		w.Fails("plan", `{"profile":"ghost"}`, "E_UNEXPECTED")
	})
	t.Run("another repo", func(t *testing.T) {
		w := newWorld(t, map[string]string{
			"project/packs/agentpack.yaml":                    standard("prompt:x"),
			"project/packs/modules/prompt/x/x.md":             "x",
			"home/.agentpack/elsewhere/agentpack.yaml":        standard("prompt:y"),
			"home/.agentpack/elsewhere/modules/prompt/y/y.md": "y",
		})
		w.Wants(`{"repo":"packs"}`, "create home/.codex/prompts/x.md")
		w.Wants(w.with("", map[string]any{"repo": w.path("project/packs")}), "create home/.codex/prompts/x.md")
		w.Fails("plan", `{"repo":"~/.agentpack/elsewhere"}`, "E_CONFIG_MISSING")
		t.Setenv("AGENTPACK_HOME", "~/other")
		w.Write("home/other/repo/agentpack.yaml", standard("prompt:z"))
		w.Write("home/other/repo/modules/prompt/z/z.md", "z")
		w.Wants(``, "create home/.codex/prompts/z.md")
	})
}

func TestSelection(t *testing.T) {
	t.Run("unknown keys are ignored", func(t *testing.T) {
		files := base()
		files[repoFile] += "extra: {a: 1}\n"
		newWorld(t, files).Wants(``, "create home/.codex/AGENTS.md", "create home/.codex/prompts/hello.md")
	})
	t.Run("files of governance are not read", func(t *testing.T) {
		files := base()
		files["home/.agentpack/repo/agentpack.org.yaml"] = "version: ["
		files["home/.agentpack/repo/agentpack.org.lock.json"] = "{"
		w := newWorld(t, files)
		w.OK("plan", ``, nil)
		w.OK("status", ``, nil)
	})
	t.Run("files of a disabled module are not read", func(t *testing.T) {
		files := base()
		files[repoFile] += "  - {id: 'prompt:off', type: prompt, enabled: false, tags: [base], source: {local_path: {path: none.md}}}\n"
		newWorld(t, files).Wants(``, "create home/.codex/AGENTS.md", "create home/.codex/prompts/hello.md")
	})
	t.Run("an excluded module is left out", func(t *testing.T) {
		files := base()
		files[repoFile] = strings.Replace(files[repoFile], "include_tags: [base]", "include_tags: [base], exclude_modules: ['prompt:hello']", 1)
		newWorld(t, files).Wants(``, "create home/.codex/AGENTS.md")
	})
	t.Run("a boolean setting with the string no", func(t *testing.T) {
		files := map[string]string{repoFile: config(`claude_code: {mode: files, scope: both, options: {write_user_commands: "no"}}`, "command:c")}
		files["home/.agentpack/repo/modules/command/c/c.md"] = "---\ndescription: c\n---\n"
		newWorld(t, files).Wants(``, "create project/.claude/commands/c.md")
	})
	t.Run("a malformed lockfile is ignored", func(t *testing.T) {
		files := base()
		files["home/.agentpack/repo/agentpack.lock.json"] = "{"
		newWorld(t, files).Wants(``, "create home/.codex/AGENTS.md", "create home/.codex/prompts/hello.md")
	})
}
