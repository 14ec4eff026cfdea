package testenv

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// WriteFile writes a file, and creates the directories above it.
func WriteFile(t testing.TB, path, content string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// WriteFiles writes files below root. Their keys are paths with slashes. A path that ends in a slash is that of a directory. A content
// that begins with "-> " makes a symbolic link to what follows.
func WriteFiles(t testing.TB, root string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		target, isLink := strings.CutPrefix(content, "-> ")
		var err error
		switch {
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o755)
		case isLink:
			err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink(target, path))
		default:
			WriteFile(t, path, content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Tree returns the resolved path of a new directory with files, as WriteFiles writes them.
func Tree(t testing.TB, files map[string]string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	WriteFiles(t, root, files)
	return root
}

// ReadFiles returns the contents of all files below the directories in dirs. The keys are paths relative to root, with slashes.
func ReadFiles(t testing.TB, root string, dirs ...string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			name, _ := filepath.Rel(root, path)
			found[filepath.ToSlash(name)] = string(data)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}
