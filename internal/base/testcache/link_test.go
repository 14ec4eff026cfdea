package testcache

import (
	"os"
	"path/filepath"
	"testing"
)

// TestLinkedDirectoriesAreComplete reads a directory while it is linked, by several at the same time.
func TestLinkedDirectoriesAreComplete(t *testing.T) {
	from, to := filepath.Join(t.TempDir(), "from"), filepath.Join(t.TempDir(), "cache", "to")
	for _, name := range []string{"a/entry/1", "a/entry/2", "a/entry/deep/3", "b"} {
		name = filepath.Join(from, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(name), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	ended := make(chan error)
	for range 4 {
		go func() { ended <- Link(to, from) }()
	}
	for linking := 4; linking > 0; {
		select {
		case err := <-ended:
			if linking--; err != nil {
				t.Error(err)
			}
		default:
		}
		if found, err := os.ReadDir(filepath.Join(to, "a/entry")); err == nil && len(found) != 3 {
			t.Fatalf("an incomplete directory has %v", found)
		}
	}
	if text, err := os.ReadFile(filepath.Join(to, "a/entry/deep/3")); err != nil || string(text) != filepath.Join(from, "a/entry/deep/3") {
		t.Errorf("got %q, %v", text, err)
	}
	if left, err := os.ReadDir(filepath.Dir(to)); err != nil || len(left) != 1 {
		t.Errorf("these are left: %v, %v", left, err)
	}
	if err := os.WriteFile(filepath.Join(from, "c"), nil, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := Link(to, from); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(filepath.Join(to, "a")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the directory has the mode %v, %v", info.Mode(), err)
	}
	if _, err := os.Stat(filepath.Join(to, "c")); err != nil {
		t.Error(err)
	}
}
