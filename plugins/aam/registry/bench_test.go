package registry_test

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkIndex reads the indexes of registries of different sizes. The time must grow linearly with the size.
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

// BenchmarkPublish publishes to registries of different sizes.
func BenchmarkPublish(b *testing.B) {
	for _, packages := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprint(packages), func(b *testing.B) {
			root := b.TempDir()
			var text strings.Builder
			text.WriteString("packages:\n")
			for i := range packages {
				name := fmt.Sprintf("package-%d", i)
				fmt.Fprintf(&text, "- name: %s\n  description: Number %d of the packages that are there to be searched through\n  latest: 1.0.0\n  keywords: []\n  artifact_types: []\n  updated_at: '%s'\n", name, i, now)
				put(b, root, "packages/"+name+"/metadata.yaml", "name: "+name+"\ndescription: d\nversions: [{version: 1.0.0}]\n")
			}
			put(b, root, "index.yaml", text.String())
			n := 0
			for b.Loop() {
				b.StopTimer()
				n++
				p := project(b, "new", fmt.Sprintf("1.%d.0", n))
				b.StartTimer()
				if _, err := open(root).Publish(p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
