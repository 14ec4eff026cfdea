package skills_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/skills"
)

// BenchmarkLoad measures what a request costs that reads a skill without a digest: one of a usual size, and the largest one.
func BenchmarkLoad(b *testing.B) {
	largest := map[string]string{"demo/SKILL.md": head}
	for i := range skills.MaxFiles - 1 {
		largest[fmt.Sprintf("demo/f%d", i)] = strings.Repeat("x", skills.MaxSize/skills.MaxFiles-len(head))
	}
	for name, files := range map[string]map[string]string{
		"usual":   {"demo/SKILL.md": head + strings.Repeat("text\n", 1<<10), "demo/references/a.md": strings.Repeat("text\n", 2<<10), "demo/scripts/b.py": strings.Repeat("x", 2<<10)},
		"largest": largest,
	} {
		top := testenv.Tree(b, files)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := skills.Load(top, "demo"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
