package project_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/check"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/project"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/sample"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/steps"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/view"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// unscanned is a file system of a type that package store does not scan.
type unscanned struct{ filesystem.OS }

func TestScansAndFilesGiveTheSameAnswers(t *testing.T) {
	root := t.TempDir()
	if err := sample.Write(root, 6); err != nil {
		t.Fatal(err)
	}
	top := filepath.Join(root, "openspec")
	spec, err := os.ReadFile(filepath.Join(top, "specs/area-00/capability-0000/spec.md"))
	if err != nil {
		t.Fatal(err)
	}
	const block = "\nIt SHALL.\n\n#### Scenario: Usual\n- x\n"
	for path, content := range map[string]string{
		"specs/spec.md":                                "in no capability",
		"specs/.hidden/spec.md":                        string(spec),
		"specs/broken/spec.md":                         "## ADDED Requirements\n",
		"specs/large/spec.md":                          strings.Repeat("x", 4<<20+1),
		"specs/invalid/spec.md":                        "\xff" + string(spec),
		"specs/archive/spec.md":                        string(spec),
		"changes/.hidden/tasks.md":                     "- [ ] 1 x\n",
		"changes/file.md":                              "no change",
		"changes/empty/.keep":                          "",
		"changes/wraps/inner/proposal.md":              "# x\n",
		"changes/loose/specs/notes.md":                 "## ADDED Requirements\n### Requirement: A" + block,
		"changes/loose/specs/spec.md":                  "x",
		"changes/loose/.openspec.yaml":                 "schema: spec-driven\nskip_specs: true\n",
		"changes/lossy/specs/broken/spec.md":           "## MODIFIED Requirements\n### Requirement: A" + block,
		"changes/lossy/specs/archive/spec.md":          "## MODIFIED Requirements\n### Requirement: Rule 1\nIt SHALL.\n#### Scenario: Other\n- x\n",
		"changes/lossy/specs/new/spec.md":              "## REMOVED Requirements\n### Requirement: A\n## MODIFIED Requirements\n### Requirement: B" + block,
		"changes/lossy/specs/later/deep/er/spec.md":    "## ADDED Requirements\n### Requirement: A" + block,
		"changes/lossy/tasks.md":                       "## 1. A\n- [x] 2.1 x\n- [ ] 2.1 y\n",
		"changes/lossy/.openspec.yaml":                 "## a comment\nschema: spec-driven\n",
		"changes/other/.openspec.yaml":                 "schema: own\n",
		"changes/other/todo/a.md":                      "- [x] 1 x\n",
		"changes/other/todo/b.md":                      "- y\n",
		"changes/unknown/.openspec.yaml":               "schema: none\nskip_specs: true\n",
		"changes/unparsed/.openspec.yaml":              "schema: [\n",
		"changes/archive/2026-01-02-done/tasks.md":     "- [x] x\n- [ ] y\n",
		"changes/archive/archive/tasks.md":             "- [x] x\n",
		"schemas/own/schema.yaml":                      "name: own\nversion: 1\nartifacts:\n  - id: todo\n    generates: todo/*.md\n    description: d\n    template: t.md\n    requires: []\napply:\n  requires: [todo]\n  tracks: todo/*.md\n",
		"changes/add-feature-0001/specs/x/y/z/deep.md": "x",
	} {
		path = filepath.Join(top, path)
		testenv.WriteFile(t, path, content)
	}
	for link, target := range map[string]string{
		"specs/linked":                 "archive",
		"specs/alias/spec.md":          "other.md",
		"changes/linked":               "loose",
		"changes/empty/tasks.md":       ".keep",
		"changes/empty/specs":          "../lossy/specs",
		"changes/outside/tasks.md":     "../lossy/tasks.md",
		"changes/outside/.dangling.md": "nothing",
	} {
		path := filepath.Join(top, link)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(top, "specs/alias/other.md"), spec, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(top, "changes/unknown"), 0o300); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(top, "changes/unknown"), 0o755) })
	sameAnswers(t, root)
}

func TestScansKeepNamesThatAreNotUTF8(t *testing.T) {
	root := t.TempDir()
	if err := sample.Write(root, 2); err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(root, "openspec/specs/area-00/capability-0000/spec.md"))
	if err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string]string{
		"specs/\xff/spec.md":                            string(source),
		"changes/add-feature-0000/specs/\xff/spec.md":   "no delta",
		"changes/add-feature-0001/\xff.md":              "x",
		"changes/archive/2026-01-02-done/specs/\xff.md": "x",
	} {
		path = filepath.Join(root, "openspec", path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Skip(err) // the file system refuses such names
		}
	}
	sameAnswers(t, root)
}

func TestScansReportEntriesThatCannotBeAccessed(t *testing.T) {
	if testenv.AsNobody(t) {
		return
	}
	for path, content := range map[string]string{
		"changes/a/specs/x/spec.md":               "## ADDED Requirements\n",
		"changes/b/inner/proposal.md":             "x",
		"changes/archive/2026-01-02-c/x/tasks.md": "x",
		"specs/y/spec.md":                         "x",
	} {
		t.Run(path, func(t *testing.T) {
			root := t.TempDir()
			if err := sample.Write(root, 2); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(root, "openspec", path)
			dir := filepath.Dir(path)
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(dir, 0o400); err != nil { // the names in the directory can be listed, and nothing else in it is accessible
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
			if _, err := os.Lstat(path); err == nil {
				t.Fatal("the entry is accessible")
			}
			sameAnswers(t, root)
		})
	}
}

// sameAnswers fails the test if the answer of a call about a project depends on whether package store scans the files.
func sameAnswers(t *testing.T, root string) {
	for name, call := range map[string]func(*project.Project) (any, error){
		"changes":           func(p *project.Project) (any, error) { return view.ListChanges(p, view.ByTime) },
		"specs":             func(p *project.Project) (any, error) { return view.ListSpecs(p) },
		"archived":          func(p *project.Project) (any, error) { return view.ListArchived(p) },
		"validate":          func(p *project.Project) (any, error) { return check.Run(p, check.Request{Strict: true}) },
		"validate changes":  func(p *project.Project) (any, error) { return check.Run(p, check.Request{Changes: true}) },
		"validate archived": func(p *project.Project) (any, error) { return check.Run(p, check.Request{Archived: true}) },
		"status":            func(p *project.Project) (any, error) { return steps.StatusOf(p, steps.StatusRequest{}) },
		"status of schema":  func(p *project.Project) (any, error) { return steps.StatusOf(p, steps.StatusRequest{Schema: "own"}) },
		"spec ids":          func(p *project.Project) (any, error) { return view.SpecIDs(p) },
		"unknown item":      func(p *project.Project) (any, error) { return view.Show(p, view.ShowRequest{Name: "none"}) },
	} {
		t.Run(name, func(t *testing.T) {
			answer := func(files filesystem.FS) string {
				p := open(root)
				p.Files = files
				result, err := call(p)
				if report, ok := result.(*check.Report); ok && report != nil {
					for i := range report.Items {
						report.Items[i].DurationMs = 0
					}
				}
				raw, failed := rawjson.MarshalIndent(result, " ")
				if failed != nil {
					t.Fatal(failed)
				}
				return fmt.Sprintf("%s\n%v", raw, err)
			}
			if diff := cmp.Diff(answer(unscanned{}), answer(filesystem.OS{})); diff != "" {
				t.Errorf("(-files +scan)\n%s", diff)
			}
		})
	}
}
