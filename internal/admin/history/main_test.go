package history

import (
	"os"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

func TestMain(m *testing.M) {
	testenv.UseMemory()
	os.Exit(m.Run())
}
