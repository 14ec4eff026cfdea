// Package realdata finds, for tests, data of the real system where it lies beside the repository.
package realdata

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/fixtures"
)

// Path returns the path of a file or folder of the real data, or a pattern of such. The test is skipped where
// there is no real data.
func Path(t testing.TB, parts ...string) string {
	t.Helper()
	return filepath.Join(append([]string{fixtures.Path(t, "aam")}, parts...)...)
}

// Read returns what is in a file of the real data.
func Read(t testing.TB, parts ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(Path(t, parts...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Recorded decodes a table of recorded answers.
func Recorded(t testing.TB, file string, into any) {
	t.Helper()
	if err := json.Unmarshal(Read(t, "constructed", "recorded", file), into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}
