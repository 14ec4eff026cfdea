package tools_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/env"
)

// Link creates a symbolic link at path.
func (w *world) Link(target, path string) {
	w.t.Helper()
	at := w.path(path)
	if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.RemoveAll(at), os.Symlink(target, at)); err != nil {
		w.t.Fatal(err)
	}
}

// TestLinkedFileBlocksOnlyItself has a file whose symbolic link resolves to a path outside the file's root. The tools
// must neither read nor write this file, must warn about it, and must process all other files.
func TestLinkedFileBlocksOnlyItself(t *testing.T) {
	tools := map[string]string{
		"plan": ``, "diff": ``, "preview": `{"diff":true}`, "status": ``, "explain": `{"kind":"plan"}`, "doctor": ``, "deploy": ``,
		"evolve_propose": `{"dry_run":true}`, "evolve_restore": `{"dry_run":true}`,
	}
	for name, target := range map[string]string{
		"a target file outside": "../elsewhere", "nothing outside": "../nothing", "a missing target in the root": "nothing.md", "a loop": "AGENTS.md", "a target directory outside": "../../project",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, base())
			w.Write("home/elsewhere", "theirs")
			w.Link(target, instructionsOut)
			for tool, arguments := range tools {
				warned(t, w.OK(tool, arguments, nil), w.path(instructionsOut)+" is left out")
			}
			w.Wants(``, "create home/.codex/prompts/hello.md")
			w.Deploy(``)
			if got := w.Read("home/.codex/prompts/hello.md"); got != "Hello v1\n" || w.Read("home/elsewhere") != "theirs" {
				t.Errorf("got %q and %q", got, w.Read("home/elsewhere"))
			}
			if got, err := os.Readlink(w.path(instructionsOut)); got != target || err != nil {
				t.Errorf("the symbolic link has the target %q, %v", got, err)
			}
			w.Remove(instructionsOut)
			w.Wants(``, "create "+instructionsOut)
		})
	}
	t.Run("a file of the user's in place of the link is not managed", func(t *testing.T) {
		w := newWorld(t, base())
		w.Deploy(``)
		w.Write("home/elsewhere", "theirs")
		w.Link("../elsewhere", instructionsOut)
		w.Write(modules("prompt/hello/hello.md"), "Hello v2\n")
		w.Deploy(``)
		w.Remove(instructionsOut)
		w.Write(instructionsOut, "theirs")
		w.Wants(``, "update "+instructionsOut+" adopt_update")
	})
	t.Run("a directory in a root", func(t *testing.T) {
		w := newWorld(t, map[string]string{
			repoFile: config("codex: {mode: files, scope: user}", "skill:s", "skill:z"), modules("skill/s/SKILL.md"): skillText,
			modules("skill/z/SKILL.md"): skillText, "home/elsewhere/SKILL.md": "theirs",
		})
		w.Link("../../elsewhere", "home/.codex/skills/s")
		warned(t, w.OK("plan", ``, nil), w.path("home/.codex/skills/s/SKILL.md")+" is left out")
		w.Wants(``, "create home/.codex/skills/z/SKILL.md")
	})
	t.Run("a managed file behind a symbolic link is not deleted", func(t *testing.T) {
		w := newWorld(t, map[string]string{
			repoFile: standard(), "home/elsewhere/x": "theirs", "home/.codex/prompts/own": "old",
			promptManifest: `{"schema_version":1,"generated_at":"2026-02-01T09:00:00Z","tool":"codex","managed_files":[{"path":"out/x","sha256":"00"},{"path":"own","sha256":"00"}]}`,
		})
		w.Link("../../elsewhere", "home/.codex/prompts/out")
		warned(t, w.OK("status", ``, nil), w.path("home/.codex/prompts/out/x")+" is left out")
		w.Wants(``, "delete home/.codex/prompts/own")
	})
	t.Run("the root itself may be a symbolic link", func(t *testing.T) {
		w := newWorld(t, base())
		w.Write("home/dotfiles/codex/keep", "")
		w.Link("dotfiles/codex", "home/.codex")
		w.Deploy(``)
		if got := w.Read("home/dotfiles/codex/prompts/hello.md"); got != "Hello v1\n" {
			t.Errorf("got %q", got)
		}
	})
}

