package evolve_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/env"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/evolve"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/module"
)

// propose calls Propose with the default values of the tool's arguments.
func (w *world) propose(git evolve.Git, request evolve.Request) (any, []string, error) {
	if request.Scope == "" {
		request.Scope = module.LayerGlobal
	}
	request.Prefix = "agentpack"
	return evolve.Propose(w.run(), git, request)
}

// nothing calls Propose and fails the test unless the payload is a NoProposal.
func (w *world) nothing(request evolve.Request) (evolve.NoProposal, []string) {
	w.t.Helper()
	payload, warnings, err := w.propose(&repository{}, request)
	nothing, ok := payload.(evolve.NoProposal)
	if err != nil || !ok {
		w.t.Fatalf("got %+v, %v", payload, err)
	}
	return nothing, warnings
}

func overlayFile(id, file string) string { return "overlays/" + env.ModuleKey(id) + "/" + file }

func TestProposeTurnsEditsIntoOverlays(t *testing.T) {
	cases := []struct {
		name    string
		edit    func(w *world)
		request evolve.Request
		want    map[string]string // the expected files of the commit
		warns   string
	}{
		{"a prompt", func(w *world) { w.write(".codex/prompts/hello.md", "Edited.\n") }, evolve.Request{},
			map[string]string{overlayFile("prompt:hello", "hello.md"): "Edited.\n"}, ""},
		{"a prompt of vscode keeps the file name of the module", func(w *world) { w.write("project/.github/prompts/hello.prompt.md", "Edited.\n") }, evolve.Request{},
			map[string]string{overlayFile("prompt:hello", "hello.md"): "Edited.\n"}, ""},
		{"a section of an aggregated file", func(w *world) { w.edit(".codex/AGENTS.md", "Two.", "Edited.") }, evolve.Request{},
			map[string]string{overlayFile("instructions:two", "AGENTS.md"): "Edited.\n"}, ""},
		{"a section of vscode's", func(w *world) { w.edit("project/.github/copilot-instructions.md", "One.", "Edited.") }, evolve.Request{},
			map[string]string{overlayFile("instructions:one", "AGENTS.md"): "Edited.\n"}, ""},
		{"a rule of cursor's, without its header", func(w *world) {
			w.edit("project/.cursor/rules/"+env.ModuleKey("instructions:one")+".mdc", "One.", "Edited.")
		}, evolve.Request{},
			map[string]string{overlayFile("instructions:one", "AGENTS.md"): "Edited.\n"}, ""},
		{"a skill's file, without the skill's name", func(w *world) { w.write(".codex/skills/lint/ref/a.txt", "b\n") }, evolve.Request{},
			map[string]string{overlayFile("skill:lint", "ref/a.txt"): "b\n"}, ""},
		{"for a machine", func(w *world) { w.write(".codex/prompts/hello.md", "Edited.\n") }, evolve.Request{Scope: module.LayerMachine},
			map[string]string{"overlays/machines/laptop/" + env.ModuleKey("prompt:hello") + "/hello.md": "Edited.\n"}, ""},
		{"an overlay with a directory name of older versions is reused", func(w *world) {
			w.write("repo/overlays/prompt:hello/hello.md", "Hello.\n")
			w.write(".codex/prompts/hello.md", "Edited.\n")
		}, evolve.Request{}, map[string]string{"overlays/prompt:hello/hello.md": "Edited.\n"}, ""},
		{"the same edit of a section twice", func(w *world) {
			w.edit(".codex/AGENTS.md", "Two.", "Edited.")
			w.edit("project/.github/copilot-instructions.md", "Two.", "Edited.")
		}, evolve.Request{}, map[string]string{overlayFile("instructions:two", "AGENTS.md"): "Edited.\n"}, ""},
		{"a different edit of the same section", func(w *world) {
			w.edit(".codex/AGENTS.md", "Two.", "First.")
			w.edit("project/.github/copilot-instructions.md", "Two.", "Second.")
		}, evolve.Request{}, map[string]string{overlayFile("instructions:two", "AGENTS.md"): "First.\n"}, "differs from the edit in an earlier file"},
		{"a different edit of the same file", func(w *world) {
			w.write(".codex/prompts/hello.md", "First.\n")
			w.write("project/.github/prompts/hello.prompt.md", "Second.\n")
		}, evolve.Request{}, map[string]string{overlayFile("prompt:hello", "hello.md"): "First.\n"}, "differs from the edit in an earlier file"},
		{"of one module, with other sections in the same file", func(w *world) {
			w.edit(".codex/AGENTS.md", "One.", "1.")
			w.edit(".codex/AGENTS.md", "Two.", "2.")
			w.write(".codex/prompts/hello.md", "Edited.\n")
		}, evolve.Request{ModuleID: "instructions:one"}, map[string]string{
			overlayFile("instructions:one", "AGENTS.md"): "1.\n", overlayFile("instructions:two", "AGENTS.md"): "2.\n"}, ""},
		{"an overlay of patches is not changed", func(w *world) {
			w.write("repo/"+overlayFile("prompt:hello", ".agentpack/overlay.json"), `{"overlay_kind":"patch"}`)
			w.write(".codex/prompts/hello.md", "Edited.\n")
			w.write(".codex/skills/lint/ref/a.txt", "b\n")
		}, evolve.Request{}, map[string]string{overlayFile("skill:lint", "ref/a.txt"): "b\n"}, "consists of patches"},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			test.edit(w)
			before := w.files("repo")
			git := &repository{}
			payload, warnings, err := w.propose(git, test.request)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, git.files); diff != "" {
				t.Errorf("the commit: %s", diff)
			}
			proposal := payload.(evolve.Proposal)
			if !proposal.Created || !proposal.Committed || proposal.Branch != git.branch || len(proposal.FilesPosix) != len(test.want) || git.message != "chore(evolve): propose overlay updates" {
				t.Errorf("got %+v, with the message %q", proposal, git.message)
			}
			if said := strings.Join(warnings, "\n"); !strings.Contains(said, test.warns) || (said == "") != (test.warns == "") {
				t.Errorf("the warnings: %q", warnings)
			}
			if diff := cmp.Diff(before, w.files("repo")); diff != "" {
				t.Errorf("the working tree: %s", diff)
			}
		})
	}
}

