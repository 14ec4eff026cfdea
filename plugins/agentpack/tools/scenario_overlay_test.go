package tools_test

import (
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/env"
)

// The directories in the config repo that hold the overlays of the module instructions:base.
const (
	overlays        = "home/.agentpack/repo/overlays/"
	globalOverlay   = overlays + "instructions_base--d39861fff1/"
	machineOverlay  = overlays + "machines/test-machine/instructions_base--d39861fff1/"
	patchOfBase     = "--- a/AGENTS.md\n+++ b/AGENTS.md\n@@ -1 +1 @@\n-# Base instructions\n+# Patched\n"
	instructionsOut = "home/.codex/AGENTS.md"
)

func TestOverlays(t *testing.T) {
	t.Run("project over machine over global", func(t *testing.T) {
		w := newWorld(t, base())
		projectOverlay := "home/.agentpack/repo/projects/" + env.ProjectID("", w.Project) + "/overlays/instructions_base--d39861fff1/"
		w.Write(globalOverlay+"AGENTS.md", "global")
		w.Write(machineOverlay+"AGENTS.md", "machine")
		w.Write(projectOverlay+"AGENTS.md", "project")
		for _, test := range []struct{ want, arguments, remove string }{
			{"project", ``, projectOverlay}, {"machine", ``, ""}, {"machine", `{"machine":"Test Machine"}`, ""}, {"global", `{"machine":"another"}`, ""},
		} {
			w.Deploy(test.arguments)
			if got := w.Read(instructionsOut); got != test.want {
				t.Errorf("%s: got %q, want %q", test.arguments, got, test.want)
			}
			if test.remove != "" {
				w.Remove(test.remove)
			}
		}
	})
	t.Run("an overlay under the raw id", func(t *testing.T) {
		w := newWorld(t, base())
		w.Write(overlays+"instructions:base/AGENTS.md", "raw")
		w.Deploy(``)
		if got := w.Read(instructionsOut); got != "raw" {
			t.Errorf("got %q", got)
		}
		w.Write(globalOverlay+"AGENTS.md", "canonical")
		w.Deploy(``)
		if got := w.Read(instructionsOut); got != "canonical" {
			t.Errorf("got %q", got)
		}
		warned(t, w.OK("doctor", ``, nil), "overlay layout (global) module instructions:base")
	})
	t.Run("metadata is never deployed", func(t *testing.T) {
		w := newWorld(t, map[string]string{
			repoFile: config("codex: {mode: files, scope: user}", "skill:s"), modules("skill/s/SKILL.md"): skillText,
			modules("skill/s/.agentpack/x"): "x", modules("skill/s/sub/.git/config"): "x", modules("skill/s/sub/.agentpackage"): "kept",
			overlays + "skill_s--0f96a3f8c5/.agentpack/module_id": "skill:s", overlays + "skill:s/.git/y": "y",
		})
		w.Wants(``, "create home/.codex/skills/s/SKILL.md", "create home/.codex/skills/s/sub/.agentpackage")
	})
	t.Run("a patch", func(t *testing.T) {
		files := base()
		files[globalOverlay+".agentpack/overlay.json"] = `{"overlay_kind":"patch"}`
		files[globalOverlay+".agentpack/patches/AGENTS.md.patch"] = patchOfBase
		w := newWorld(t, files)
		w.Deploy(``)
		if got := w.Read(instructionsOut); got != "# Patched\n" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("a patch of other text", func(t *testing.T) {
		files := base()
		files[globalOverlay+".agentpack/overlay.json"] = `{"overlay_kind":"patch"}`
		files[globalOverlay+".agentpack/patches/AGENTS.md.patch"] = strings.Replace(patchOfBase, "-# Base", "-# Other", 1)
		details := newWorld(t, files).Fails("plan", ``, "E_OVERLAY_PATCH_APPLY_FAILED")
		if actions, _ := details["next_actions"].([]any); len(actions) != 3 || details["reason_code"] != "overlay_patch_apply_failed" {
			t.Error(details)
		}
	})
	t.Run("patches and files in one overlay", func(t *testing.T) {
		files := base()
		files[globalOverlay+".agentpack/overlay.json"] = `{"overlay_kind":"patch"}`
		files[globalOverlay+".agentpack/patches/AGENTS.md.patch"] = patchOfBase
		files[globalOverlay+"AGENTS.md"] = "file"
		details := newWorld(t, files).Fails("plan", ``, "E_CONFIG_INVALID")
		if details["override_files"] == nil || details["patch_files"] == nil {
			t.Error(details)
		}
	})
	t.Run("a kind that is not JSON", func(t *testing.T) {
		files := base()
		files[globalOverlay+".agentpack/overlay.json"] = "{oops"
		newWorld(t, files).Fails("plan", ``, "E_CONFIG_INVALID")
	})
	t.Run("the module has changed since the overlay was made", func(t *testing.T) {
		files := base()
		files[globalOverlay+"AGENTS.md"] = "file"
		files[globalOverlay+".agentpack/baseline.json"] = `{"version":2,"created_at":"2026-01-01T00:00:00Z","upstream_sha256":"00","file_manifest":[{"path":"AGENTS.md","sha256":"00","bytes":1}]}`
		got := newWorld(t, files).OK("plan", ``, nil)
		warned(t, got, "global")
		warned(t, got, "instructions:base")
	})
	t.Run("the name of a machine is normalized", func(t *testing.T) {
		files := base()
		files[overlays+"machines/my-macbook-local/instructions_base--d39861fff1/AGENTS.md"] = "mine"
		w := newWorld(t, files)
		w.Deploy(`{"machine":"My MacBook.local"}`)
		if got := w.Read(instructionsOut); got != "mine" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("one project by two URLs", func(t *testing.T) {
		files := base()
		files["home/.agentpack/repo/projects/ae2752b5775071e2/overlays/instructions_base--d39861fff1/AGENTS.md"] = "project"
		w := newWorld(t, files)
		w.Top = w.Project
		for origin, want := range map[string]string{
			"https://github.com/example/example.git": "project", "git@github.com:Example/Example.git": "project", "": "# Base instructions\n",
		} {
			w.Origin = origin
			w.Deploy(``)
			if got := w.Read(instructionsOut); got != want {
				t.Errorf("%s: got %q", origin, got)
			}
		}
	})
}

// warned fails the test unless one of the warnings contains text.
func warned(t *testing.T, got answer, text string) {
	t.Helper()
	if !strings.Contains(strings.Join(got.Warnings, "\n"), text) {
		t.Errorf("no warning holds %q: %q", text, got.Warnings)
	}
}

func TestUnknownMachineIsWarnedAboutIfMachinesHaveOverlays(t *testing.T) {
	const warning = "the machine is unknown"
	w := newWorld(t, base())
	t.Setenv("AGENTPACK_MACHINE_ID", "")
	unwarned := func(arguments string) {
		t.Helper()
		for _, got := range w.OK("plan", arguments, nil).Warnings {
			if strings.Contains(got, warning) {
				t.Errorf("plan %s: %s", arguments, got)
			}
		}
	}
	unwarned(``)
	w.Write("home/.agentpack/repo/overlays/machines/laptop/instructions_base--d39861fff1/AGENTS.md", "laptop\n")
	for _, tool := range []string{"plan", "deploy", "status"} {
		warned(t, w.OK(tool, ``, nil), warning)
	}
	unwarned(`{"machine":"laptop"}`)
	t.Setenv("HOSTNAME", "Desk")
	unwarned(``)
}
