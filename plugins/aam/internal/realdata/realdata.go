// Package realdata finds the sample data of the aam program for tests. The sample data is not part of the repository.
package realdata

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/fixtures"
)

// Path returns the path of a file or directory of the sample data, or a pattern of paths. It skips the test if there is
// no sample data.
func Path(t testing.TB, parts ...string) string {
	t.Helper()
	return filepath.Join(append([]string{fixtures.Path(t, "aam")}, parts...)...)
}

// Read returns the content of a file of the sample data.
func Read(t testing.TB, parts ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(Path(t, parts...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Recorded decodes a JSON file of recorded answers.
func Recorded(t testing.TB, file string, into any) {
	t.Helper()
	if err := json.Unmarshal(Read(t, "constructed", "recorded", file), into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}
