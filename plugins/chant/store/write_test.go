package store

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// listing returns the paths of the files below a directory.
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

// writeToFullDisk fails after half of the content.
func writeToFullDisk(file *os.File, content string) error {
	if _, err := file.WriteString(content[:len(content)/2]); err != nil {
		return err
	}
	return syscall.ENOSPC
}

func sumOf(content string) Sum { return sha256.Sum256([]byte(content)) }

func TestReplace(t *testing.T) {
	t.Run("content changes, mode does not", func(t *testing.T) {
		root := tree(t, map[string]string{"a.md": "old"})
		path := filepath.Join(root, "a.md")
		if err := Replace(path, sumOf("old"), "new"); err != nil {
			t.Fatal(err)
		}
		checkFile(t, path, "new")
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
		if diff := cmp.Diff([]string{"a.md"}, listing(t, root)); diff != "" {
			t.Errorf("files left (-want +got)\n%s", diff)
		}
	})
	t.Run("a full disk leaves the old content", func(t *testing.T) {
		root := tree(t, map[string]string{"a.md": "old"})
		path := filepath.Join(root, "a.md")
		if err := replace(path, sumOf("old"), "much longer than before", writeToFullDisk); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("got %v", err)
		}
		checkFile(t, path, "old")
		if diff := cmp.Diff([]string{"a.md"}, listing(t, root)); diff != "" {
			t.Errorf("files left (-want +got)\n%s", diff)
		}
	})
	for name, now := range map[string]string{"longer": "old and more", "shorter": "o", "equally long": "odd"} {
		t.Run("a file changed to "+name+" content is not overwritten", func(t *testing.T) {
			root := tree(t, map[string]string{"a.md": "old"})
			path := filepath.Join(root, "a.md")
			changeFile := func(file *os.File, content string) error {
				return errors.Join(os.WriteFile(path, []byte(now), 0o600), writeSynced(file, content))
			}
			if err := replace(path, sumOf("old"), "new", changeFile); !errors.Is(err, ErrChanged) {
				t.Errorf("got %v, want ErrChanged", err)
			}
			checkFile(t, path, now)
			if diff := cmp.Diff([]string{"a.md"}, listing(t, root)); diff != "" {
				t.Errorf("files left (-want +got)\n%s", diff)
			}
		})
	}
	t.Run("a removed file is not created again", func(t *testing.T) {
		root := tree(t, map[string]string{"b.md": ""})
		if err := Replace(filepath.Join(root, "a.md"), Sum{}, "new"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v", err)
		}
	})
}

func TestCreate(t *testing.T) {
	noLinks := func(string, string) error { return syscall.ENOTSUP }
	for name, link := range map[string]func(string, string) error{"with hard links": os.Link, "without hard links": noLinks} {
		t.Run(name, func(t *testing.T) {
			root := tree(t, map[string]string{"taken.md": "old"})
			if err := create(filepath.Join(root, "new.md"), "text", writeSynced, link); err != nil {
				t.Fatal(err)
			}
			checkFile(t, filepath.Join(root, "new.md"), "text")
			taken := filepath.Join(root, "taken.md")
			if err := create(taken, "text", writeSynced, link); !errors.Is(err, fs.ErrExist) {
				t.Errorf("an existing file: got %v", err)
			}
			checkFile(t, taken, "old")
			if err := create(filepath.Join(root, "full.md"), "text", writeToFullDisk, link); !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("a full disk: got %v", err)
			}
			if diff := cmp.Diff([]string{"new.md", "taken.md"}, listing(t, root)); diff != "" {
				t.Errorf("files left (-want +got)\n%s", diff)
			}
		})
	}
	t.Run("a disk that fills up before the fallback leaves no file", func(t *testing.T) {
		root := t.TempDir()
		calls := 0
		later := func(file *os.File, content string) error {
			if calls++; calls > 1 {
				return writeToFullDisk(file, content)
			}
			return writeSynced(file, content)
		}
		if err := create(filepath.Join(root, "a.md"), "text", later, noLinks); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("got %v", err)
		}
		if names := listing(t, root); len(names) != 0 {
			t.Errorf("files left: %v", names)
		}
	})
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
	noLinks := func(string, string) error { return syscall.ENOTSUP }
	for ways, link := range map[string]func(string, string) error{"with hard links": os.Link, "without hard links": noLinks} {
		for _, test := range tests {
			t.Run(ways+"/"+test.name, func(t *testing.T) {
				root := tree(t, test.files)
				err := move(filepath.Join(root, "a.md"), filepath.Join(root, "archive", "day", "a.md"), sumOf(test.before), link)
				if !errors.Is(err, test.want) {
					t.Errorf("got %v, want %v", err, test.want)
				}
				checkTree(t, root, test.left)
			})
		}
	}
}

func TestInterruptedMove(t *testing.T) {
	interrupted := errors.New("interrupted")
	// attempt moves a.md; link may interrupt it by a panic.
	attempt := func(root string, link func(from, to string) error) (err error) {
		defer func() {
			if got := recover(); got != nil {
				err = got.(error)
			}
		}()
		return move(filepath.Join(root, "a.md"), filepath.Join(root, "archive", "a.md"), sumOf("x"), link)
	}
	t.Run("after the link both files are complete, and the next move finishes", func(t *testing.T) {
		root := tree(t, map[string]string{"a.md": "x"})
		err := attempt(root, func(from, to string) error {
			if err := os.Link(from, to); err != nil {
				return err
			}
			panic(interrupted)
		})
		if !errors.Is(err, interrupted) {
			t.Fatal(err)
		}
		checkTree(t, root, map[string]string{"a.md": "x", "archive/a.md": "x"})
		if err := attempt(root, os.Link); err != nil {
			t.Error(err)
		}
		checkTree(t, root, map[string]string{"archive/a.md": "x"})
	})
	t.Run("a concurrent change of the file is kept", func(t *testing.T) {
		root := tree(t, map[string]string{"a.md": "x"})
		err := attempt(root, func(from, to string) error {
			// Editors save by replacing the file.
			err := os.Link(from, to)
			return errors.Join(err, os.Remove(from), os.WriteFile(from, []byte("theirs"), 0o600))
		})
		if !errors.Is(err, ErrChanged) {
			t.Errorf("got %v, want ErrChanged", err)
		}
		checkTree(t, root, map[string]string{"a.md": "theirs"})
	})
	t.Run("a concurrent move that finishes first is a success", func(t *testing.T) {
		root := tree(t, map[string]string{"a.md": "x"})
		err := attempt(root, func(from, to string) error {
			return errors.Join(os.Link(from, to), os.Remove(from))
		})
		if err != nil {
			t.Error(err)
		}
		checkTree(t, root, map[string]string{"archive/a.md": "x"})
	})
}

// checkTree compares all files below root.
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