// TestLinkInRootIsReplaced has a symbolic link in place of a deployed file. A deploy replaces the link and not its target,
// and a rollback to a deploy without the file restores the link.
func TestLinkInRootIsReplaced(t *testing.T) {
	w := newWorld(t, map[string]string{
		repoFile: standard("prompt:hello"), modules("prompt/hello/hello.md"): "Hello v1\n", modules("instructions/base/AGENTS.md"): "# Base instructions\n",
	})
	w.Write("home/.codex/CLAUDE.md", "mine")
	w.Link("CLAUDE.md", instructionsOut)
	wantLink := func() {
		t.Helper()
		if got, err := os.Readlink(w.path(instructionsOut)); got != "CLAUDE.md" || err != nil || w.Read("home/.codex/CLAUDE.md") != "mine" {
			t.Errorf("the link has the target %q, %v, which contains %q", got, err, w.Read("home/.codex/CLAUDE.md"))
		}
	}
	wantFile := func() {
		t.Helper()
		info, err := os.Lstat(w.path(instructionsOut))
		if err != nil || !info.Mode().IsRegular() || w.Read(instructionsOut) != "# Base instructions\n" || w.Read("home/.codex/CLAUDE.md") != "mine" {
			t.Errorf("got %v, %v, %q and %q", info.Mode(), err, w.Read(instructionsOut), w.Read("home/.codex/CLAUDE.md"))
		}
	}
	first := w.Deploy(``)
	wantLink()
	w.Write(repoFile, standard("prompt:hello", "instructions:base"))
	w.Wants(``, "update "+instructionsOut+" adopt_update")
	second := w.Deploy(``)
	wantFile()
	w.OK("rollback", w.with(``, map[string]any{"to": first.SnapshotID, "yes": true}), nil)
	wantLink()
	w.OK("rollback", w.with(``, map[string]any{"to": second.SnapshotID, "yes": true}), nil)
	wantFile()
	w.Remove(instructionsOut)
	w.OK("rollback", w.with(``, map[string]any{"to": first.SnapshotID, "yes": true}), nil)
	wantLink()
}

// TestLinkToDeployedFileIsReplaced has a symbolic link between two deployed files, which are written in one transaction.
func TestLinkToDeployedFileIsReplaced(t *testing.T) {
	for target, path := range map[string]string{"AGENTS.md": "project/.rules", ".rules": "project/AGENTS.md"} {
		t.Run(path, func(t *testing.T) {
			w := newWorld(t, map[string]string{
				repoFile:                            config("codex: {mode: files, scope: project, options: {write_repo_skills: false}}\nzed: {mode: files, scope: project}", "instructions:a"),
				modules("instructions/a/AGENTS.md"): "new", "project/" + target: "old",
			})
			w.Link(target, path)
			w.Wants(``, "update project/AGENTS.md adopt_update", "update project/.rules adopt_update")
			w.Deploy(``)
			if info, err := os.Lstat(w.path(path)); err != nil || !info.Mode().IsRegular() || w.Read(path) != "new" || w.Read("project/"+target) != "new" {
				t.Errorf("got %v, %q and %q", err, w.Read(path), w.Read("project/"+target))
			}
			w.Wants(``)
		})
	}
}

