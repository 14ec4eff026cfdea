package store

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem/faultfs"
)

// listing returns the paths of all files below the directory root.
func listing(t *testing.T, root string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			name, _ := filepath.Rel(root, path)
			names = append(names, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestReplace(t *testing.T) {
	t.Run("content changes, mode does not", func(t *testing.T) {
		root := testenv.Tree(t, map[string]string{"a.md": "old"})
		path := filepath.Join(root, "a.md")
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Replace(path, sumOf([]byte("old")), "new"); err != nil {
			t.Fatal(err)
		}
		checkFile(t, path, "new")
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the file has the mode %v, %v", info.Mode(), err)
		}
		if diff := cmp.Diff([]string{"a.md"}, listing(t, root)); diff != "" {
			t.Errorf("files left (-want +got)\n%s", diff)
		}
	})
	t.Run("a full disk leaves the old content", func(t *testing.T) {
		root := testenv.Tree(t, map[string]string{"a.md": "old"})
		path := filepath.Join(root, "a.md")
		o := options
		o.FS = &faultfs.FS{FS: filesystem.OS{}, Mode: faultfs.Full, At: 1}
		if err := replace(path, sumOf([]byte("old")), "much longer than before", o); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("got %v", err)
		}
		checkFile(t, path, "old")
		if diff := cmp.Diff([]string{"a.md"}, listing(t, root)); diff != "" {
			t.Errorf("files left (-want +got)\n%s", diff)
		}
	})
	for name, now := range map[string]string{"longer": "old and more", "shorter": "o", "equally long": "odd"} {
		t.Run("a file changed to "+name+" content is not overwritten", func(t *testing.T) {
			root := testenv.Tree(t, map[string]string{"a.md": "old"})
			path := filepath.Join(root, "a.md")
			o := options
			o.FS = &faultfs.FS{FS: filesystem.OS{}, Before: func(operation, _ string) {
				if operation == "sync" { // the sync is the last operation before Replace checks the sum
					if err := os.WriteFile(path, []byte(now), 0o600); err != nil {
						t.Error(err)
					}
				}
			}}
			if err := replace(path, sumOf([]byte("old")), "new", o); !errors.Is(err, ErrChanged) {
				t.Errorf("got %v, want ErrChanged", err)
			}
			checkFile(t, path, now)
			if diff := cmp.Diff([]string{"a.md"}, listing(t, root)); diff != "" {
				t.Errorf("files left (-want +got)\n%s", diff)
			}
		})
	}
	t.Run("a removed file is not created again", func(t *testing.T) {
		root := testenv.Tree(t, map[string]string{"b.md": ""})
		if err := Replace(filepath.Join(root, "a.md"), 0, "new"); !errors.Is(err, ErrChanged) {
			t.Errorf("got %v", err)
		}
		if diff := cmp.Diff([]string{"b.md"}, listing(t, root)); diff != "" {
			t.Errorf("files left (-want +got)\n%s", diff)
		}
	})
}

func TestCreate(t *testing.T) {
	root := testenv.Tree(t, map[string]string{"taken.md": "old"})
	if err := Create(filepath.Join(root, "new.md"), "text"); err != nil {
		t.Fatal(err)
	}
	checkFile(t, filepath.Join(root, "new.md"), "text")
	taken := filepath.Join(root, "taken.md")
	if err := Create(taken, "text"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Create at the path of an existing file: got the error %v", err)
	}
	checkFile(t, taken, "old")
	if diff := cmp.Diff([]string{"new.md", "taken.md"}, listing(t, root)); diff != "" {
		t.Errorf("files left (-want +got)\n%s", diff)
	}
}

// checkTree compares the content of all files below root with want.
func checkTree(t *testing.T, root string, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	for _, name := range listing(t, root) {
		content, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		got[name] = string(content)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got)\n%s", diff)
	}
}

func checkFile(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, []byte(want)) {
		t.Errorf("%s holds %q, %v, want %q", filepath.Base(path), got, err, want)
	}
}
