package store

import (
	"os"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/tmpdir"
)

// TestMain has temporary directories in memory where the system offers that: these tests make thousands.
func TestMain(m *testing.M) {
	tmpdir.InMemory()
	os.Exit(m.Run())
}
