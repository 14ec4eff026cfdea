package tools_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// repository holds what the handlers of git operations on the config repo return, and the commits that they receive.
type repository struct {
	dirty   []abi.GitPathStatus
	refuse  *abi.HostError
	commits []abi.GitNewCommit
}

func (w *world) repository(r *repository) {
	w.Write("home/.agentpack/repo/.git/HEAD", "ref: refs/heads/main\n")
	w.Host.Handle(abi.OpGitStatus, func(json.RawMessage) (any, error) { return abi.GitStatus{Found: true, Paths: r.dirty}, nil })
	w.Host.Handle(abi.OpGitCommitBranch, func(raw json.RawMessage) (any, error) {
		if r.refuse != nil {
			return nil, r.refuse
		}
		var commit abi.GitNewCommit
		err := json.Unmarshal(raw, &commit)
		r.commits = append(r.commits, commit)
		return abi.GitCommitted{Commit: "ab"}, err
	})
}

type proposalData struct {
	Created   bool
	Reason    string
	Branch    string
	Scope     string
	Files     []string
	Committed bool
	Skipped   []struct {
		Reason      string
		ModuleIDs   []string `json:"module_ids"`
		NextActions []string `json:"next_actions"`
	}
	Candidates []struct {
		ModuleID string `json:"module_id"`
		Target   string
	}
	Summary struct {
		Skipped int `json:"drifted_skipped"`
	}
}

