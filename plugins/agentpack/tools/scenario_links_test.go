package tools_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
	t.Run("a link in the root is followed", func(t *testing.T) {
		w := newWorld(t, base())
		w.Write("home/.codex/real.md", "mine")
		w.Link("real.md", instructionsOut)
		w.Deploy(``)
		if got := w.Read("home/.codex/real.md"); got != "# Base instructions\n" {
			t.Errorf("got %q", got)
		}
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
