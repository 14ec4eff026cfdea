package archive_test

import (
	"archive/tar"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/archive"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
)

// opening is a file system that counts how often an archive is opened.
type opening struct {
	files.System
	opened *int
}

func (o opening) Open(path string) (io.ReadCloser, error) {
	if filepath.Ext(path) == ".aam" {
		*o.opened++
	}
	return o.System.Open(path)
}

// TestKeptArchivesAreReadOnce checks that CheckAndKeep and Check lead to the same extracted files. With CheckAndKeep,
// an archive is read only once if its content is not large.
func TestKeptArchivesAreReadOnce(t *testing.T) {
	large := []member{regular("large", strings.Repeat("0123456789abcdef", 1<<17))} // 2 MiB of content
	for i := range 17 {
		large = append(large, regular(fmt.Sprintf("large%d", i), large[0].text))
	}
	script := regular("a/run.sh", "#!\n")
	script.header.Mode = 0o755
	for name, c := range map[string]struct {
		members []member
		opened  int
	}{
		"small":     {pkg(regular("x", "1"), script), 1},
		"links":     {pkg(regular("x", "1"), regular("x", "2"), linked("y", "x", tar.TypeLink)), 1},
		"2 MiB":     {pkg(large[0]), 1},
		"too large": {pkg(large...), 2},
	} {
		t.Run(name, func(t *testing.T) {
			path := write(t, c.members)
			limits := archive.DefaultLimits()
			want, err := install(t, path, limits)
			if err != nil {
				t.Fatal(err)
			}
			opened := 0
			system := opening{disk, &opened}
			listing, err := archive.CheckAndKeep(system, path, "", limits)
			if err != nil {
				t.Fatal(err)
			}
			dir := filepath.Join(t.TempDir(), "out")
			if err := archive.Extract(system, path, dir, listing, limits); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, texts(t, dir)); diff != "" {
				t.Errorf("files (-Check +CheckAndKeep)\n%s", diff)
			}
			if opened != c.opened {
				t.Errorf("opened %d times, want %d", opened, c.opened)
			}
		})
	}
}

// TestKeptArchiveIsTheCheckedOne checks that an installation uses the content that was checked and kept, even if the
// file has changed since.
func TestKeptArchiveIsTheCheckedOne(t *testing.T) {
	limits := archive.DefaultLimits()
	listing, err := archive.CheckAndKeep(disk, write(t, pkg(regular("x", "1"))), "", limits)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "out")
	if err := archive.Extract(disk, write(t, pkg(regular("x", "2"))), dir, listing, limits); err != nil {
		t.Fatal(err)
	}
	if got := texts(t, dir)["x"]; got != "1" {
		t.Errorf("got %q", got)
	}
}
