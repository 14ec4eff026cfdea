package project_test

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/check"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/edit"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/project"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/view"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// requires returns the lines of a requirement in a delta or spec.
func requires(name, text string) string {
	return "### Requirement: " + name + "\nIt SHALL " + text + ".\n\n#### Scenario: s\n- **WHEN** a\n- **THEN** b\n"
}

// TestArchiveOnOwnData archives changes in cases that testdata lacks. A refused archive must not change the directory
// tree.
func TestArchiveOnOwnData(t *testing.T) {
	const (
		added   = "## ADDED Requirements\n\n"
		renamed = "## RENAMED Requirements\n\n"
	)
	rename := func(from, to string) string {
		return "- FROM: `### Requirement: " + from + "`\n- TO: `### Requirement: " + to + "`\n"
	}
	two := "# stock\n\n## Purpose\nWhat is kept in stock, and for how long it may stay there.\n\n## Requirements\n\n" + requires("One", "a") + "\n" + requires("Two", "b")
	for name, test := range map[string]struct {
		files   map[string]string
		request edit.ArchiveRequest
		code    string // the code of the expected failure; "" if the archive must succeed
		as      string // the expected name of the directory in the archive
		has     string // a part of the expected content of specs/stock/spec.md after the archive
	}{
		"29 a folder that wraps changes": {
			files: map[string]string{"changes/x/inner/proposal.md": "# i\n"},
			code:  "archive_change_is_namespace_folder"},
		"39 the second capability is bad, so neither is written": {
			files: map[string]string{"changes/x/specs/a/spec.md": added + requires("A", "a"), "changes/x/specs/stock/spec.md": added + requires("One", "other")},
			code:  "archive_spec_update_failed"},
		"40 a name with a date keeps it": {
			files:   map[string]string{"changes/2025-12-24-xmas/specs/stock/spec.md": added + requires("New", "n")},
			request: edit.ArchiveRequest{Name: "2025-12-24-xmas"}, as: "2025-12-24-xmas", has: "### Requirement: New\n"},
		"40 open tasks, and a person would be asked": {
			files:   map[string]string{"changes/x/tasks.md": "- [ ] 1.1 a\n"},
			request: edit.ArchiveRequest{Ask: true}, code: "archive_tasks_incomplete"},
		"41 an invalid delta": {
			files: map[string]string{"changes/x/specs/stock/spec.md": added + "### Requirement: New\n"},
			code:  "archive_validation_failed"},
		"41 not validated, and a person would be asked": {
			files:   map[string]string{"changes/x/specs/stock/spec.md": added + "### Requirement: New\n"},
			request: edit.ArchiveRequest{NoValidate: true, Ask: true}, code: "archive_confirmation_required"},
		"41 not validated": {
			files:   map[string]string{"changes/x/specs/stock/spec.md": added + "### Requirement: New\n"},
			request: edit.ArchiveRequest{NoValidate: true}, as: "2026-11-21-x", has: "### Requirement: New\n"},
		"specs change, and a person would be asked": {
			files:   map[string]string{"changes/x/specs/stock/spec.md": added + requires("New", "n")},
			request: edit.ArchiveRequest{Ask: true}, code: "archive_confirmation_required"},
		"specs are left alone": {
			files:   map[string]string{"changes/x/specs/stock/spec.md": added + requires("New", "n")},
			request: edit.ArchiveRequest{Ask: true, SkipSpecs: true}, as: "2026-11-21-x", has: two},
		"44 the target is there": {
			files: map[string]string{"changes/x/proposal.md": "# x\n", "changes/archive/2026-11-21-x/proposal.md": "# older\n"},
			code:  "archive_target_exists"},
		"45 a chain of renames": {
			files: map[string]string{"changes/x/specs/stock/spec.md": renamed + rename("Two", "Three") + rename("One", "Two")},
			as:    "2026-11-21-x", has: "### Requirement: Two\nIt SHALL a.\n"},
		"a name with two closing runs of # is a duplicate in the delta": {
			files: map[string]string{"changes/x/specs/stock/spec.md": added + requires("New", "n") + "\n" + requires("New ## ##", "m")},
			code:  "archive_validation_failed"},
		"a name with two closing runs of # is a duplicate in the main spec": {
			files: map[string]string{"changes/x/specs/stock/spec.md": added + requires("One ## ##", "n")},
			code:  "archive_spec_update_failed"},
		"a modified name with two closing runs of # is refused": {
			files: map[string]string{"changes/x/specs/stock/spec.md": "## MODIFIED Requirements\n\n" + requires("One ## ##", "n")},
			code:  "archive_spec_update_failed"},
		"a rename to a name with two closing runs of # leaves none": {
			files: map[string]string{"changes/x/specs/stock/spec.md": renamed + rename("One ## ##", "Three ## ##")},
			as:    "2026-11-21-x", has: "### Requirement: Three\nIt SHALL a.\n"},
		"a new name with two closing runs of # keeps one": {
			files: map[string]string{"changes/x/specs/stock/spec.md": added + requires("New ## ##", "n")},
			as:    "2026-11-21-x", has: "### Requirement: New ## ##\n"},
		"45 a swap": {
			files: map[string]string{"changes/x/specs/stock/spec.md": renamed + rename("One", "Two") + rename("Two", "One")},
			code:  "archive_spec_update_failed"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			write(t, root, "specs/stock/spec.md", two)
			for path, content := range test.files {
				write(t, root, path, content)
			}
			if test.request.Name == "" {
				test.request.Name = "x"
			}
			before := readTree(t, root)
			result, err := edit.Archive(open(root), test.request)
			if got := code(t, err); got != test.code {
				t.Fatalf("got %q: %v", got, err)
			}
			after := readTree(t, root)
			if test.code != "" {
				sameTree(t, before, after)
				return
			}
			if result.Archive.ArchivedAs != test.as || !strings.Contains(after["openspec/specs/stock/spec.md"], test.has) {
				t.Errorf("%+v\n%s", result.Archive, after["openspec/specs/stock/spec.md"])
			}
			if _, there := after["openspec/changes/archive/"+test.as+"/"]; !there {
				t.Error("the change is not in the archive")
			}
		})
	}
}

