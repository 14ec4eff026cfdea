// Package realdata locates the sample data of the aam program for tests. The sample data is not part of the repository.
package realdata

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

// Path returns the path of a file or directory in the sample data. The last part may be a pattern. Path skips the test
// if the sample data does not exist.
func Path(t testing.TB, parts ...string) string {
	t.Helper()
	return filepath.Join(append([]string{testenv.Fixture(t, "aam")}, parts...)...)
}

// Read returns the content of a file in the sample data.
func Read(t testing.TB, parts ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(Path(t, parts...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Recorded decodes a JSON file with recorded answers into the value to which into points.
func Recorded(t testing.TB, file string, into any) {
	t.Helper()
	if err := json.Unmarshal(Read(t, "constructed", "recorded", file), into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}
