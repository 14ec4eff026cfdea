//go:build unix

package filesystem_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

func TestReadFileDoesNotBlockOnPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := filesystem.ReadFile(filesystem.OS{}, path, 10); !errors.Is(err, filesystem.ErrNotRegular) {
		t.Errorf("got %v", err)
	}
}

// For some regular files, stat does not return the size of the content.
func TestReadFileReadsPastStatSize(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("requires /proc")
	}
	const path = "/proc/self/status"
	content, err := filesystem.ReadFile(filesystem.OS{}, path, 1<<20)
	if err != nil || !strings.HasPrefix(string(content), "Name:") || !strings.HasSuffix(string(content), "\n") {
		t.Errorf("got %q, %v", content, err)
	}
	if _, err := filesystem.ReadFile(filesystem.OS{}, path, 10); !errors.Is(err, filesystem.ErrTooLarge) {
		t.Errorf("limit 10: %v", err)
	}
	if _, err := filesystem.ReadFile(filesystem.OS{}, "absent", 10); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "absent") {
		t.Errorf("got %v", err)
	}
}
