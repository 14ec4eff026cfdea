package workflow_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestArchive(t *testing.T) {
	completed := spec("completed", "# T")
	tests := []struct {
		name string
		dir  files
		id   string
		want string
		left files // the expected files after the call; nil if the call changes no file
	}{
		{
			"to the directory of its date",
			files{"specs/2026-02-03-001-abc.md": completed, "specs/2026-02-04-001-xyz.md": completed}, "abc",
			"Archived spec: 2026-02-03-001-abc -> .chant/archive/2026-02-03/2026-02-03-001-abc.md",
			files{"archive/2026-02-03/2026-02-03-001-abc.md": completed, "specs/2026-02-04-001-xyz.md": completed},
		},
		{
			"each date has a directory",
			files{"archive/2026-02-03/2026-02-03-001-abc.md": completed, "specs/2026-02-04-001-xyz.md": completed}, "xyz",
			"Archived spec: 2026-02-04-001-xyz -> .chant/archive/2026-02-04/2026-02-04-001-xyz.md",
			files{"archive/2026-02-03/2026-02-03-001-abc.md": completed, "archive/2026-02-04/2026-02-04-001-xyz.md": completed},
		},
		{
			"a pending spec is not archived",
			files{"specs/a.md": spec("pending", "# T")}, "a",
			"! Spec 'a' must be completed to archive (current: Pending)", nil,
		},
		{
			"an id shorter than a date is its own directory",
			files{"specs/001-x.md": completed}, "001-x",
			"Archived spec: 001-x -> .chant/archive/001-x/001-x.md",
			files{"archive/001-x/001-x.md": completed},
		},
		{
			"an id is cut between characters",
			files{"specs/éééééééééééé.md": completed}, "é",
			"Archived spec: éééééééééééé -> .chant/archive/éééééééééé/éééééééééééé.md",
			files{"archive/éééééééééé/éééééééééééé.md": completed},
		},
		{
			"a file in the archive is not overwritten",
			files{"specs/001-x.md": completed, "archive/001-x/001-x.md": "older"}, "001-x",
			"! spec '001-x' is not archived: .chant/archive/001-x/001-x.md already exists", nil,
		},
		{
			"an empty file in the archive, left by an interrupted move, is replaced",
			files{"specs/001-x.md": completed, "archive/001-x/001-x.md": ""}, "001-x",
			"Archived spec: 001-x -> .chant/archive/001-x/001-x.md",
			files{"archive/001-x/001-x.md": completed},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := newProject(t, test.dir)
			if got := answer(p.Archive(test.id)); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			want := test.left
			if want == nil {
				want = test.dir
			}
			if diff := cmp.Diff(want, contents(t, p)); diff != "" {
				t.Errorf("files (-want +got)\n%s", diff)
			}
		})
	}
	t.Run("an archive that links to outside the project is not used", func(t *testing.T) {
		p := newProject(t, files{"specs/a.md": completed})
		outside := t.TempDir()
		if err := os.Symlink(outside, filepath.Join(p.Dir.Root, ".chant", "archive")); err != nil {
			t.Skipf("symbolic links are not supported: %v", err)
		}
		if got := answer(p.Archive("a")); !strings.HasPrefix(got, "! .chant/archive is a symbolic link that points outside the project") {
			t.Error(got)
		}
		if left, err := os.ReadDir(outside); err != nil || len(left) != 0 {
			t.Errorf("files outside the project after Archive: %v, %v", left, err)
		}
	})
}
