package store

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/archive"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

// TestFullDiskKeepsWhatIsThere adds a plugin to a store on a real file system, which is full, and again when there is space.
func TestFullDiskKeepsWhatIsThere(t *testing.T) {
	dir := testenv.SmallDisk(t, "256k")
	s := In(filepath.Join(dir, "plugins"))
	old := open(t, packed(t, "1.0.0"))
	if _, err := s.Add(t.Context(), old, origin); err != nil {
		t.Fatal(err)
	}
	before := names(t, s.Dir)
	fill := filepath.Join(dir, "fill")
	if err := os.WriteFile(fill, make([]byte, 100<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	text := make([]byte, 150<<10)
	for i := range text {
		text[i] = byte('a' + rand.IntN(26))
	}
	data := packed(t, "2.0.0", archive.File{Name: "README.md", Data: text})
	next := open(t, data)
	if _, err := s.Add(t.Context(), next, origin); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %v, want %v", err, syscall.ENOSPC)
	}
	if after := names(t, s.Dir); !slices.Equal(before, after) {
		t.Errorf("there were %q, and are %q", before, after)
	}
	if _, err := s.Plugin(next.Manifest.Digest); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a part of the plugin is there: %v", err)
	}
	if _, err := s.Plugin(old.Manifest.Digest); err != nil {
		t.Errorf("the version before is damaged: %v", err)
	}
	if err := os.Remove(fill); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Add(t.Context(), next, origin); err != nil {
		t.Error(err)
	}
	if got, _, err := s.Export(next.Manifest.Digest); err != nil || !bytes.Equal(got, data) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
}
