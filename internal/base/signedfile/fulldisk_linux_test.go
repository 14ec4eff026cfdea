package signedfile

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

// TestFullDiskKeepsNewestFile fetches a newer file to a real file system, which is full, and again when there is space.
func TestFullDiskKeepsNewestFile(t *testing.T) {
	disk := testenv.SmallDisk(t, "128k")
	d := Dir{Path: filepath.Join(disk, "lists")}
	key := newKey(t)
	old, next := signed(t, key, 1, "old"), signed(t, key, 2, strings.Repeat("x", 90<<10))
	if err := put(t, d, key.Public(), old); err != nil {
		t.Fatal(err)
	}
	fill := filepath.Join(disk, "fill")
	if err := os.WriteFile(fill, make([]byte, 64<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := put(t, d, key.Public(), next); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %v, want %v", err, syscall.ENOSPC)
	}
	if got, err := d.Read(from, key.Public()); err != nil || !bytes.Equal(got.Content, old.Content) {
		t.Errorf("got %+v, %v", got, err)
	}
	if entries, err := os.ReadDir(d.Path); err != nil || len(entries) != 2 {
		t.Errorf("there are %v, %v", entries, err)
	}
	if err := os.Remove(fill); err != nil {
		t.Fatal(err)
	}
	if err := put(t, d, key.Public(), next); err != nil {
		t.Error(err)
	}
}
