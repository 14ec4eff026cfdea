package transaction_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
	"github.com/bulkhead-mcp/bulkhead/sdk/transaction"
)

// BenchmarkApply replaces files with syncs and without syncs. The difference between the times is the cost of durability.
func BenchmarkApply(b *testing.B) {
	for name, system := range map[string]filesystem.FS{"durable": filesystem.OS{}, "without syncs": noSync{}} {
		for _, files := range []int{1, 10, 100} {
			b.Run(fmt.Sprintf("%s, %d files", name, files), func(b *testing.B) {
				dir := b.TempDir()
				l := transaction.Log{FS: system, Dir: filepath.Join(dir, "journal")}
				before := ""
				for i := 0; b.Loop(); i++ {
					content := fmt.Sprint(i)
					var changes []transaction.Change
					for n := range files {
						changes = append(changes, transaction.Change{Root: dir, Path: filepath.Join(dir, fmt.Sprint(n)), Before: before, After: []byte(content)})
					}
					must(b, l.Apply(changes))
					before = digest(content)
				}
			})
		}
	}
}
