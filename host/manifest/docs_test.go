package manifest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host/manifest"
)

func TestDocsExamplesParse(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(repoRoot(t), "docs", "manifest.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(page), "\n```toml\n")[1:]
	if len(blocks) == 0 {
		t.Fatal("the page has no example")
	}
	for i, block := range blocks {
		text, _, ok := strings.Cut(block, "\n```")
		if !ok {
			t.Fatalf("example %d has no end", i+1)
		}
		m, ps := manifest.Parse("docs/manifest.md", []byte(text))
		if err := ps.Err(); err != nil {
			t.Errorf("example %d: %v", i+1, err)
			continue
		}
		if err := m.Check().Err(); err != nil {
			t.Errorf("example %d: %v", i+1, err)
		}
	}
}

// repoRoot is the folder with go.mod.
func repoRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = parent
	}
}
