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

func TestMove(t *testing.T) {
	tests := []struct {
		name   string
		files  map[string]string
		before string
		want   error
		left   map[string]string
	}{
		{"into a new directory", map[string]string{"a.md": "x"}, "x", nil, map[string]string{"archive/day/a.md": "x"}},
		{
			"an existing file is not replaced", map[string]string{"a.md": "x", "archive/day/a.md": "y"}, "x",
			fs.ErrExist, map[string]string{"a.md": "x", "archive/day/a.md": "y"},
		},
		{
			"an empty file left by an interrupted move is replaced",
			map[string]string{"a.md": "x", "archive/day/a.md": ""}, "x", nil, map[string]string{"archive/day/a.md": "x"},
		},
		{"a changed file is not moved", map[string]string{"a.md": "z"}, "x", ErrChanged, map[string]string{"a.md": "z"}},
		{
			"a changed file is not moved after an interrupted move",
			map[string]string{"a.md": "z", "archive/day/a.md": ""}, "x", ErrChanged, map[string]string{"a.md": "z", "archive/day/a.md": ""},
		},
		{"a removed file is not moved", map[string]string{"b.md": "x"}, "x", ErrChanged, map[string]string{"b.md": "x"}},
	}
	for ways, noLinks := range map[string]bool{"with hard links": false, "without hard links": true} {
		for _, test := range tests {
			t.Run(ways+"/"+test.name, func(t *testing.T) {
				root := testenv.Tree(t, test.files)
				fsys := &faultfs.FS{FS: filesystem.OS{}, NoLinks: noLinks}
				err := move(filepath.Join(root, "a.md"), filepath.Join(root, "archive", "day", "a.md"), sumOf([]byte(test.before)), fsys)
				if !errors.Is(err, test.want) {
					t.Errorf("got %v, want %v", err, test.want)
				}
				checkTree(t, root, test.left)
			})
		}
	}
}

func TestInterruptedMove(t *testing.T) {
	for _, mode := range faultfs.Modes {
		for _, noLinks := range []bool{false, true} {
			faultfs.Each(filesystem.OS{}, mode, func(f *faultfs.FS) {
				f.NoLinks = noLinks
				root := testenv.Tree(t, map[string]string{"a.md": "x"})
				from, to := filepath.Join(root, "a.md"), filepath.Join(root, "archive", "a.md")
				_ = move(from, to, sumOf([]byte("x")), f)
				if _, err := os.Lstat(from); err == nil {
					checkFile(t, from, "x")
					if err := Move(from, to, sumOf([]byte("x"))); err != nil {
						t.Errorf("the Move after the interrupted one: %v", err)
					}
				}
				checkTree(t, root, map[string]string{"archive/a.md": "x"})
				if t.Failed() {
					t.Fatalf("%s, no links: %t, operations %v", mode, noLinks, f.Operations())
				}
			})
		}
	}
}

func TestMoveWithConcurrentChange(t *testing.T) {
	// moveDuring runs Move, and calls change while the file is at both paths.
	moveDuring := func(root string, change func(from string) error) error {
		from, archive := filepath.Join(root, "a.md"), filepath.Join(root, "archive")
		return move(from, filepath.Join(archive, "a.md"), sumOf([]byte("x")), &faultfs.FS{FS: filesystem.OS{}, Before: func(operation, path string) {
			if operation == "sync directory" && path == archive {
				if err := change(from); err != nil {
					t.Error(err)
				}
			}
		}})
	}
	t.Run("a concurrent change of the file is kept", func(t *testing.T) {
		root := testenv.Tree(t, map[string]string{"a.md": "x"})
		err := moveDuring(root, func(from string) error {
			// The test replaces the file as an editor does when it saves the file.
			return errors.Join(os.Remove(from), os.WriteFile(from, []byte("theirs"), 0o600))
		})
		if !errors.Is(err, ErrChanged) {
			t.Errorf("got %v, want ErrChanged", err)
		}
		checkTree(t, root, map[string]string{"a.md": "theirs"})
	})
	t.Run("a concurrent move that finishes first is a success", func(t *testing.T) {
		root := testenv.Tree(t, map[string]string{"a.md": "x"})
		if err := moveDuring(root, os.Remove); err != nil {
			t.Error(err)
		}
		checkTree(t, root, map[string]string{"archive/a.md": "x"})
	})
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
