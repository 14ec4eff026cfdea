package audit_test

import (
	"path/filepath"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/audit"
)

// The mode of a file is always 0666 or 0444 here.
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
