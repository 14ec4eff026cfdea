//go:build unix

package grants

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestExtentOfDirectories(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{"two/a", "two/b", "nested/x/y/file", "empty"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(path)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, path), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "linked"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir, filepath.Join(dir, "linked/above")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"two": "2 files", "nested": "1 file in 3 directories", "linked": "1 file", "fifo": "", "absent": "", ".": "6 files in 6 directories"} {
		if got := newExtents().of(t.Context(), filepath.Join(dir, path)).String(); got != want {
			t.Errorf("%s has %q, want %q", path, got, want)
		}
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if got := newExtents().of(stopped, dir); got.Files > 0 {
		t.Errorf("for a page that nobody waits for: %v", got)
	}
}

func TestExtentIsBounded(t *testing.T) {
	dir := t.TempDir()
	for i := range maxCounted + 1 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	counted := newExtents()
	if got := counted.of(t.Context(), dir); got != (Extent{Files: maxCounted, More: true}) || got.String() != fmt.Sprintf("more than %d files", maxCounted) {
		t.Errorf("got %q", got)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if got := counted.of(t.Context(), dir); got.Files != maxCounted {
		t.Errorf("a directory that several plugins are granted is counted again: %q", got)
	}
}

func TestBreadthInWords(t *testing.T) {
	for want, b := range map[string]Breadth{
		"nothing": {},
		"3 tools": {Tools: 3},
		"1 tool, of which 1 write; 2 directories, of which 1 writable; 1 repository; 2 web servers": {Tools: 1, Writing: 1, Directories: 2, Writable: 1, Repositories: 1, Origins: 2},
	} {
		if got := b.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
