package userfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
)

func TestReplaceKeepsLinkAndMode(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(file, []byte("old"), 0o600), os.Chmod(file, 0o640), os.Symlink("file", link)); err != nil {
		t.Fatal(err)
	}
	f, err := Read(link, os.ReadFile)
	if err != nil || !f.Exists || string(f.Data) != "old" {
		t.Fatalf("got %+v, %v", f, err)
	}
	for _, content := range []string{"new", "newer"} {
		if err := f.Replace([]byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file)
		if got, rerr := os.ReadFile(file); string(got) != content || rerr != nil || err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("got %q, %v, %v, %v", got, rerr, info, err)
		}
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the symbolic link was replaced: got %v, %v", info, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("the directory contains %v, %v; want the file and the link only", entries, err)
	}
}

func TestReplaceRefusesChangedFile(t *testing.T) {
	for name, change := range map[string]func(file string) error{
		"content": func(file string) error { return os.WriteFile(file, []byte("theirs"), 0o600) },
		"removed": os.Remove,
		"a link":  func(file string) error { return errors.Join(os.Remove(file), os.Symlink(file+"2", file)) },
	} {
		file := filepath.Join(t.TempDir(), "file")
		if err := errors.Join(os.WriteFile(file, []byte("old"), 0o600), os.WriteFile(file+"2", []byte("old"), 0o600)); err != nil {
			t.Fatal(err)
		}
		f, err := Read(file, os.ReadFile)
		if err != nil {
			t.Fatal(err)
		}
		if err := change(file); err != nil {
			t.Fatal(err)
		}
		before, _ := os.ReadFile(file)
		err = f.Replace([]byte("ours"), 0o600)
		if usage := (*usage.Error)(nil); !errors.As(err, &usage) || !strings.Contains(err.Error(), "has changed since it was read") {
			t.Errorf("%s: Replace after the file has changed: got %v", name, err)
		}
		if after, _ := os.ReadFile(file); string(after) != string(before) {
			t.Errorf("%s: Replace changed the file to %q", name, after)
		}
	}
}

// TestCommitDoesNotReplaceFileCreatedMeanwhile creates the file after the last check.
func TestCommitDoesNotReplaceFileCreatedMeanwhile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	checks := 0
	f, err := Read(file, os.ReadFile)
	if err != nil || f.Exists {
		t.Fatalf("got %+v, %v", f, err)
	}
	f.afterCheck = func() {
		if checks++; checks == 2 {
			if err := os.WriteFile(file, []byte("theirs"), 0o600); err != nil {
				t.Error(err)
			}
		}
	}
	if err := f.Replace([]byte("ours"), 0o600); err == nil || !strings.Contains(err.Error(), "has changed since it was read") {
		t.Errorf("got %v", err)
	}
	if got, err := os.ReadFile(file); string(got) != "theirs" {
		t.Errorf("the file contains %q, %v; want theirs", got, err)
	}
}

func TestReadRefusesDanglingLink(t *testing.T) {
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("nowhere", link); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(link, os.ReadFile); err == nil || err.Error() != link+" is a dangling symbolic link: remove it" {
		t.Errorf("got %v", err)
	}
}

// TestReplaceRemovesWhatKilledProcessesLeft has two temporary files, one of which another process may still write.
func TestReplaceRemovesWhatKilledProcessesLeft(t *testing.T) {
	dir := t.TempDir()
	for name, age := range map[string]time.Duration{".bulkhead-0123.tmp": 2 * time.Hour, ".bulkhead-4567.tmp": 0, ".other-0123.tmp": 2 * time.Hour} {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Chtimes(file, time.Time{}, time.Now().Add(-age))); err != nil {
			t.Fatal(err)
		}
	}
	f, err := Read(filepath.Join(dir, "bulkhead.toml"), os.ReadFile)
	if err == nil {
		err = f.Replace([]byte("x"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{".bulkhead-4567.tmp", ".other-0123.tmp", "bulkhead.toml"}; !slices.Equal(names, want) {
		t.Errorf("the directory has %q, want %q", names, want)
	}
}
