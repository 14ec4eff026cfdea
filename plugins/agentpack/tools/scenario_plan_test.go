package tools_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

const (
	promptOut      = "home/.codex/prompts/hello.md"
	promptManifest = "home/.codex/prompts/.agentpack.manifest.codex.json"
	agentsManifest = "home/.codex/.agentpack.manifest.codex.json"
)

func TestAdopt(t *testing.T) {
	t.Run("an unmanaged file of the user", func(t *testing.T) {
		w := newWorld(t, base())
		w.Write(promptOut, "my own")
		w.Wants(``, "create home/.codex/AGENTS.md", "update "+promptOut+" adopt_update")
		token := w.Token(``)
		before := w.Files()
		details := w.Fails("deploy_apply", fmt.Sprintf(`{"yes":true,"confirm_token":%q}`, token), "E_ADOPT_CONFIRM_REQUIRED")
		want := map[string]any{
			"flag": "--adopt", "adopt_updates": 1.0, "sample_paths": []any{w.path(promptOut)},
			"reason_code": "adopt_confirm_required", "next_actions": []any{"retry_with_adopt"},
		}
		if diff := cmp.Diff(want, details); diff != "" {
			t.Error(diff)
		}
		w.Unchanged(before)
		var done planData
		w.OK("deploy_apply", fmt.Sprintf(`{"yes":true,"confirm_token":%q,"adopt":true}`, token), &done)
		if !*done.Applied || done.SnapshotID == "" || w.Read(promptOut) != "Hello v1\n" {
			t.Errorf("got %+v", done)
		}
		w.Write(modules("prompt/hello/hello.md"), "Hello v2\n")
		w.Wants(``, "update "+promptOut+" managed_update")
		w.OK("deploy_apply", fmt.Sprintf(`{"yes":true,"confirm_token":%q}`, w.Token(``)), nil)
		if w.Read(promptOut) != "Hello v2\n" {
			t.Error("the file was not written")
		}
	})
	t.Run("an unmanaged file with the same content becomes managed", func(t *testing.T) {
		w := newWorld(t, base())
		w.Write(promptOut, "Hello v1\n")
		w.Write(instructionsOut, "# Base instructions\n")
		w.Wants(``)
		done := w.Deploy(``)
		if !*done.Applied || done.SnapshotID == "" || w.Read(promptManifest) == "(none)" {
			t.Errorf("got %+v", done)
		}
		if again := w.Deploy(``); *again.Applied || again.Reason != "no_changes" {
			t.Errorf("got %+v", again)
		}
	})
}

