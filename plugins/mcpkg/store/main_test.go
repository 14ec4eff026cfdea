package store

import (
	"os"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/tmpdir"
)

// TestMain moves temporary directories to memory if the system supports that, because these tests create thousands.
func TestMain(m *testing.M) {
	tmpdir.InMemory()
	os.Exit(m.Run())
}