func TestProposeGeneratesBranchName(t *testing.T) {
	prompt := func(w *world) { w.write(".codex/prompts/hello.md", "Edited.\n") }
	skill := func(w *world) { w.write(".codex/skills/lint/ref/a.txt", "b\n") }
	const at = "-20260201T090000Z-000000120"
	cases := []struct {
		name    string
		edits   []func(w *world)
		request evolve.Request
		want    string
	}{
		{"as asked for", []func(*world){prompt}, evolve.Request{Branch: "evolve/propose-test"}, "evolve/propose-test"},
		{"of one module", []func(*world){prompt}, evolve.Request{}, "evolve/propose-global-prompt_hello" + at},
		{"of several", []func(*world){prompt, skill}, evolve.Request{}, "evolve/propose-global-multi" + at},
		{"of a module that was asked for", []func(*world){prompt, skill}, evolve.Request{ModuleID: "skill:lint", Scope: module.LayerProject}, "evolve/propose-project-skill_lint" + at},
	}
	for _, test := range cases {
		w := newWorld(t)
		for _, edit := range test.edits {
			edit(w)
		}
		git := &repository{}
		if _, _, err := w.propose(git, test.request); err != nil || git.branch != test.want {
			t.Errorf("%s: the branch is %s, the error %v", test.name, git.branch, err)
		}
	}
}

func TestProposeDryRun(t *testing.T) {
	w := newWorld(t)
	w.write(".codex/prompts/hello.md", "Edited.\n")
	w.remove("project/.github/prompts/hello.prompt.md")
	got, _ := w.nothing(evolve.Request{DryRun: true})
	raw, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	codex, vscode := w.path(".codex/prompts/hello.md"), w.path("project/.github/prompts/hello.prompt.md")
	want := `{"created":false,"reason":"dry_run",` +
		`"candidates":[{"module_id":"prompt:hello","target":"codex","path":"` + codex + `","path_posix":"` + codex + `"}],` +
		`"skipped":[{"target":"vscode","path":"` + vscode + `","path_posix":"` + vscode + `","reason":"missing","reason_code":"missing",` +
		`"reason_message":"the file is missing, so there is no edit to propose","module_id":"prompt:hello",` +
		`"next_actions":["agentpack evolve restore --module-id prompt:hello --yes --json","agentpack deploy --apply --yes --json"],` +
		`"suggestions":[{"action":"agentpack evolve restore","reason":"writes only missing files"},{"action":"agentpack deploy --apply","reason":"updates all files from the config repo"}]}],` +
		`"summary":{"drifted_proposeable":1,"drifted_skipped":1,"skipped_missing":1,"skipped_multi_module":0,"skipped_read_error":0}}`
	if diff := cmp.Diff(want, string(raw)); diff != "" {
		t.Error(diff)
	}
}

func TestProposeWithoutDrift(t *testing.T) {
	w := newWorld(t)
	if got, _ := w.nothing(evolve.Request{}); got.Reason != "no_drift" || len(got.Skipped) > 0 || got.Candidates != nil {
		t.Errorf("Propose without drift returned %+v", got)
	}
	w.write(".codex/AGENTS.md", "All markers are gone.\n")
	w.remove(".codex/prompts/hello.md")
	w.edit("project/.github/copilot-instructions.md", "---", "between the sections")
	w.remove("project/.cursor/rules/" + env.ModuleKey("instructions:one") + ".mdc")
	got, _ := w.nothing(evolve.Request{})
	var reasons []string
	for _, item := range got.Skipped {
		reasons = append(reasons, item.Target+" "+item.Reason+" "+item.ModuleID+strings.Join(item.ModuleIDs, "+"))
	}
	want := []string{
		"codex missing prompt:hello", "cursor missing instructions:one",
		"codex multi_module_output instructions:one+instructions:two", "vscode multi_module_output instructions:one+instructions:two",
	}
	if diff := cmp.Diff(want, reasons); diff != "" || got.Reason != "no_proposeable_drift" {
		t.Errorf("%s %s", got.Reason, diff)
	}
	if (got.Summary != evolve.Summary{Skipped: 4, SkippedGone: 2, SkippedShared: 2}) {
		t.Errorf("the summary %+v", got.Summary)
	}
	for _, item := range got.Skipped[2:] {
		if item.NextActions == nil || len(item.NextActions) > 0 || len(item.Suggestions) != 2 {
			t.Errorf("got %+v", item)
		}
	}
}

