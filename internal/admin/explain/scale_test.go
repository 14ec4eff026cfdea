package explain

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// TestResolvingTakesLinearWork compares allocations: each look at a directory allocates.
func TestResolvingTakesLinearWork(t *testing.T) {
	dir := t.TempDir()
	allocations := func(n int) float64 {
		p := &catalog.Plugin{}
		for i := range n {
			p.Grant.FS = append(p.Grant.FS, config.Mount{Path: filepath.Join(dir, fmt.Sprint(i)), Access: manifest.ReadWrite})
		}
		return testing.AllocsPerRun(1, func() {
			resolve := NewResolver(config.Places{Project: dir}, []*catalog.Plugin{p})
			for _, m := range p.Grant.FS {
				resolve(review.Folder, m.Path, nil)
			}
		})
	}
	few, many := allocations(100), allocations(200)
	if many > 2.5*few {
		t.Errorf("100 writable directories take %.0f allocations, and 200 take %.0f", few, many)
	}
}
