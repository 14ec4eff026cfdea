package revocation

import (
	"os"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

func TestMain(m *testing.M) {
	testenv.UseMemoryUnlessAll()
	os.Exit(m.Run())
}
