package store

import (
	"os"
	"testing"
)

func symlink(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Skipf("symbolic links are not supported: %v", err)
	}
}