// torn is a file system in which the first read of a file returns what another program had written of it until then.
type torn struct {
	filesystem.OS
	path, content string
	read          *bool
}

func (t torn) Open(path string) (io.ReadCloser, error) {
	if path == t.path && !*t.read {
		*t.read = true
		return io.NopCloser(strings.NewReader(t.content)), nil
	}
	return t.OS.Open(path)
}

// TestArchiveDoesNotBlameChangeForConcurrentWrite checks that an archive which fails because another program is writing a file says so.
func TestArchiveDoesNotBlameChangeForConcurrentWrite(t *testing.T) {
	const two = "# stock\n\n## Purpose\nWhat is kept in stock, and for how long it may stay there.\n\n## Requirements\n\n"
	for name, test := range map[string]struct{ file, content string }{
		"an empty main spec":     {"specs/stock/spec.md", ""},
		"a part of a main spec":  {"specs/stock/spec.md", "# stock\n"},
		"a part of a delta":      {"changes/x/specs/stock/spec.md", "## ADDED Requirements\n\n### Requirement: New\n"},
		"another main spec":      {"specs/stock/spec.md", two + requires("New", "b")},
		"a main spec that fails": {"specs/stock/spec.md", "## Requirements\n\n" + requires("One", "a")},
	} {
		t.Run(name, func(t *testing.T) {
			root := copyProject(t, "")
			write(t, root, "specs/stock/spec.md", two+requires("One", "a"))
			write(t, root, "changes/x/specs/stock/spec.md", "## ADDED Requirements\n\n"+requires("New", "n"))
			before := readTree(t, root)
			p := open(root)
			p.Files = torn{path: filepath.Join(root, "openspec", filepath.FromSlash(test.file)), content: test.content, read: new(bool)}
			_, err := edit.Archive(p, edit.ArchiveRequest{Name: "x"})
			if err == nil || !strings.Contains(err.Error(), "was changed by another program") {
				t.Errorf("got %v", err)
			}
			if diff := cmp.Diff(before, readTree(t, root)); diff != "" {
				t.Error(diff)
			}
			if _, err := edit.Archive(open(root), edit.ArchiveRequest{Name: "x"}); err != nil {
				t.Errorf("the second call: %v", err)
			}
		})
	}
}

func TestArchiveWithoutRoot(t *testing.T) {
	name := "x"
	for what, test := range map[string]struct {
		call func(p *project.Project) error
		code string
	}{
		"list changes":  {func(p *project.Project) error { _, err := view.ListChanges(p, view.ByTime); return err }, "no_openspec_root"},
		"list specs":    {func(p *project.Project) error { _, err := view.ListSpecs(p); return err }, "no_openspec_root"},
		"list archived": {func(p *project.Project) error { _, err := view.ListArchived(p); return err }, "no_openspec_root"},
		"validate all": {func(p *project.Project) error { _, err := check.Run(p, check.Request{}); return err },
			"no_openspec_root"},
		"validate one": {func(p *project.Project) error { _, err := check.Run(p, check.Request{Name: &name}); return err },
			"unknown_item"},
		"show":    {func(p *project.Project) error { _, err := view.Show(p, view.ShowRequest{Name: name}); return err }, "unknown_item"},
		"archive": {func(p *project.Project) error { _, err := edit.Archive(p, edit.ArchiveRequest{Name: name}); return err }, "archive_change_not_found"},
	} {
		root := t.TempDir()
		if got := code(t, test.call(open(root))); got != test.code {
			t.Errorf("%s: got %q, want %q", what, got, test.code)
		}
		if tree := readTree(t, root); len(tree) != 1 {
			t.Errorf("%s created %q", what, tree)
		}
	}
}
