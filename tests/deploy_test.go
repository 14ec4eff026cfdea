//go:build unix

package tests

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

// envelope is the part of agentpack's answers that the tests read.
type envelope struct {
	OK       bool     `json:"ok"`
	Warnings []string `json:"warnings"`
	Errors   []struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"errors"`
	deployed
}

// code returns the error code of the answer; "" on success.
func (e envelope) code() string {
	if len(e.Errors) == 0 {
		return ""
	}
	return e.Errors[0].Code
}

func readEnvelope(t testing.TB, r result) envelope {
	t.Helper()
	var e envelope
	if err := json.Unmarshal([]byte(r.Text), &e); err != nil || e.OK == r.IsError {
		t.Fatalf("no envelope (%v): %+v", err, r)
	}
	return e
}

// agentpack calls one of agentpack's tools.
func (s *server) agentpack(tool, arguments string) envelope {
	s.t.Helper()
	return readEnvelope(s.t, s.call(tool, arguments))
}

// planDeploy plans a deploy, checks its number of changes, and returns the confirm token.
func (s *server) planDeploy(changes int) string {
	s.t.Helper()
	e := s.agentpack("deploy", `{}`)
	if !e.OK || e.Data.Token == "" || len(e.Data.Changes) != changes {
		s.t.Fatalf("got %d changes, want %d: %+v", len(e.Data.Changes), changes, e)
	}
	return e.Data.Token
}

func confirmArguments(token string) string {
	return fmt.Sprintf(`{"yes":true,"confirm_token":%q}`, token)
}

// deployedFiles returns a snapshot of ~/.codex.
func (p *testUser) deployedFiles() map[string]string {
	p.t.Helper()
	return snapshot(p.t, p.path("home/.codex"))
}

// TestConfirmTokenWorksOnceInAnyServer checks that a token outlives the server that issued it, and can be used only once.
func TestConfirmTokenWorksOnceInAnyServer(t *testing.T) {
	t.Parallel()
	p := newTestUser(t, agentpackRepo(2, "v1\n"))
	before := p.deployedFiles()
	giver := p.serve()
	token := giver.planDeploy(2)
	giver.end()
	if diff := cmp.Diff(before, p.deployedFiles()); diff != "" {
		t.Errorf("planning wrote files (-before +after)\n%s", diff)
	}
	taker := p.serve()
	if e := taker.agentpack("deploy_apply", confirmArguments(token)); !e.OK || !e.Data.Applied {
		t.Fatalf("%+v", e)
	}
	if got := p.deployedFiles(); got["prompts/prompt-000.md"] != "v1\n" || got["prompts/prompt-001.md"] != "v1\n" {
		t.Errorf("deployed: %q", got)
	}
	after := p.deployedFiles()
	for _, s := range []*server{taker, p.serve()} {
		if e := s.agentpack("deploy_apply", confirmArguments(token)); e.code() != "E_CONFIRM_TOKEN_MISMATCH" || !strings.Contains(e.Errors[0].Message, "already used") {
			t.Errorf("second use: %+v", e)
		}
		s.end()
	}
	if diff := cmp.Diff(after, p.deployedFiles()); diff != "" {
		t.Errorf("the second use wrote files (-before +after)\n%s", diff)
	}
}

// TestConcurrentUsesOfOneTokenApplyOnce uses a token in two servers at the same time; one of them must be refused.
func TestConcurrentUsesOfOneTokenApplyOnce(t *testing.T) {
	t.Parallel()
	p := newTestUser(t, agentpackRepo(30, "v1\n"))
	both := []*server{p.serve(), p.serve()}
	token := both[0].planDeploy(30)
	both[1].planDeploy(30) // so that both have loaded the module
	for _, s := range both {
		s.sendCall("deploy_apply", confirmArguments(token))
	}
	applied, refused := 0, 0
	for _, s := range both {
		_, r := s.nextAnswer()
		switch e := readEnvelope(t, r); {
		case e.OK && e.Data.Applied:
			applied++
		case e.code() == "E_CONFIRM_TOKEN_MISMATCH":
			refused++
		default:
			t.Errorf("%+v", e)
		}
		s.end()
	}
	if applied != 1 || refused != 1 {
		t.Errorf("%d servers applied the token and %d were refused, want 1 and 1", applied, refused)
	}
	records, err := filepath.Glob(p.path("home/.agentpack/state/snapshots/*.json"))
	if err != nil || len(records) != 1 {
		t.Errorf("recorded deploys: %q, %v", records, err)
	}
}

// manyPrompts is the number of files in the deploy that is killed.
const manyPrompts = 200

// TestKilledDeployIsAtomic kills the process at various times. The next call must complete or roll back the deploy.
func TestKilledDeployIsAtomic(t *testing.T) {
	testenv.All(t, "kills many servers")
	t.Parallel()
	p := newTestUser(t, agentpackRepo(manyPrompts, "a\n"))
	s := p.serve("--plugin", "agentpack")
	if e := s.agentpack("deploy_apply", confirmArguments(s.planDeploy(manyPrompts))); !e.OK {
		t.Fatalf("%+v", e)
	}
	s.end()
	journal := func(name string) bool { return exists(p.path("home/.agentpack/state/journal/" + name)) }
	changed := func(number int, old string) bool {
		text, err := os.ReadFile(p.path(fmt.Sprintf("home/.codex/prompts/prompt-%03d.md", number)))
		return err == nil && string(text) != old
	}
	moments := []struct {
		name    string
		reached func(old string) bool
	}{
		{"at its start", func(string) bool { return true }},
		{"while staging", func(old string) bool { return journal("staging.json") || changed(0, old) }},
		{"after the first file was replaced", func(old string) bool { return changed(0, old) }},
		{"after half of the files were replaced", func(old string) bool { return changed(manyPrompts/2, old) }},
		{"after all files were replaced", func(old string) bool { return changed(manyPrompts-1, old) && !journal("switching.json") }},
	}
	interrupted, text := 0, "a\n"
	for _, moment := range moments {
		next := p.deployAndKill(t, moment.name, text, moment.reached)
		if next.warned {
			interrupted++
		}
		text = next.text
	}
	if interrupted == 0 {
		t.Error("no kill interrupted a deploy")
	}
}

// deployOutcome is the state after a killed deploy and the next call.
type deployOutcome struct {
	text   string // content of all prompts
	warned bool   // the next call reported a recovery
}

// deployAndKill deploys a text that differs from old, and kills the server once the function reached returns true.
func (p *testUser) deployAndKill(t *testing.T, name, old string, reached func(old string) bool) deployOutcome {
	t.Helper()
	before, other := p.deployedFiles(), map[string]string{"a\n": "b\n", "b\n": "a\n"}[old]
	for file, content := range agentpackRepo(manyPrompts, other) {
		putFile(t, p.path(file), content)
	}
	s := p.serve("--plugin", "agentpack")
	s.sendCall("deploy_apply", confirmArguments(s.planDeploy(manyPrompts)))
	for end := time.Now().Add(patience); !reached(old); time.Sleep(200 * time.Microsecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not reached", name)
		}
	}
	s.kill()

	s = p.serve("--plugin", "agentpack")
	e := s.agentpack("doctor", `{}`)
	now := p.deployedFiles()
	left := deployOutcome{now["prompts/prompt-000.md"], strings.Contains(strings.Join(e.Warnings, " "), "was interrupted while it wrote")}
	t.Logf("killed %s: the prompts hold %q, recovery reported: %t", name, left.text, left.warned)
	if left.text == old {
		if diff := cmp.Diff(before, now); diff != "" {
			t.Errorf("%s: differs from the old state (-old +now)\n%s", name, diff)
		}
	} else if e := s.agentpack("plan", `{}`); !e.OK || len(e.Data.Changes) > 0 || len(now) != len(before) {
		t.Errorf("%s: differs from the new state: %+v", name, e)
	}
	s.end()
	for file := range snapshot(t, p.home) {
		if strings.Contains(file, ".agentpack-tmp-") || strings.HasPrefix(file, ".agentpack/state/journal/") {
			t.Errorf("%s: %s is left", name, file)
		}
	}
	return left
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// TestRollbackFromAnotherProjectWarns checks that a rollback keeps and names files that were deployed into another project,
// since it has no access to them.
func TestRollbackFromAnotherProjectWarns(t *testing.T) {
	t.Parallel()
	const rule, prompt = "project/.cursor/rules/instructions_house--f61413033d.mdc", "home/.codex/prompts/prompt-000.md"
	for from, removed := range map[string]bool{"project": true, "elsewhere": false} {
		t.Run("from "+from, func(t *testing.T) {
			t.Parallel()
			p := newTestUser(t, agentpackRepo(1, "v1\n"))
			s := p.serve("--plugin", "agentpack")
			first := s.agentpack("deploy_apply", confirmArguments(s.planDeploy(1)))
			const repo = "home/.agentpack/repo/"
			editFile(t, p.path(repo+"agentpack.yaml"), replaceOnce("modules:\n",
				"  cursor: {mode: files, scope: project}\nmodules:\n  - {id: 'instructions:house', type: instructions, tags: [base], source: {local_path: {path: modules/house}}}\n"))
			putFile(t, p.path(repo+"modules/house/AGENTS.md"), "Wipe your feet.\n")
			putFile(t, p.path(repo+"modules/prompt-000/prompt-000.md"), "v2\n")
			if e := s.agentpack("deploy_apply", confirmArguments(s.planDeploy(3))); !e.OK || !exists(p.path(rule)) {
				t.Fatalf("%+v", e)
			}
			s.end()
			deployed := readFile(t, p.path(rule))

			s = p.inProject(from).serve("--plugin", "agentpack")
			e := s.agentpack("rollback", fmt.Sprintf(`{"yes":true,"to":%q}`, first.Data.SnapshotID))
			s.end()
			warned := strings.Contains(strings.Join(e.Warnings, " "), p.path(rule))
			if !e.OK || warned == removed || exists(p.path(rule)) == removed {
				t.Errorf("warned: %t, the rule exists: %t: %+v", warned, exists(p.path(rule)), e)
			}
			if !removed && readFile(t, p.path(rule)) != deployed {
				t.Error("the rule changed")
			}
			if got := readFile(t, p.path(prompt)); got != "v1\n" || exists(p.path("home/.codex/AGENTS.md")) {
				t.Errorf("the reachable files were not rolled back: %q", got)
			}
		})
	}
}
