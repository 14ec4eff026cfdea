package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/scratch"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

// TestSnapshotsAreBounded takes snapshots of what a module may have left: the files are sparse.
func TestSnapshotsAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		files []int64 // sizes
		want  string
	}{
		"a large file":             {[]int64{scratch.MaxBytes + 1}, "0: the files in the project and the home directory have more than 1024 MiB"},
		"large files together":     {[]int64{1, scratch.MaxBytes}, "1: the files in the project and the home directory have more than 1024 MiB"},
		"a file that does not end": {[]int64{1 << 40}, "have more than 1024 MiB"},
		"small files":              {[]int64{1, 2, 3}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := &places{dirs: map[string]string{"project": t.TempDir(), "home": t.TempDir()}}
			for i, size := range c.files {
				file := filepath.Join(p.dirs["project"], fmt.Sprint(i))
				if err := os.WriteFile(file, nil, 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Truncate(file, size); err != nil {
					t.Skipf("the file system has no room for a sparse file: %v", err)
				}
			}
			found, err := takeSnapshot(p)
			switch {
			case c.want != "":
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want %q", err, c.want)
				}
			case err != nil || len(found) != len(c.files):
				t.Errorf("got %d files, %v", len(found), err)
			}
		})
	}
}

func TestSnapshotsHaveBoundedNumbersOfFiles(t *testing.T) {
	testenv.All(t, "makes 100,000 files")
	p := &places{dirs: map[string]string{"project": t.TempDir(), "home": t.TempDir()}}
	first := filepath.Join(p.dirs["home"], "first")
	if err := os.WriteFile(first, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range scratch.MaxFiles {
		if err := os.Symlink("x", filepath.Join(p.dirs["home"], fmt.Sprint(i))); err != nil {
			t.Skipf("no symbolic links here: %v", err)
		}
	}
	if _, err := takeSnapshot(p); err == nil || !strings.Contains(err.Error(), "contain more than 100000 files") {
		t.Errorf("got %v", err)
	}
	if err := os.Remove(first); err != nil {
		t.Fatal(err)
	}
	if found, err := takeSnapshot(p); err != nil || len(found) != scratch.MaxFiles {
		t.Errorf("got %d files, %v", len(found), err)
	}
}
