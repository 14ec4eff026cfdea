package project_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/address"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/edit"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/project"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/view"
)

func TestLinksOutOfProjectAreNotFollowed(t *testing.T) {
	root := branch(t)
	secret := filepath.Join(t.TempDir(), "spec.md")
	if err := os.WriteFile(secret, []byte("# s\n\n## Purpose\nsecret\n\n## Requirements\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	write(t, root, "specs/evil/notes.md", "x")
	write(t, root, "specs/inside/real.md", "# s\n\n## Purpose\ninside\n\n## Requirements\n")
	open0 := filepath.Join(root, "openspec")
	for link, target := range map[string]string{
		"specs/evil/spec.md":   secret,
		"specs/inside/spec.md": "real.md",
		"specs/linked":         filepath.Dir(secret),
		"changes/linked":       filepath.Join(open0, "changes", "tidy"),
		"project.md":           secret,
	} {
		if err := os.Symlink(target, filepath.Join(open0, link)); err != nil {
			t.Fatal(err)
		}
	}
	ids, err := view.SpecIDs(open(root))
	if want := []string{"desk/opening-hours", "inside", "lending"}; err != nil || !slices.Equal(ids, want) {
		t.Errorf("the listed specs are %q, %v", ids, err)
	}
	for _, id := range []string{"evil", "linked"} {
		if _, err := view.Show(open(root), view.ShowRequest{Name: id, Kind: project.KindSpec}); code(t, err) != "show_error" {
			t.Errorf("Show of the linked spec %s: %v", id, err)
		}
		if _, err := view.Read(open(root), address.Address{In: address.Specs, Name: id}); !errors.Is(err, view.ErrNoResource) {
			t.Errorf("Read of the linked spec %s: %v", id, err)
		}
	}
	if _, err := view.Read(open(root), address.Address{In: address.Project}); !errors.Is(err, view.ErrNoResource) {
		t.Errorf("reading project.md through a symbolic link: %v", err)
	}
	if _, err := edit.Archive(open(root), edit.ArchiveRequest{Name: "linked"}); code(t, err) != "archive_change_symlink" {
		t.Errorf("Archive returned %v", err)
	}
}

// TestArchiveWritesThroughNoLink checks that an archive changes neither a symbolic link nor the target of the link. A
// main spec whose path contains a symbolic link is not read, so a merge treats the spec as new.
func TestArchiveWritesThroughNoLink(t *testing.T) {
	const delta = "## ADDED Requirements\n\n### Requirement: New\nIt SHALL be.\n\n#### Scenario: S\n- **WHEN** a\n- **THEN** b\n"
	for name, test := range map[string]struct{ link, target string }{
		"a folder, in the project":       {"openspec/specs/evil", "../../elsewhere"},
		"a folder, out of it":            {"openspec/specs/evil", "OUTSIDE"},
		"an outer folder":                {"openspec/specs/a", "../../elsewhere"},
		"a spec, in its own folder":      {"openspec/specs/evil/spec.md", "real.md"},
		"a spec, out of its folder":      {"openspec/specs/evil/spec.md", "../../../elsewhere/spec.md"},
		"a spec, out of the project":     {"openspec/specs/evil/spec.md", "OUTSIDE/spec.md"},
		"a spec, to nothing":             {"openspec/specs/evil/spec.md", "gone.md"},
		"the archive, out":               {"openspec/changes/archive", "OUTSIDE"},
		"the archive, to nothing":        {"openspec/changes/archive", "../gone"},
		"the specs, out":                 {"openspec/specs", "OUTSIDE"},
		"a folder with the spec's name":  {"openspec/specs/evil/spec.md", ""},
		"a file with the folder's name":  {"openspec/specs/evil", "FILE"},
		"a file, in the outer one's way": {"openspec/specs/a", "FILE"},
	} {
		t.Run(name, func(t *testing.T) {
			root, outside := t.TempDir(), t.TempDir()
			write(t, root, "../elsewhere/spec.md", "precious")
			write(t, root, "changes/evil/specs/evil/spec.md", delta)
			write(t, root, "changes/evil/specs/a/b/spec.md", delta)
			if test.link != "openspec/specs" {
				write(t, root, "specs/other/spec.md", "# other\n")
			}
			if err := os.WriteFile(filepath.Join(outside, "spec.md"), []byte("precious"), 0o644); err != nil {
				t.Fatal(err)
			}
			place(t, filepath.Join(root, test.link), strings.ReplaceAll(test.target, "OUTSIDE", outside))
			before, beforeOutside := withLinks(t, root), withLinks(t, outside)
			_, err := edit.Archive(open(root), edit.ArchiveRequest{Name: "evil"})
			if got := code(t, err); got != "archive_path_outside_root" {
				t.Errorf("got %q: %v", got, err)
			}
			if diff := cmp.Diff(before, withLinks(t, root)); diff != "" {
				t.Errorf("the project (-before +after)\n%s", diff)
			}
			if diff := cmp.Diff(beforeOutside, withLinks(t, outside)); diff != "" {
				t.Errorf("outside of it (-before +after)\n%s", diff)
			}
		})
	}
}

// place creates a symbolic link to target at path. For the target "FILE" it creates a file, and for "" a directory.
func place(t *testing.T, path, target string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	switch {
	case err != nil:
	case target == "":
		err = os.Mkdir(path, 0o755)
	case target == "FILE":
		err = os.WriteFile(path, nil, 0o644)
	default:
		err = os.Symlink(target, path)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// withLinks returns the content of each file and the target of each symbolic link below root. The keys are paths.
func withLinks(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch {
		case entry.IsDir():
			all[path] = "folder"
		case entry.Type()&os.ModeSymlink != 0:
			all[path], err = os.Readlink(path)
		default:
			var content []byte
			content, err = os.ReadFile(path)
			all[path] = "file: " + string(content)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestLinkOutOfProjectIsNotRoot(t *testing.T) {
	outside, root := branch(t), t.TempDir()
	if err := os.Symlink(filepath.Join(outside, "openspec"), filepath.Join(root, "openspec")); err != nil {
		t.Fatal(err)
	}
	if _, err := view.ListSpecs(open(root)); code(t, err) != "no_openspec_root" {
		t.Errorf("got %v", err)
	}
	before := readTree(t, outside)
	if _, err := edit.CreateChange(open(root), edit.CreateRequest{Name: "add-x"}); code(t, err) != "change_error" {
		t.Errorf("got %v", err)
	}
	sameTree(t, before, readTree(t, outside))
}

// TestNextWriteRemovesTemporaryFiles checks that the next call that writes removes the temporary files of killed calls,
// and no other files.
func TestNextWriteRemovesTemporaryFiles(t *testing.T) {
	root := branch(t)
	for _, dir := range []string{"", "specs/", "changes/", "changes/archive/"} {
		write(t, root, dir+".openspec-0123456789.tmp", "half a file")
		write(t, root, dir+".openspec-other", "x")
	}
	write(t, root, "changes/.openspec-42.tmp/proposal.md", "half a change")
	if _, err := edit.CreateChange(open(root), edit.CreateRequest{Name: "add-y"}); err != nil {
		t.Fatal(err)
	}
	others := 0
	for name := range readTree(t, root) {
		if strings.Contains(name, ".tmp") {
			t.Errorf("the temporary file %s is left", name)
		}
		if strings.HasSuffix(name, ".openspec-other") {
			others++
		}
	}
	if others != 4 {
		t.Errorf("%d other files are left, want 4", others)
	}
}
