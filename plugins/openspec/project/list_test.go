package project_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/check"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/view"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

func TestListRoundsTimesToMilliseconds(t *testing.T) {
	root := t.TempDir()
	write(t, root, "changes/x/proposal.md", "# x\n")
	for nanoseconds, want := range map[int]string{
		0: "2026-01-01T00:00:00.000Z", 499_000: "2026-01-01T00:00:00.000Z", 500_000: "2026-01-01T00:00:00.001Z", 999_600_000: "2026-01-01T00:00:01.000Z",
		499_999: "2026-01-01T00:00:00.001Z", // a floating-point number with 53 bits cannot distinguish this time from that with 500,000 nanoseconds
	} {
		setTime(t, filepath.Join(root, "openspec/changes/x/proposal.md"), start.Add(time.Duration(nanoseconds)))
		list, err := view.ListChanges(open(root), view.ByTime)
		if err != nil || list.Changes[0].LastModified != want {
			t.Errorf("ListChanges for a time with %d ns: %+v, %v", nanoseconds, list, err)
		}
	}
}

// vanishing is a file system that removes the directory "gone" as soon as the directory "listed" has been read.
type vanishing struct {
	filesystem.OS
	listed, gone string
}

func (v vanishing) ReadDir(path string) ([]fs.DirEntry, error) {
	entries, err := v.OS.ReadDir(path)
	if path == v.listed {
		err = os.RemoveAll(v.gone)
	}
	return entries, err
}

// TestListsOmitRemovedItems removes an item of each list. It removes the item after the item's directory, or the parent
// of that directory, has been read.
func TestListsOmitRemovedItems(t *testing.T) {
	for _, test := range []struct{ list, gone, inside string }{
		{"changes", "changes/b", ""},
		{"changes", "changes/b", "specs"},
		{"changes", "changes/b", "specs/c"},
		{"archived", "changes/archive/b", ""},
		{"specs", "specs/b", ""},
	} {
		root := t.TempDir()
		for _, name := range []string{"a", "b"} {
			write(t, root, "changes/"+name+"/tasks.md", "- [ ] t\n")
			write(t, root, "changes/"+name+"/specs/c/spec.md", "## ADDED Requirements\n"+requires("N", "n"))
			write(t, root, "changes/archive/"+name+"/tasks.md", "- [ ] t\n")
			write(t, root, "specs/"+name+"/spec.md", "# t\n\n## Purpose\nx\n\n## Requirements\n"+requires("R", "r"))
		}
		listed := filepath.Join(root, "openspec", filepath.Dir(test.gone))
		if test.inside != "" {
			listed = filepath.Join(root, "openspec", test.gone, test.inside)
		}
		p := open(root)
		p.Files = vanishing{listed: listed, gone: filepath.Join(root, "openspec", test.gone)}
		var names []string
		switch test.list {
		case "changes":
			list, err := view.ListChanges(p, view.ByName)
			if err != nil {
				t.Fatal(err)
			}
			for _, item := range list.Changes {
				names = append(names, item.Name)
			}
		case "archived":
			list, err := view.ListArchived(p)
			if err != nil {
				t.Fatal(err)
			}
			for _, item := range list.Archived {
				names = append(names, item.Name)
			}
		case "specs":
			// ListSpecs reads each directory to find specs, so the file system removes the last directory after
			// ListSpecs has read it.
			p.Files = vanishing{listed: filepath.Join(root, "openspec/specs/b"), gone: filepath.Join(root, "openspec/specs/b")}
			list, err := view.ListSpecs(p)
			if err != nil {
				t.Fatal(err)
			}
			for _, item := range list.Specs {
				names = append(names, item.ID)
			}
		}
		if diff := cmp.Diff([]string{"a"}, names); diff != "" {
			t.Errorf("%+v (-want +got)\n%s", test, diff)
		}
	}
}

func TestValidationOmitsRemovedItems(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"a", "b"} {
		write(t, root, "changes/"+name+"/proposal.md", "# x\n")
	}
	p := open(root)
	p.Files = vanishing{listed: filepath.Join(root, "openspec/changes"), gone: filepath.Join(root, "openspec/changes/b")}
	report, err := check.Run(p, check.Request{})
	if err != nil || len(report.Items) != 1 || report.Items[0].ID != "a" {
		t.Errorf("%+v, %v", report, err)
	}
}
