package workflow_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/workflow"
)

func TestChange(t *testing.T) {
	update := func(status, output *string) func(*workflow.Project) (string, error) {
		return func(p *workflow.Project) (string, error) { return p.Update("a", status, output) }
	}
	finalize := func(p *workflow.Project) (string, error) { return p.Finalize("a") }
	resume := func(p *workflow.Project) (string, error) { return p.Resume("a") }
	cancel := func(p *workflow.Project) (string, error) { return p.Cancel("a") }
	tests := []struct {
		name string
		file string
		do   func(*workflow.Project) (string, error)
		want string
		left string // the expected content of the file after the call; "" if the call does not change the file
	}{
		{
			"an update keeps unknown keys",
			spec("pending", "# T", "team: core", "jira_key: A-1", "pr: 42"), update(new("failed"), nil),
			"Updated spec: a", spec("failed", "# T", "team: core", "jira_key: A-1", "pr: 42"),
		},
		{
			"an update removes white space around the body",
			"---\ntype: code\nstatus: pending\n---\n\n# T\n", update(new("in_progress"), nil),
			"Updated spec: a", spec("in_progress", "# T"),
		},
		{
			"status and output",
			spec("in_progress", "# T"), update(new("completed"), new("All tests pass.")),
			"Updated spec: a", spec("completed", "# T\n\n## Output\n\nAll tests pass.\n"),
		},
		{
			"a second output is a second section",
			spec("completed", "# T\n\n## Output\n\nOne."), update(nil, new("Two.")),
			"Updated spec: a", spec("completed", "# T\n\n## Output\n\nOne.\n\n## Output\n\nTwo.\n"),
		},
		{
			"output alone keeps the status of the file, not the computed one",
			spec("pending", "# T", "depends_on:", "- nowhere"), update(nil, new("Note.")),
			"Updated spec: a", spec("pending", "# T\n\n## Output\n\nNote.\n", "depends_on:", "- nowhere"),
		},
		{
			"a status with an empty output is an update",
			spec("pending", "# T"), update(new("failed"), new("")), "Updated spec: a", spec("failed", "# T"),
		},
		{
			"an update to completed does not record the time",
			spec("pending", "# T"), update(new("completed"), nil), "Updated spec: a", spec("completed", "# T"),
		},
		{
			"a status that cannot be assigned",
			spec("pending", "# T"), update(new("blocked"), new("x")),
			"! Invalid status: blocked. Must be one of: pending, in_progress, completed, failed", "",
		},
		{
			"an empty output is not an update",
			spec("pending", "# T"), update(nil, new("")),
			"! No updates specified. Provide 'status' or 'output' parameter.", "",
		},
		{
			"a pending spec is not finalized",
			spec("pending", "# T"), finalize,
			"! Spec 'a' must be in_progress, completed, or failed to finalize. Current status: Pending", "",
		},
		{
			"a pending spec that is blocked is not finalized",
			spec("pending", "# T", "depends_on: nowhere"), finalize,
			"! Spec 'a' must be in_progress, completed, or failed to finalize. Current status: Blocked", "",
		},
		{
			"a spec with an open box is not finalized",
			spec("in_progress", openBox), finalize,
			"! Spec 'a' has 1 unchecked acceptance criteria. All criteria must be checked before finalization.", "",
		},
		{
			"a failed spec without open boxes is finalized",
			spec("failed", "# T"), finalize,
			"Finalized spec: a", spec("completed", "# T", "completed_at: 2026-03-01T20:30:00Z"),
		},
		{
			"a completed spec is finalized again, with a new time",
			spec("completed", "# T", "completed_at: 2026-01-01T00:00:00+02:00"), finalize,
			"Finalized spec: a", spec("completed", "# T", "completed_at: 2026-03-01T20:30:00Z"),
		},
		{
			"a box with a capital X counts as ticked",
			spec("in_progress", "# T\n\n## Acceptance Criteria\n- [X] a"), finalize,
			"Finalized spec: a", spec("completed", "# T\n\n## Acceptance Criteria\n- [X] a", "completed_at: 2026-03-01T20:30:00Z"),
		},
		{
			"a section below an unclosed fence is ignored",
			spec("in_progress", "```\n## Acceptance Criteria\n- [ ] a"), finalize,
			"Finalized spec: a", spec("completed", "```\n## Acceptance Criteria\n- [ ] a", "completed_at: 2026-03-01T20:30:00Z"),
		},
		{
			"a completed spec is not resumed",
			spec("completed", "# T"), resume,
			"! Spec 'a' is not in failed or in_progress state (current: Completed). Only failed or in_progress specs can be resumed.", "",
		},
		{
			"a failed spec becomes pending and keeps its other keys",
			spec("failed", "# T", "branch: x", "completed_at: never"), resume,
			"Resumed spec 'a' - reset to pending", spec("pending", "# T", "branch: x", "completed_at: never"),
		},
		{"a completed spec is cancelled", spec("completed", "# T"), cancel, "Cancelled spec: a", spec("cancelled", "# T")},
		{"a cancelled spec is not cancelled", spec("cancelled", "# T"), cancel, "! Spec 'a' is already cancelled", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := newProject(t, files{"specs/a.md": test.file, "specs/other.md": spec("pending", "# Other")})
			if got := answer(test.do(p)); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			want := files{"specs/a.md": test.file, "specs/other.md": spec("pending", "# Other")}
			if test.left != "" {
				want["specs/a.md"] = test.left
			}
			if diff := cmp.Diff(want, contents(t, p)); diff != "" {
				t.Errorf("files (-want +got)\n%s", diff)
			}
		})
	}
}

