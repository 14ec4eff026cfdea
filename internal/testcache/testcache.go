// Package testcache keeps go test from giving the cached result of a test that runs what it has built itself:
// of the code in that, go test knows nothing.
package testcache

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// DependOn makes the result depend on all that is in the module's folders: go test notes what a test lists, and
// compares names, sizes and times. It has to be called while a test runs; before that nothing is noted.
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
