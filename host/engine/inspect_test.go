package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestInspectCache(t *testing.T) {
	dir := t.TempDir()
	r, err := InspectCache(t.Context(), filepath.Join(dir, "none"))
	if err != nil || r.Modules != 0 || r.Size != 0 {
		t.Errorf("a cache that is not there: %+v, %v", r, err)
	}
	for _, name := range []string{"code-a", "code-b", ".new-1"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "code"), make([]byte, 1000), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"code-a", "code-b"} {
		if err := writeSums(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if r, err = InspectCache(t.Context(), dir); err != nil || r.Modules != 2 || len(r.Damaged) != 0 || r.Size < 3000 {
		t.Errorf("a sound cache: %+v, %v", r, err)
	}
	damaged := filepath.Join(dir, "code-b")
	if err := os.WriteFile(filepath.Join(damaged, "code"), make([]byte, 999), 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err = InspectCache(t.Context(), dir); err != nil || r.Modules != 2 || len(r.Damaged) != 1 || r.Damaged[0] != damaged {
		t.Errorf("a damaged cache: %+v, %v", r, err)
	}
	if _, err := os.Lstat(damaged); err != nil {
		t.Errorf("looking changed it: %v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := InspectCache(ended, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
}
