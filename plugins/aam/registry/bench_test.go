package registry_test

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkIndex reads registries of different size: the time is to grow as they do.
func BenchmarkIndex(b *testing.B) {
	for _, packages := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprint(packages), func(b *testing.B) {
			var text strings.Builder
			text.WriteString("packages:\n")
			for i := range packages {
				fmt.Fprintf(&text, "- name: '@team%d/package-%d'\n  description: Number %d of the packages that are there to be searched through\n  latest: 1.%d.0\n  keywords:\n  - review\n  - audit\n  artifact_types: []\n  updated_at: '%s'\n", i%10, i, i, i%20, now)
			}
			root := b.TempDir()
			put(b, root, "index.yaml", text.String())
			b.SetBytes(int64(text.Len()))
			b.ReportAllocs()
			for b.Loop() {
				if got, err := open(root).Index(); err != nil || len(got) != packages {
					b.Fatal(len(got), err)
				}
			}
		})
	}
}
