// Package realdata finds, for tests, data of the real system where it lies beside the repository.
package realdata

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Path returns the path of a file or folder of the real data. The test is skipped where there is none.
func Path(t testing.TB, parts ...string) string {
	t.Helper()
	root := filepath.Join(moduleRoot(t), "..", "shared", "fixtures", "aam")
	if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
		t.Skipf("NOT TESTED on real data: there is no folder %s", root)
	}
	return filepath.Join(append([]string{root}, parts...)...)
}

// Read returns what is in a file of the real data.
func Read(t testing.TB, parts ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(Path(t, parts...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Recorded decodes a table of recorded answers.
func Recorded(t testing.TB, file string, into any) {
	t.Helper()
	if err := json.Unmarshal(Read(t, "constructed", "recorded", file), into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func moduleRoot(t testing.TB) string {
	t.Helper()
	at, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at
		}
		parent := filepath.Dir(at)
		if parent == at {
			t.Fatal("no go.mod above the test")
		}
		at = parent
	}
}
