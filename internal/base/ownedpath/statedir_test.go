package ownedpath_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/ownedpath"
)

func TestCheckStateRefusesNewerFormats(t *testing.T) {
	for content, newer := range map[string]bool{"": true, "1": false, "1\n": false, "0\n": false, "2\n": true, "10": true, "two": true} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, ".format"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		err := ownedpath.CheckState(dir)
		if failed := (*ownedpath.NewerError)(nil); errors.As(err, &failed) != newer || newer != (err != nil) {
			t.Errorf("%q: got %v", content, err)
		}
	}
	for _, dir := range []string{t.TempDir(), filepath.Join(t.TempDir(), "absent")} {
		if err := ownedpath.CheckState(dir); err != nil {
			t.Errorf("without a marker: %v", err)
		}
	}
}
