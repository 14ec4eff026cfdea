package project_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/address"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/check"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/delta"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/edit"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/project"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/spec"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/store"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/view"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem/faultfs"
)

// branch copies the project testdata/branch and returns the path of the copy.
func branch(t testing.TB) string {
	return copyProject(t, filepath.Join("..", "testdata", "branch", "input"))
}

func write(t testing.TB, root, name, content string) {
	t.Helper()
	path := filepath.Join(root, store.DirName, name)
	testenv.WriteFile(t, path, content)
}

// code returns the code of a failure; "" if err is nil.
func code(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	failure := (*project.Failure)(nil)
	if !errors.As(err, &failure) {
		t.Fatalf("%v is not a Failure", err)
	}
	return failure.Code
}

func TestInvalidNamesAreRefused(t *testing.T) {
	root := branch(t)
	before := readTree(t, root)
	for _, name := range []string{
		"", ".", "..", "../specs", "a/../b", "/etc/passwd", "a//b", "a/", `a\b`, ".hidden", "x/.hidden", "a\x00b", "a\nb", "a\u2028b", "\xff", strings.Repeat("a", 1025),
	} {
		for _, kind := range []project.Kind{"", project.KindChange, project.KindSpec} {
			_, shown := view.Show(open(root), view.ShowRequest{Name: name, Kind: kind})
			_, validated := check.Run(open(root), check.Request{Name: &name, Kind: kind})
			_, raw := view.Markdown(open(root), name, kind)
			for what, err := range map[string]error{"show": shown, "validate": validated, "markdown": raw} {
				if got := code(t, err); got != "invalid_item" {
					t.Errorf("%s %q as %q: got %q", what, name, kind, got)
				}
				if err != nil && strings.Contains(err.Error(), "lending") {
					t.Errorf("the error for %s %q shows which files exist: %v", what, name, err)
				}
			}
		}
		_, err := edit.Archive(open(root), edit.ArchiveRequest{Name: name})
		if got := code(t, err); got != "archive_change_name_invalid" && got != "archive_change_name_required" {
			t.Errorf("archive %q: got %q", name, got)
		}
		if _, err := edit.CreateChange(open(root), edit.CreateRequest{Name: name}); code(t, err) != "change_error" {
			t.Errorf("create %q: got %v", name, err)
		}
	}
	if _, err := edit.Archive(open(root), edit.ArchiveRequest{Name: "archive"}); code(t, err) != "archive_change_name_invalid" {
		t.Errorf("archive archive: got %v", err)
	}
	sameTree(t, before, readTree(t, root))
}

// TestReadAfterArchiveReturnsMergedRequirements archives every valid change of a project, and then compares the specs
// with the merged requirements.
func TestReadAfterArchiveReturnsMergedRequirements(t *testing.T) {
	archiveAll(t, filepath.Join("..", "testdata", "branch", "input"), 2)
	t.Run("real data", func(t *testing.T) { archiveAll(t, filepath.Join(reference(t), "project"), 5) })
}

func archiveAll(t *testing.T, from string, least int) {
	root := copyProject(t, from)
	names, err := view.ChangeIDs(open(root))
	if err != nil {
		t.Fatal(err)
	}
	archived := 0
	for _, name := range names {
		ids, err := view.DeltaIDs(open(root), address.Changes, name)
		if err != nil {
			t.Fatal(err)
		}
		deltas := map[string]*delta.Delta{}
		for _, id := range ids {
			source, err := view.Read(open(root), address.Address{In: address.Changes, Name: name, Part: address.Deltas, Capability: id})
			if err != nil {
				t.Fatal(err)
			}
			deltas[id] = delta.Parse(markdown.Parse(source.(string)))
		}
		before := readTree(t, root)
		if _, err := edit.Archive(open(root), edit.ArchiveRequest{Name: name}); err != nil {
			sameTree(t, before, readTree(t, root))
			continue
		}
		archived++
		for id, parsed := range deltas {
			checkMerged(t, root, id, parsed, before["openspec/specs/"+id+"/spec.md"])
		}
	}
	if archived < least {
		t.Errorf("only %d changes could be archived, want at least %d", archived, least)
	}
}

