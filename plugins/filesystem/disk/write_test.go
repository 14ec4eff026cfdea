package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestWriteRemovesTemporaryFilesOfKilledCalls has an old one, one that another process may be writing, and a file, a
// directory and a link of the user.
func TestWriteRemovesTemporaryFilesOfKilledCalls(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := Disk{
		Allowed:  []Directory{{dir, dir}},
		Mode:     func(string) (fs.FileMode, time.Time, error) { return 0o600, time.Time{}, nil },
		CopyMode: func(string, string) error { return nil },
	}
	old := time.Now().Add(-2 * time.Hour)
	for name, at := range map[string]time.Time{".filesystem-0011223344556677.tmp": old, ".filesystem-8899aabbccddeeff.tmp": time.Now(), ".filesystem-notes.tmp": old} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}
	directory, link := filepath.Join(dir, ".filesystem-ffffffffffffffff.tmp"), filepath.Join(dir, ".filesystem-eeeeeeeeeeeeeeee.tmp")
	if err := errors.Join(os.Mkdir(directory, 0o700), os.Symlink("a", link), os.WriteFile(filepath.Join(directory, "kept"), nil, 0o600), os.Chtimes(directory, old, old)); err != nil {
		t.Fatal(err)
	}
	if err := d.Write(filepath.Join(dir, "a"), "text"); err != nil {
		t.Fatal(err)
	}
	for name, kept := range map[string]bool{".filesystem-0011223344556677.tmp": false, ".filesystem-8899aabbccddeeff.tmp": true, ".filesystem-notes.tmp": true, "a": true,
		filepath.Base(directory) + "/kept": true, filepath.Base(link): true,
	} {
		if _, err := os.Lstat(filepath.Join(dir, name)); (err == nil) != kept {
			t.Errorf("%s is kept: %t", name, err == nil)
		}
	}
}