// onBranch is a repository in which every branch exists, and every file of a branch has the same content.
type onBranch struct {
	history
	content string
}

func (onBranch) BranchExists(string) (bool, error) { return true, nil }

func (b onBranch) ReadFile(string, string) ([]byte, bool, error) {
	return []byte(b.content), true, nil
}

func TestChangesApplyToFileNotBranch(t *testing.T) {
	p := newProject(t, files{"specs/a.md": spec("in_progress", "# File")})
	p.Git = onBranch{content: spec("completed", "# Branch")}
	if details, err := p.Get("a"); err != nil || details.Body != "# Branch" || details.Status != "completed" {
		t.Errorf("Get returned %+v, %v", details, err)
	}
	if got := answer(p.Archive("a")); got != "! Spec 'a' must be completed to archive (current: InProgress)" {
		t.Errorf("Archive returned %s", got)
	}
	if got := answer(p.Resume("a")); got != "Resumed spec 'a' - reset to pending" {
		t.Errorf("Resume returned %s", got)
	}
	if got, want := get(t, p, "specs/a.md"), spec("pending", "# File"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestChangeAppliesToTheFileAsItIsAfterListing(t *testing.T) {
	const theirs = "---\nstatus: completed\n---\n# Theirs"
	broken := "\xff"
	for name, test := range map[string]struct {
		do   func(*workflow.Project) (string, error)
		want string
		left files
	}{
		"resume": {
			func(p *workflow.Project) (string, error) { return p.Resume("a") },
			"! Spec 'a' is not in failed or in_progress state (current: Completed). Only failed or in_progress specs can be resumed.",
			files{"specs/a.md": theirs, "specs/b.md": theirs, "specs/broken.md": broken},
		},
		"archive": {
			func(p *workflow.Project) (string, error) { return p.Archive("b") },
			"Archived spec: b -> .chant/archive/b/b.md",
			files{"specs/a.md": theirs, "archive/b/b.md": theirs, "specs/broken.md": broken},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t, files{"specs/a.md": spec("failed", "# T"), "specs/b.md": spec("completed", "# T"), "specs/broken.md": broken})
			// The call warns about the broken file after it has listed the files and before it reads them. So the
			// function Warn can change a file in between.
			p.Warn = func(string) {
				put(t, p, "specs/a.md", theirs)
				put(t, p, "specs/b.md", theirs)
			}
			if got := answer(test.do(p)); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if diff := cmp.Diff(test.left, contents(t, p)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestSpecInSubdirectoryIsSavedInPlace(t *testing.T) {
	p := newProject(t, files{"specs/sub/a.md": spec("failed", "# T")})
	if got := answer(p.Resume("a")); got != "Resumed spec 'a' - reset to pending" {
		t.Error(got)
	}
	if diff := cmp.Diff(files{"specs/sub/a.md": spec("pending", "# T")}, contents(t, p)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestReadOnlyDirectory(t *testing.T) {
	if testenv.AsNobody(t) {
		return
	}
	p := newProject(t, files{"specs/a.md": spec("failed", "# T")})
	dir := filepath.Join(p.Dir.Root, ".chant", "specs")
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o755)
	for name, do := range map[string]func() (string, error){
		"resume":  func() (string, error) { return p.Resume("a") },
		"add":     func() (string, error) { return p.Add("New", nil) },
		"archive": func() (string, error) { return p.Archive("a") },
	} {
		if got := answer(do()); !strings.HasPrefix(got, "! ") {
			t.Errorf("%s: %s", name, got)
		}
	}
	if diff := cmp.Diff(files{"specs/a.md": spec("failed", "# T")}, contents(t, p)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
