//go:build unix

package tests

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// testHook matches the use of a variable that only tests may set, in another package.
var testHook = regexp.MustCompile(`\.TestHook\b`)

func TestOnlyTestsUseTestHook(t *testing.T) {
	var users []string
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		if testHook.Match(source) {
			users = append(users, filepath.ToSlash(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"../tests/conformance/server.go"}; !slices.Equal(users, want) {
		t.Errorf("TestHook is used in %q, want only %q", users, want)
	}
}