// TestRootsThatAreOneDirectory has a symbolic link between the roots of two targets.
func TestRootsThatAreOneDirectory(t *testing.T) {
	const codex, claude = "codex: {mode: files, scope: user}", "claude_code: {mode: files, scope: user, options: {write_user_skills: true}}"
	const out, alias = "home/.codex/skills/s/SKILL.md", "home/.claude/skills/s/SKILL.md"
	w := newWorld(t, map[string]string{repoFile: config(codex+"\n"+claude, "skill:s"), modules("skill/s/SKILL.md"): skillText, "home/.codex/skills/own/SKILL.md": "mine"})
	w.Link("../.codex/skills", "home/.claude/skills")
	w.Wants(``, "create "+alias, "create "+out)
	first := w.Deploy(``)
	w.Wants(``)
	w.Write(modules("skill/s/SKILL.md"), skillText+"more\n")
	w.Wants(``, "update "+alias+" managed_update", "update "+out+" managed_update")
	w.Deploy(``)
	w.Wants(``)
	w.Write(repoFile, strings.Replace(config(codex+"\n"+claude, "skill:s"), "type: skill,", "type: skill, targets: [claude_code],", 1))
	w.Wants(``)
	w.OK("rollback", w.with(``, map[string]any{"to": first.SnapshotID, "yes": true}), nil)
	if got := w.Read(out); got != skillText || w.Read(alias) != skillText {
		t.Errorf("got %q and %q", got, w.Read(alias))
	}
	w.Write(repoFile, config(codex+"\n"+claude))
	w.Wants(``, "delete "+alias, "delete "+out)
	w.Deploy(``)
	if w.Read(out) != "(none)" || w.Read("home/.codex/skills/own/SKILL.md") != "mine" {
		t.Errorf("after the removal: %q, %q", w.Read(out), w.Read("home/.codex/skills/own/SKILL.md"))
	}
}

// TestNamesThatAreNotUTF8AreSkipped has such names in a module, an overlay and a target directory.
func TestNamesThatAreNotUTF8AreSkipped(t *testing.T) {
	// From four modules on, modules in one directory are read by a scan.
	for _, count := range []int{1, 4} {
		t.Run(fmt.Sprintf("%d modules", count), func(t *testing.T) {
			var ids, want []string
			w := newWorld(t, map[string]string{"home/.codex/prompts/x": ""})
			for _, name := range []string{"a", "b", "c", "d"}[:count] {
				ids = append(ids, "skill:"+name)
				want = append(want, "create home/.codex/skills/"+name+"/SKILL.md")
				w.Write(modules("skill/"+name+"/SKILL.md"), skillText)
			}
			w.Write(repoFile, config("codex: {mode: files, scope: user}", ids...))
			for _, path := range []string{modules("skill/a/x\xff.md"), overlays + env.ModuleKey("skill:a") + "/y\xff.md", "home/.codex/skills/z\xff.md"} {
				if err := os.MkdirAll(filepath.Dir(w.path(path)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(w.path(path), []byte("x"), 0o644); err != nil {
					t.Skipf("this file system has no such names: %v", err)
				}
			}
			for tool, arguments := range map[string]string{"plan": ``, "preview": `{"diff":true}`, "explain": `{"kind":"plan"}`, "deploy": ``, "evolve_restore": `{"dry_run":true}`, "status": ``, "doctor": ``} {
				got := w.OK(tool, arguments, nil)
				warned(t, got, `"x\xff.md" is left out`)
				warned(t, got, `"y\xff.md" is left out`)
			}
			w.Wants(``, want...)
			w.Deploy(``)
			warned(t, w.OK("status", ``, nil), `z\xff.md" is not reported`)
			w.Wants(``)
		})
	}
}

// TestFileInPlaceOfADirectory checks that the error names the file that the user has to remove.
func TestFileInPlaceOfADirectory(t *testing.T) {
	w := newWorld(t, map[string]string{
		repoFile: config("codex: {mode: files, scope: user}", "skill:s"), modules("skill/s/SKILL.md"): skillText, "home/.codex/skills/s": "a file",
	})
	for tool, arguments := range map[string]string{"plan": ``, "deploy": ``, "status": ``, "explain": `{"kind":"status"}`} {
		w.Fails(tool, arguments, "E_UNEXPECTED")
		if message := w.Call(tool, arguments).Errors[0].Message; !strings.Contains(message, w.path("home/.codex/skills/s")+" is a file") {
			t.Errorf("%s: %s", tool, message)
		}
	}
}
