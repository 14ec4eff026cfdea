package pages

import (
	"os"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
)

func TestMain(m *testing.M) {
	host.RunChild()
	os.Exit(m.Run())
}
