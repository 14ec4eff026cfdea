package audit_test

import (
	"path/filepath"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

// On Windows, package os reports the mode 0666 or 0444 for every file. Open must not refuse such a file.
func TestOpenExistingFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	for range 2 {
		l, err := audit.Open(audit.Config{File: file, OnFailure: audit.FailClosed, Arguments: "hash"})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
