package tools_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRollback(t *testing.T) {
	to := func(id string) string { return `{"yes":true,"to":"` + id + `"}` }
	t.Run("without yes", func(t *testing.T) {
		w := newWorld(t, nil)
		for _, arguments := range []string{``, `{}`, `{"to":"x"}`, `{"to":"x","yes":false}`, `{"to":5,"yes":"true"}`} {
			if details := w.Fails("rollback", arguments, "E_CONFIRM_REQUIRED"); details["command"] != "rollback" {
				t.Error(details)
			}
		}
	})
	t.Run("back to the previous deploy", func(t *testing.T) {
		w := newWorld(t, base())
		w.Deploy(``)
		w.Write(modules("prompt/hello/hello.md"), "Hello v2\n")
		second := w.Deploy(``).SnapshotID
		w.Write(modules("prompt/hello/hello.md"), "Hello v3\n")
		w.Deploy(``)
		var got struct {
			To    string `json:"rolled_back_to"`
			Event string `json:"event_snapshot_id"`
		}
		w.OK("rollback", to(second), &got)
		if w.Read(promptOut) != "Hello v2\n" || got.To != second || got.Event == "" || got.Event == second {
			t.Errorf("got %+v, %q", got, w.Read(promptOut))
		}
		if record := w.Read("home/.agentpack/state/snapshots/" + got.Event + ".json"); !strings.Contains(record, `"rollback"`) {
			t.Errorf("got %s", record)
		}
		// The config repo still has the newer content, and the file is still managed, so the plan updates the file.
		w.Wants(``, "update "+promptOut+" managed_update")
		// A caller cannot roll back to the snapshot that a rollback recorded.
		w.Fails("rollback", to(got.Event), "E_UNEXPECTED")
	})
	t.Run("files of later deploys are removed", func(t *testing.T) {
		w := newWorld(t, base())
		first := w.Deploy(``).SnapshotID
		w.Write(repoFile, standard("instructions:base", "prompt:hello", "prompt:more"))
		w.Write(modules("prompt/more/more.md"), "more")
		w.Deploy(``)
		w.Write("home/.codex/prompts/mine.md", "mine")
		w.OK("rollback", to(first), nil)
		if w.Read("home/.codex/prompts/more.md") != "(none)" || w.Read("home/.codex/prompts/mine.md") != "mine" || w.Read(promptOut) != "Hello v1\n" {
			t.Errorf("got %v", w.Files())
		}
	})
	t.Run("both targets of a deploy", func(t *testing.T) {
		files := map[string]string{
			repoFile: config("codex: {mode: files, scope: user}\ncursor: {mode: files, scope: project}", "instructions:a"), modules("instructions/a/AGENTS.md"): "v1\n",
		}
		w := newWorld(t, files)
		first := w.Deploy(``).SnapshotID
		w.Write(modules("instructions/a/AGENTS.md"), "v2\n")
		w.Deploy(``)
		w.OK("rollback", to(first), nil)
		rules, err := filepath.Glob(w.path("project/.cursor/rules/*.mdc"))
		if err != nil || len(rules) != 1 {
			t.Fatal(rules, err)
		}
		rule, err := os.ReadFile(rules[0])
		if err != nil || !strings.HasSuffix(string(rule), "\nv1\n") || w.Read(instructionsOut) != "v1\n" {
			t.Errorf("got %q, %q, %v", rule, w.Read(instructionsOut), err)
		}
	})
	t.Run("missing snapshots", func(t *testing.T) {
		w := newWorld(t, base())
		w.Deploy(``)
		for _, id := range []string{"17", "../17", "a/b", "..", ""} {
			w.Fails("rollback", to(id), "E_UNEXPECTED")
		}
		w.Fails("rollback", `{"yes":true}`, "E_UNEXPECTED")
	})
	t.Run("a changed copy", func(t *testing.T) {
		w := newWorld(t, base())
		first := w.Deploy(``).SnapshotID
		copies, err := filepath.Glob(w.path("home/.agentpack/state/snapshots/" + first + "/state/codex/*"))
		if err != nil || len(copies) == 0 {
			t.Fatal(copies, err)
		}
		for _, path := range copies {
			if err := os.WriteFile(path, []byte("tampered"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		w.Write(promptOut, "mine")
		before := w.Files()
		w.Fails("rollback", to(first), "E_UNEXPECTED")
		w.Unchanged(before)
	})
}