// checkMerged checks that the requirements of a main spec are those in the text before, changed by the delta d.
func checkMerged(t *testing.T, root, id string, d *delta.Delta, before string) {
	t.Helper()
	want, order := map[string]string{}, []string{}
	for _, block := range spec.Divide(markdown.Parse(before)).Blocks {
		want[block.Name] = block.Statement()
		order = append(order, block.Name)
	}
	for _, pair := range d.Renamed {
		at := slices.Index(order, pair.From)
		order[at], want[pair.To] = pair.To, want[pair.From]
	}
	for _, block := range d.Removed {
		order = slices.DeleteFunc(order, func(name string) bool { return name == block.Name })
	}
	for _, block := range d.Modified {
		want[block.Name] = block.Statement()
	}
	for _, block := range d.Added {
		if !slices.Contains(order, block.Name) {
			order = append(order, block.Name)
		}
		want[block.Name] = block.Statement()
	}
	source, err := view.Read(open(root), address.Address{In: address.Specs, Name: id})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, block := range spec.Divide(markdown.Parse(source.(string))).Blocks {
		names = append(names, block.Name)
		if got := block.Statement(); got != want[block.Name] {
			t.Errorf("%s, %s: got %q, want %q", id, block.Name, got, want[block.Name])
		}
	}
	if diff := cmp.Diff(order, names); diff != "" {
		t.Errorf("%s (-want +got)\n%s", id, diff)
	}
}

// TestSpecCanBeNamedArchive checks that the name archive is reserved only for changes.
func TestSpecCanBeNamedArchive(t *testing.T) {
	root, name := branch(t), "archive"
	if _, err := view.Show(open(root), view.ShowRequest{Name: name}); code(t, err) != "invalid_item" {
		t.Errorf("Show of the name archive without a spec of that name: %v", err)
	}
	write(t, root, "specs/archive/spec.md", "# a\n\n## Purpose\np\n\n## Requirements\n")
	if view, err := view.Show(open(root), view.ShowRequest{Name: name}); err != nil || view == nil {
		t.Errorf("Show of the spec called archive: %v", err)
	}
	report, err := check.Run(open(root), check.Request{Name: &name})
	if err != nil || len(report.Items) != 1 || report.Items[0].Type != project.KindSpec {
		t.Errorf("Validate of the spec called archive: %+v, %v", report, err)
	}
	for _, kind := range []project.Kind{project.KindChange, project.KindSpec} {
		_, err := view.Show(open(root), view.ShowRequest{Name: name, Kind: kind})
		if refused := code(t, err) == "invalid_item"; refused != (kind == project.KindChange) {
			t.Errorf("Show of the item called archive as a %s: %v", kind, err)
		}
	}
}