func TestManagedFiles(t *testing.T) {
	t.Run("a module is removed from the profile", func(t *testing.T) {
		w := newWorld(t, base())
		w.Deploy(``)
		w.Write("home/.codex/prompts/mine.md", "mine")
		w.Write(repoFile, standard("instructions:base"))
		w.Wants(``, "delete "+promptOut)
		w.Deploy(``)
		if w.Read(promptOut) != "(none)" || w.Read("home/.codex/prompts/mine.md") != "mine" {
			t.Error("the deploy kept the managed file or removed the unmanaged one")
		}
	})
	t.Run("only files in the manifest are deleted", func(t *testing.T) {
		w := newWorld(t, map[string]string{
			repoFile: standard(), "home/.codex/prompts/managed.txt": "m", "home/.codex/prompts/unmanaged.txt": "u",
			promptManifest: `{"schema_version":1,"generated_at":"2026-02-01T09:00:00Z","tool":"codex","managed_files":[{"path":"managed.txt","sha256":"00"}]}`,
		})
		w.Wants(``, "delete home/.codex/prompts/managed.txt")
	})
	t.Run("without manifests the files of the last deploy are managed", func(t *testing.T) {
		w := newWorld(t, base())
		w.Deploy(``)
		w.Remove(promptManifest)
		w.Remove(agentsManifest)
		w.Write("home/.agentpack/state/snapshots/99999999999999999999.json",
			`{"kind":"bootstrap","id":"99999999999999999999","created_at":"2026-02-01T09:00:00Z","targets":["codex"],"changes":[],"lockfile_sha256":null,"backup_root":""}`)
		w.Write(modules("prompt/hello/hello.md"), "Hello v2\n")
		w.Wants(``, "update "+promptOut+" managed_update")
	})
	t.Run("entries outside of the root", func(t *testing.T) {
		w := newWorld(t, map[string]string{
			repoFile: standard(), "home/.codex/evil": "e", "home/.codex/prompts/own": "o",
			promptManifest: `{"schema_version":1,"generated_at":"2026-02-01T09:00:00Z","tool":"codex","managed_files":[{"path":"../evil","sha256":"00"},{"path":"/etc/passwd","sha256":"00"},{"path":"own","sha256":"00"}]}`,
		})
		w.Wants(``, "delete home/.codex/prompts/own")
		got := w.OK("plan", ``, nil)
		warned(t, got, "../evil")
		warned(t, got, "/etc/passwd")
	})
	t.Run("a manifest of another version", func(t *testing.T) {
		w := newWorld(t, base())
		w.Deploy(``)
		w.Write(promptManifest, strings.Replace(w.Read(promptManifest), `"schema_version": 1`, `"schema_version": 999`, 1))
		for _, tool := range []string{"plan", "status"} {
			warned(t, w.OK(tool, ``, nil), "unsupported schema_version")
		}
	})
	t.Run("a manifest with the file name of older versions", func(t *testing.T) {
		w := newWorld(t, map[string]string{
			repoFile:                            config("codex: {mode: files, scope: project, options: {write_repo_skills: no}}\nzed: {mode: files, scope: project}", "instructions:a"),
			modules("instructions/a/AGENTS.md"): "new",
			"project/AGENTS.md":                 "old",
			"project/.rules":                    "old",
			"project/.agentpack.manifest.json":  `{"schema_version":1,"generated_at":"2026-02-01T09:00:00Z","tool":"codex","managed_files":[{"path":"AGENTS.md","sha256":"00"}]}`,
		})
		w.Wants(``, "update project/AGENTS.md managed_update", "update project/.rules adopt_update")
		warned(t, w.OK("plan", ``, nil), "older versions")
	})
	t.Run("content of a manifest", func(t *testing.T) {
		w := newWorld(t, base())
		done := w.Deploy(``)
		var got any
		if err := json.Unmarshal([]byte(w.Read(promptManifest)), &got); err != nil {
			t.Fatal(err)
		}
		want := map[string]any{
			"schema_version": 1.0, "tool": "codex", "snapshot_id": done.SnapshotID, "generated_at": got.(map[string]any)["generated_at"],
			"managed_files": []any{map[string]any{
				"path": "hello.md", "sha256": "a82da1d0efeff016b890eca15b53e2cd71cf375187d5e2a3da2278f3bad4d498", "module_ids": []any{"prompt:hello"},
			}},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("a directory that cannot be written", func(t *testing.T) {
		if testenv.AsNobody(t) {
			return
		}
		w := newWorld(t, base())
		w.Write("home/.codex/prompts/mine.md", "mine")
		prompts := filepath.Dir(w.path(promptOut))
		chmod := func(mode os.FileMode) {
			if err := os.Chmod(prompts, mode); err != nil {
				t.Error(err)
			}
		}
		chmod(0o555)
		t.Cleanup(func() { chmod(0o755) })
		token := w.Token(``)
		before := w.Files()
		details := w.Fails("deploy_apply", fmt.Sprintf(`{"yes":true,"confirm_token":%q}`, token), "E_IO_PERMISSION_DENIED")
		if details["path"] == nil || details["path_posix"] == nil {
			t.Error(details)
		}
		w.Unchanged(before)
	})
}