// TestRecommendedCommandsQuoteModuleIDs checks that recommended commands quote module ids. Users copy the commands into
// a shell, and the ids are untrusted.
func TestRecommendedCommandsQuoteModuleIDs(t *testing.T) {
	w := newWorld(t)
	w.edit("repo/agentpack.yaml", "prompt:hello", "prompt:hello; touch x")
	w.remove(".codex/prompts/hello.md")
	got, _ := w.nothing(evolve.Request{})
	if command := got.Skipped[0].NextActions[0]; command != "agentpack evolve restore --module-id 'prompt:hello; touch x' --yes --json" {
		t.Errorf("got %s", command)
	}
}

func TestProposeSkipsMissingFileOfSeveralModules(t *testing.T) {
	w := newWorld(t)
	w.remove(".codex/AGENTS.md")
	got, _ := w.nothing(evolve.Request{ModuleID: "instructions:one"})
	if item := got.Skipped[0]; item.ModuleID != "" || len(item.ModuleIDs) != 2 || item.NextActions[0] != "agentpack evolve restore --yes --json" {
		t.Errorf("got %+v", item)
	}
}

func TestProposeWarnsAboutUnreadableFile(t *testing.T) {
	cases := map[string]func(w *world){
		"a directory in place of a file": func(w *world) { w.remove(".codex/prompts/hello.md"); w.write(".codex/prompts/hello.md/x", "") },
		"a rule whose header was edited": func(w *world) {
			w.edit("project/.cursor/rules/"+env.ModuleKey("instructions:one")+".mdc", "alwaysApply: true", "alwaysApply: false")
		},
	}
	for name, spoil := range cases {
		w := newWorld(t)
		spoil(w)
		got, warnings := w.nothing(evolve.Request{})
		if got.Summary.SkippedUnread != 1 || got.Reason != "no_drift" || len(warnings) != 1 {
			t.Errorf("%s: %+v, %q", name, got, warnings)
		}
	}
}

func TestProposeRequiresCleanRepository(t *testing.T) {
	cases := []struct {
		name string
		git  *repository
		make func(w *world)
		want fault.Code
	}{
		{"only an ancestor has a .git", &repository{}, func(w *world) { _ = os.RemoveAll(w.path("repo/.git")) }, fault.GitRepoRequired},
		{"a .git that is not a repository", &repository{none: true}, func(*world) {}, fault.GitRepoRequired},
		{"an untracked file", &repository{dirty: []string{"notes.txt"}}, func(*world) {}, fault.GitWorktreeDirty},
	}
	for _, test := range cases {
		w := newWorld(t)
		w.write(".codex/prompts/hello.md", "Edited.\n")
		test.make(w)
		_, _, err := w.propose(test.git, evolve.Request{})
		refusal := fault.Of(err)
		if err == nil || refusal.Code != test.want || refusal.Details["command"] != "evolve propose" || refusal.Details["repo"] != w.path("repo") || refusal.Details["hint"] == nil {
			t.Errorf("%s: %v, %+v", test.name, err, refusal)
		}
		if test.git.branch != "" {
			t.Errorf("%s: the branch %s was created", test.name, test.git.branch)
		}
	}
}

func TestProposeWithoutIdentityCommitsNothing(t *testing.T) {
	w := newWorld(t)
	w.write(".codex/prompts/hello.md", "Edited.\n")
	payload, warnings, err := w.propose(&repository{fails: evolve.ErrNoIdentity}, evolve.Request{})
	proposal, ok := payload.(evolve.Proposal)
	if err != nil || !ok || proposal.Created || proposal.Committed || len(warnings) != 1 || !strings.Contains(warnings[0], "user.name") {
		t.Errorf("got %+v, %q, %v", payload, warnings, err)
	}
}

func TestProposeReturnsOtherGitErrors(t *testing.T) {
	w := newWorld(t)
	w.write(".codex/prompts/hello.md", "Edited.\n")
	exists := errors.New("the branch exists")
	if _, _, err := w.propose(&repository{fails: exists}, evolve.Request{Branch: "main"}); !errors.Is(err, exists) || !strings.Contains(err.Error(), "main") {
		t.Errorf("got %v", err)
	}
}

func TestProposeFailsIfNoEditCanBeWritten(t *testing.T) {
	w := newWorld(t)
	w.write("repo/"+overlayFile("prompt:hello", ".agentpack/overlay.json"), `{"overlay_kind":"patch"}`)
	w.write(".codex/prompts/hello.md", "Edited.\n")
	if _, warnings, err := w.propose(&repository{}, evolve.Request{}); err == nil || len(warnings) != 1 {
		t.Errorf("got %v, %q", err, warnings)
	}
}
