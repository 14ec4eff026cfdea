package discovery

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/trust"
)

// TestUntrustedIncludedFileIsNotParsed changes an included file so that it includes others, which must not be read.
func TestUntrustedIncludedFileIsNotParsed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "team.toml")
	source := Source{File: "/p/bulkhead.toml", By: ByProject}
	record := &trust.Record{Includes: []trust.File{{Path: file, SHA256: userfile.Digest([]byte("# old\n"))}}}
	for content, want := range map[string]string{"# old\n": "# old\n", "include = ['/etc/passwd']\n": ""} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		data, not := readTrusted(source, record, file)
		if string(data) != want || (not == nil) != (want != "") {
			t.Errorf("%q: got %q, %v", content, data, not)
		}
	}
}