func TestArchiveRefusesInvalidUTF8(t *testing.T) {
	for _, name := range []string{"specs/lending/spec.md", "changes/add-fines/specs/lending/spec.md"} {
		root := branch(t)
		content, err := os.ReadFile(filepath.Join(root, "openspec", name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, root, name, string(content)+"\nna\xefve\n")
		before := readTree(t, root)
		if _, err := edit.Archive(open(root), edit.ArchiveRequest{Name: "add-fines"}); code(t, err) != "archive_spec_update_failed" {
			t.Errorf("%s: got %v", name, err)
		}
		sameTree(t, before, readTree(t, root))
		if view, err := view.Show(open(root), view.ShowRequest{Name: "lending"}); err != nil || view == nil {
			t.Errorf("Show(%s) returned the error %v", name, err)
		}
	}
}

func TestLastRequirementIsRemovedOnlyWithMarker(t *testing.T) {
	root := branch(t)
	write(t, root, "changes/drop/specs/desk/opening-hours/spec.md", "## REMOVED Requirements\n### Requirement: Open\n")
	for _, request := range []edit.ArchiveRequest{{Name: "drop"}, {Name: "drop", NoValidate: true}} {
		if _, err := edit.Archive(open(root), request); code(t, err) != "archive_spec_validation_failed" {
			t.Errorf("%+v: got %v", request, err)
		}
	}
	write(t, root, "changes/drop/.openspec.yaml", "schema: spec-driven\nretire_capabilities: true\n")
	result, err := edit.Archive(open(root), edit.ArchiveRequest{Name: "drop"})
	if err != nil || len(result.Archive.Warnings) != 1 {
		t.Fatalf("%+v, %v", result, err)
	}
	if _, there := readTree(t, root)["openspec/specs/desk/"]; there {
		t.Error("the archive left an empty directory")
	}
}

func TestInitCreatesOnlyWhatIsMissing(t *testing.T) {
	root := t.TempDir()
	first, err := edit.Init(open(root), []string{"claude"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"openspec", "openspec/specs", "openspec/changes", "openspec/changes/archive", "openspec/specs/.gitkeep", "openspec/changes/archive/.gitkeep", "openspec/config.yaml"}
	if diff := cmp.Diff(want, first.Created); diff != "" || first.ExtendMode || first.ConfigFile != "created" || !slices.Equal(first.Tools.Skipped, []string{"claude"}) {
		t.Errorf("%+v (-want +got)\n%s", first, diff)
	}
	before := readTree(t, root)
	second, err := edit.Init(open(root), nil)
	if err != nil || !second.ExtendMode || len(second.Created) != 0 || second.ConfigFile != "exists" {
		t.Errorf("%+v, %v", second, err)
	}
	sameTree(t, before, readTree(t, root))
}

func TestCreateChange(t *testing.T) {
	root := branch(t)
	made, err := edit.CreateChange(open(root), edit.CreateRequest{Name: "add-y", Description: "Why", Goal: "a: b"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"openspec/changes/add-y", "openspec/changes/add-y/.openspec.yaml", "openspec/changes/add-y/README.md"}
	if diff := cmp.Diff(want, made.Created); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	tree := readTree(t, root)
	if got := tree["openspec/changes/add-y/.openspec.yaml"]; got != "schema: spec-driven\ncreated: 2026-11-21\ngoal: \"a: b\"\n" {
		t.Errorf("the metadata file has the content %q", got)
	}
	if got := tree["openspec/changes/add-y/README.md"]; got != "# add-y\n\nWhy\n" {
		t.Errorf("README.md has the content %q", got)
	}
	for name, message := range map[string]string{
		"archive": "Change name is reserved",
		"add-y":   "Change 'add-y' already exists at " + filepath.Join(root, "openspec/changes/add-y"),
	} {
		if _, err := edit.CreateChange(open(root), edit.CreateRequest{Name: name}); err == nil || err.Error() != message {
			t.Errorf("%s: got %v", name, err)
		}
	}
	_, err = edit.CreateChange(open(root), edit.CreateRequest{Name: "add-z", Schema: "nope"})
	if err == nil || err.Error() != "Schema 'nope' not found. Available schemas:\n  spec-driven" {
		t.Errorf("got %v", err)
	}
	write(t, root, "schemas/own/schema.yaml", "name: own\nversion: 1\nartifacts: [{id: a, generates: a.md, description: d, template: a.md}]\n")
	write(t, root, "config.yaml", "schema: own\n")
	if made, err := edit.CreateChange(open(root), edit.CreateRequest{Name: "add-z"}); err != nil || made.Change.Schema != "own" {
		t.Errorf("%+v, %v", made, err)
	}
	if got := readTree(t, root)["openspec/changes/add-z/.openspec.yaml"]; got != "schema: own\ncreated: 2026-11-21\nskip_specs: true\n" {
		t.Errorf("metadata of a change whose schema has no specs: %q", got)
	}
	write(t, root, "schemas/own/schema.yaml", "name: own\n")
	if _, err := edit.CreateChange(open(root), edit.CreateRequest{Name: "add-w"}); err == nil || !strings.HasPrefix(err.Error(), "Invalid schema at ") {
		t.Errorf("CreateChange with an invalid schema: %v", err)
	}
}

func TestFailedInitOrNewChangeLeavesNothing(t *testing.T) {
	for _, what := range []func(p *project.Project) error{
		func(p *project.Project) error { _, err := edit.Init(p, nil); return err },
		func(p *project.Project) error {
			_, err := edit.CreateChange(p, edit.CreateRequest{Name: "add-x", Description: "d"})
			return err
		},
	} {
		operations := 0
		faultfs.Each(filesystem.OS{}, faultfs.Fail, func(f *faultfs.FS) {
			root := t.TempDir()
			err := what(&project.Project{Files: f, Cwd: root, Top: root, Now: day})
			operations = f.Count()
			tree := readTree(t, root)
			if f.Reached() && strings.HasPrefix(f.Operations()[f.At-1], "link ") {
				return // the operation succeeds, because a copy replaces the hard link that cannot be created
			}
			if (err != nil) != f.Reached() || err != nil && len(tree) != 1 {
				t.Errorf("failure of operation %d (%v): the files %q are left", f.At, err, tree)
			}
		})
		if operations < 8 {
			t.Errorf("only %d operations were counted", operations)
		}
	}
}
