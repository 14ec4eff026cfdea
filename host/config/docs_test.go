package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host/config"
)

func TestDocsExamplesParse(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(repoRoot(t), "docs", "config.md"))
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
		if _, ps := config.Parse("docs/config.md", []byte(text)); ps.Err() != nil {
			t.Errorf("example %d: %v", i+1, ps.Err())
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