func TestEvolvePropose(t *testing.T) {
	const overlay = "overlays/prompt_hello--"
	edited := func(t *testing.T) (*world, *repository) {
		w, r := newWorld(t, base()), &repository{}
		w.repository(r)
		w.Deploy(``)
		w.Write(promptOut, "edited")
		return w, r
	}
	t.Run("an edit becomes a branch", func(t *testing.T) {
		w, r := edited(t)
		before := w.Files()
		var got proposalData
		answer := w.OK("evolve_propose", `{"yes":true,"branch":"evolve/propose-test"}`, &got)
		if answer.Command != "evolve.propose" || answer.CommandID != "evolve propose" || !got.Created || !got.Committed || got.Branch != "evolve/propose-test" ||
			got.Scope != "global" || len(got.Files) != 1 || !strings.HasPrefix(got.Files[0], overlay) {
			t.Errorf("got %+v", got)
		}
		want := []abi.GitNewCommit{{
			Repo: w.Repo, Branch: "evolve/propose-test", Message: "chore(evolve): propose overlay updates",
			Changes: []abi.GitChange{{Path: got.Files[0], Content: []byte("edited")}},
		}}
		if diff := cmp.Diff(want, r.commits); diff != "" {
			t.Error(diff)
		}
		w.Unchanged(before)
	})
	t.Run("one section of an aggregated file", func(t *testing.T) {
		w := newWorld(t, map[string]string{
			repoFile:                            config("codex: {mode: files, scope: user}\nvscode: {mode: files, scope: project}", "instructions:a", "instructions:b"),
			modules("instructions/a/AGENTS.md"): "a\n", modules("instructions/b/AGENTS.md"): "b\n",
		})
		w.Deploy(``)
		for _, path := range []string{instructionsOut, "project/.github/copilot-instructions.md"} {
			w.Write(path, strings.Replace(w.Read(path), "\nb\n", "\nedited\n", 1))
		}
		var got proposalData
		w.OK("evolve_propose", `{"dry_run":true}`, &got)
		if len(got.Candidates) != 1 || got.Candidates[0].ModuleID != "instructions:b" || len(got.Skipped) > 0 {
			t.Errorf("got %+v", got)
		}
		// Without section markers, the edit cannot be attributed to a module.
		w.Write(instructionsOut, "no markers")
		w.Remove("project/.github/copilot-instructions.md")
		got = proposalData{}
		w.OK("evolve_propose", `{"yes":true}`, &got)
		if got.Created || got.Reason != "no_proposeable_drift" || got.Summary.Skipped != 2 || len(got.Skipped) != 2 {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("a symbolic link to another file of the user is not proposed", func(t *testing.T) {
		w := newWorld(t, map[string]string{
			repoFile: config("codex: {mode: files, scope: project}", "instructions:a"), modules("instructions/a/AGENTS.md"): "a\n", "home/.codex/auth.json": "secret",
		})
		if err := os.Symlink("../home/.codex/auth.json", w.path("project/AGENTS.md")); err != nil {
			t.Fatal(err)
		}
		var got proposalData
		warned(t, w.OK("evolve_propose", `{"dry_run":true}`, &got), "is not inside")
		if len(got.Candidates) > 0 || got.Reason != "no_drift" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("no drift", func(t *testing.T) {
		w := newWorld(t, base())
		w.Deploy(``)
		var got proposalData
		if w.OK("evolve_propose", `{"yes":true}`, &got); got.Reason != "no_drift" || got.Created {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("preconditions", func(t *testing.T) {
		w, r := edited(t)
		if details := w.Fails("evolve_propose", `{}`, "E_CONFIRM_REQUIRED"); details["command"] != "evolve propose" {
			t.Error(details)
		}
		r.dirty = []abi.GitPathStatus{{Path: "new", Staged: "?", Unstaged: "?"}}
		w.Fails("evolve_propose", `{"yes":true}`, "E_GIT_WORKTREE_DIRTY")
		w.Remove("home/.agentpack/repo/.git")
		w.Fails("evolve_propose", `{"yes":true}`, "E_GIT_REPO_REQUIRED")
		// If .git in the config repo is not a repository, the tool must not use the enclosing repository instead.
		r.dirty, w.Top = nil, w.Home
		w.Write("home/.agentpack/repo/.git/x", "")
		if hint := w.Fails("evolve_propose", `{"yes":true}`, "E_GIT_REPO_REQUIRED")["hint"]; !strings.Contains(fmt.Sprint(hint), "git = [{ repo = ") {
			t.Errorf("the hint does not name the grant: %v", hint)
		}
		if len(r.commits) > 0 {
			t.Errorf("committed %+v", r.commits)
		}
	})
	t.Run("no commit identity", func(t *testing.T) {
		w, r := edited(t)
		r.refuse = &abi.HostError{Code: abi.HostFailed, Reason: abi.ReasonNoIdentity, Message: "git: set user.name"}
		var got proposalData
		warned(t, w.OK("evolve_propose", `{"yes":true}`, &got), "user.name")
		if got.Created || got.Committed || got.Branch == "" {
			t.Errorf("got %+v", got)
		}
		r.refuse = &abi.HostError{Code: abi.HostFailed, Message: "git: other failure"}
		w.Fails("evolve_propose", `{"yes":true}`, "E_UNEXPECTED")
		r.refuse = &abi.HostError{Code: abi.HostDenied, Message: "not granted"}
		if got := w.Call("evolve_propose", `{"yes":true}`); got.OK || !strings.Contains(got.Errors[0].Message, `access = "rw"`) {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("the scope, and the branch's name", func(t *testing.T) {
		w, _ := edited(t)
		for scope, dir := range map[string]string{"machine": "overlays/machines/test-machine/", "project": "projects/"} {
			var got proposalData
			w.OK("evolve_propose", fmt.Sprintf(`{"yes":true,"scope":%q,"module_id":"prompt:hello"}`, scope), &got)
			if !strings.HasPrefix(got.Files[0], dir) || !strings.HasPrefix(got.Branch, "evolve/propose-"+scope+"-prompt_hello-") {
				t.Errorf("got %+v", got)
			}
		}
		w.Fails("evolve_propose", `{"yes":true,"scope":"user"}`, "E_UNEXPECTED")
	})
	t.Run("a skill's file", func(t *testing.T) {
		w := newWorld(t, map[string]string{repoFile: config("codex: {mode: files, scope: user}", "skill:s"), modules("skill/s/SKILL.md"): skillText, modules("skill/s/a/b.md"): "b"})
		r := &repository{}
		w.repository(r)
		w.Deploy(``)
		w.Write("home/.codex/skills/s/a/b.md", "edited")
		w.OK("evolve_propose", `{"yes":true}`, nil)
		if len(r.commits) != 1 || !strings.HasSuffix(r.commits[0].Changes[0].Path, "/a/b.md") || strings.Contains(r.commits[0].Changes[0].Path, "/s/") {
			t.Errorf("got %+v", r.commits)
		}
	})
}

func TestEvolveRestore(t *testing.T) {
	type data struct {
		Restored []struct{ Path string }
		Summary  struct{ Missing, Restored int }
		Reason   string
	}
	t.Run("a missing file", func(t *testing.T) {
		w := newWorld(t, base())
		w.Deploy(``)
		w.Remove(promptOut)
		w.Write(instructionsOut, "edited")
		before := w.Files()
		if details := w.Fails("evolve_restore", `{}`, "E_CONFIRM_REQUIRED"); details["command"] != "evolve restore" {
			t.Error(details)
		}
		var dry, done, none data
		w.OK("evolve_restore", `{"dry_run":true}`, &dry)
		if len(dry.Restored) != 1 || dry.Reason != "dry_run" || dry.Summary.Restored != 0 {
			t.Errorf("got %+v", dry)
		}
		w.Unchanged(before)
		w.OK("evolve_restore", `{"yes":true}`, &done)
		if done.Reason != "restored" || done.Summary.Restored != 1 || w.Read(promptOut) != "Hello v1\n" || w.Read(instructionsOut) != "edited" {
			t.Errorf("got %+v", done)
		}
		if w.OK("evolve_restore", `{"yes":true}`, &none); none.Reason != "no_missing" || none.Restored == nil {
			t.Errorf("got %+v", none)
		}
	})
}
