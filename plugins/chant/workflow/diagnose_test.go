package workflow_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/chant/workflow"
)

func TestDiagnose(t *testing.T) {
	const (
		noLog   = "!Log file: Does not exist (checked in main)"
		noLock  = "Lock file: Not present (checked in main)"
		valid   = "Spec file: Valid YAML"
		none    = "!Git commit: No matching commit found"
		found   = "Git commit: Found: 9f3c2ab"
		done    = "Acceptance criteria: All satisfied"
		unread  = "!Git commit: Cannot run git log: object not found"
		unsure  = "Status consistency: Not checked: git cannot be read"
		oneOpen = "!Acceptance criteria: 1 unchecked items remaining"
		status  = "Status consistency"
		runLog  = "Run `just chant log a` for details"
	)
	committed := history{"fix", "chant(a): do it"}
	tests := []struct {
		name    string
		file    string
		git     workflow.Git
		checks  []string // one string "name: details" for each check; an exclamation mark marks a failed check
		verdict string
		suggest string
	}{
		{
			"a new pending spec has issues",
			spec("pending", "# T"), history{},
			[]string{valid, noLog, noLock, none, done, status},
			"Spec has issues: Log file, Git commit", runLog,
		},
		{
			"ticked boxes pass the check",
			spec("completed", "# T\n\n## Acceptance Criteria\n- [x] a\n- [x] b"), committed,
			[]string{valid, noLog, noLock, found, done, status}, "Spec has issues: Log file", runLog,
		},
		{
			"an open box fails the check",
			spec("completed", openBox), committed,
			[]string{valid, noLog, noLock, found, oneOpen, "!" + status + ": Status is completed but acceptance criteria unchecked"},
			"Spec has issues: Log file, Acceptance criteria, Status consistency", runLog,
		},
		{
			"in progress with a commit",
			spec("in_progress", "# T"), committed,
			[]string{valid, noLog, noLock, found, done, "!" + status + ": Status is in_progress but commit exists (should be completed?)"},
			"Spec appears complete but wasn't finalized.", "Run `just chant work a --finalize` to fix.",
		},
		{
			"in progress with a commit and an open box",
			spec("in_progress", openBox), committed,
			[]string{valid, noLog, noLock, found, oneOpen, "!" + status + ": Status is in_progress but commit exists (should be completed?)"},
			"Spec has a commit but acceptance criteria not all satisfied.", "Complete the unchecked acceptance criteria and re-run the spec.",
		},
		{
			"in progress without a commit",
			spec("in_progress", "# T"), history{},
			[]string{valid, noLog, noLock, none, done, status},
			"Spec is in progress but has issues.", "Check the log: `just chant log a`",
		},
		{
			"completed without a commit",
			spec("completed", "# T"), history{"chant(a.1): a member's"},
			[]string{valid, noLog, noLock, none, done, "!" + status + ": Status is completed but no commit found"},
			"Spec has issues: Log file, Git commit, Status consistency", runLog,
		},
		{
			"blocked with a commit: the status is the file's, pending",
			spec("pending", "# T", "depends_on: nowhere"), committed,
			[]string{valid, noLog, noLock, found, done, "!" + status + ": Status is pending but commit exists"},
			"Spec has issues: Log file, Status consistency", runLog,
		},
		{
			"ready with a commit", spec("ready", "# T"), committed,
			[]string{valid, noLog, noLock, found, done, "!" + status + ": Status is ready but commit exists"},
			"Spec has issues: Log file, Status consistency", runLog,
		},
		{
			"git cannot be read: commits are not checked", spec("failed", "# T"), broken{},
			[]string{valid, noLog, noLock, unread, done, status + ": Marked as failed"},
			"Spec has issues: Log file", runLog,
		},
		{
			"completed, and git cannot be read", spec("completed", "# T"), broken{},
			[]string{valid, noLog, noLock, unread, done, unsure}, "Spec has issues: Log file", runLog,
		},
		{
			"completed with an open box, and git cannot be read", spec("completed", openBox), broken{},
			[]string{valid, noLog, noLock, unread, oneOpen, "!" + status + ": Status is completed but acceptance criteria unchecked"},
			"Spec has issues: Log file, Acceptance criteria, Status consistency", runLog,
		},
		{
			"in progress, and git cannot be read", spec("in_progress", "# T"), broken{},
			[]string{valid, noLog, noLock, unread, done, unsure}, "Spec is in progress but has issues.", "Check the log: `just chant log a`",
		},
		{
			"no repository", spec("cancelled", "# T"), nil,
			[]string{valid, noLog, noLock, none, done, status + ": Marked as cancelled (preserved but excluded from list and work)"},
			"Spec has issues: Log file, Git commit", runLog,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := newProject(t, files{"specs/a.md": test.file})
			p.Git = test.git
			got, err := p.Diagnose("a")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.checks, lines(got.Checks)); diff != "" {
				t.Errorf("checks (-want +got)\n%s", diff)
			}
			if got.Diagnosis != test.verdict || got.Suggestion == nil || *got.Suggestion != test.suggest {
				t.Errorf("got %q, %v", got.Diagnosis, got.Suggestion)
			}
			if got.ID != "a" || got.Location != "main repository" || !strings.Contains(test.file, "status: "+string(got.Status)+"\n") {
				t.Errorf("got %+v", got)
			}
		})
	}
	t.Run("details of other statuses", func(t *testing.T) {
		for status, want := range map[string]string{
			"needs_attention": "Marked as needs attention", "blocked": "Blocked by unmet dependencies",
			"paused": "Paused (work stopped mid-execution)",
		} {
			p := newProject(t, files{"specs/a.md": spec(status, "# T")})
			got, err := p.Diagnose("a")
			if err != nil || *got.Checks[5].Details != want {
				t.Errorf("%s: got %+v, %v", status, got.Checks, err)
			}
		}
	})
	t.Run("a spec without issues, and git cannot be read", func(t *testing.T) {
		p := newProject(t, files{"specs/a.md": spec("completed", "# T"), "logs/a.log": ""})
		p.Git = broken{}
		got, err := p.Diagnose("a")
		if err != nil || !strings.Contains(got.Diagnosis, "commits are not checked") || got.Suggestion == nil {
			t.Errorf("got %+v, %v", got, err)
		}
	})
	t.Run("a healthy spec with a log and a lock", func(t *testing.T) {
		p := newProject(t, files{"specs/a.md": spec("completed", "# T"), "logs/a.log": "12345", ".locks/a.lock": "1"})
		p.Git = committed
		for ago, want := range map[time.Duration]string{
			-time.Second: "unknown age", 59 * time.Second: "just now", time.Minute: "1 minutes ago",
			59 * time.Minute: "59 minutes ago", 90 * time.Minute: "1 hours ago", 49 * time.Hour: "2 days ago",
		} {
			if err := os.Chtimes(p.Dir.Log("a"), now, now.Add(-ago)); err != nil {
				t.Fatal(err)
			}
			got, err := p.Diagnose("a")
			if err != nil || got.Diagnosis != "All checks passed. Spec appears healthy." || got.Suggestion != nil {
				t.Errorf("got %+v, %v", got, err)
			}
			checks := lines(got.Checks)
			if checks[1] != "Log file: Exists (5 bytes), last modified: "+want+" (checked in main)" {
				t.Errorf("got %s, want %s", checks[1], want)
			}
			if checks[2] != "Lock file: Present (spec may be running) (checked in main)" {
				t.Errorf("got %s", checks[2])
			}
		}
	})
}

func lines(checks []workflow.Check) []string {
	var all []string
	for _, check := range checks {
		line := check.Name
		if !check.Passed {
			line = "!" + line
		}
		if check.Details != nil {
			line += ": " + *check.Details
		}
		all = append(all, line)
	}
	return all
}
