package testcache

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// DependOn makes the cached result of the current test depend on all files below root: go test records the directories
// that a test lists, and compares names, sizes and times. A test needs it that has the go command build sources of this repository;
// for what this package builds, the result depends on the sources already.
func DependOn(t testing.TB, root string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() || path == root {
			return err
		}
		if strings.HasPrefix(entry.Name(), ".") || slices.Contains([]string{"dist", "docs"}, entry.Name()) {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
