package store

import (
	"os"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

// TestMain has temporary directories created in memory if the system supports that, because the tests of this package
// create thousands of them.
func TestMain(m *testing.M) {
	testenv.UseMemory()
	os.Exit(m.Run())
}
