package registry_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files/faults"
)

// TestPublishRefusesIndexThatWouldGrowTooLarge has an index in another YAML style, which can become larger when Publish
// rewrites it. If the index would become too large, Publish must fail before it writes any file. After packages are
// removed, Publish must succeed.
func TestPublishRefusesIndexThatWouldGrowTooLarge(t *testing.T) {
	testenv.NotShort(t, "reads an index of the greatest size")
	const many = 420
	long := strings.Repeat("a word and ", 2000)
	packages := func(root, description string) {
		for i := range many {
			put(t, root, fmt.Sprintf("packages/p%03d/metadata.yaml", i), fmt.Sprintf("name: p%03d\ndescription: '%s'\nversions: [{version: 1.0.0}]\n", i, description))
		}
	}
	tests := []struct {
		name string
		make func(root string)
	}{
		{"rows in flow style", func(root string) {
			packages(root, "d")
			text := "packages: ["
			for i := range many {
				text += fmt.Sprintf("{name: p%03d, description: d, latest: 1.0.0, keywords: [%s]},", i, strings.Repeat(strings.Repeat("k", 30)+",", 600))
			}
			put(t, root, "index.yaml", text+"]\n")
		}},
		{"rows that share a string", func(root string) {
			packages(root, "d")
			text := "long: &long '" + long + "'\npackages:\n"
			for i := range many {
				text += fmt.Sprintf("- {name: p%03d, description: *long, latest: 1.0.0}\n", i)
			}
			put(t, root, "index.yaml", text)
		}},
		{"rows that are missing", func(root string) { packages(root, long) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			test.make(root)
			before := texts(t, root)
			p := project(t, "new", "1.0.0")
			for range 2 {
				system := faults.New(0, false)
				r := open(root)
				r.Files = system
				_, err := r.Publish(p)
				if failure := fault.From(err); failure == nil || failure.Code != fault.InvalidArgument || !strings.Contains(failure.Message, "full") || !strings.Contains(failure.Message, "index.yaml") {
					t.Errorf("got %.300v", err)
				}
				if system.Count() != 0 || !cmp.Equal(before, texts(t, root)) {
					t.Errorf("%d writes; left are %v", system.Count(), names(texts(t, root)))
				}
			}
			for i := range many - 1 {
				if err := os.RemoveAll(filepath.Join(root, fmt.Sprintf("packages/p%03d", i))); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := open(root).Publish(p); err != nil {
				t.Fatalf("Publish after packages were removed: %v", err)
			}
			if entries, err := open(root).Index(); err != nil || len(entries) != 2 || entries[0].Name != "new" || entries[1].Name != fmt.Sprintf("p%03d", many-1) {
				t.Errorf("the index has %d rows, %v", len(entries), err)
			}
		})
	}
}

// writesMeanwhile is a file system that simulates a program that takes no lock. The program writes the index while
// Publish runs.
type writesMeanwhile struct {
	files.System
	write func()
}

func (w writesMeanwhile) Link(from, to string) error {
	w.write()
	return w.System.Link(from, to)
}

func TestPublishKeepsConcurrentIndexChange(t *testing.T) {
	root := t.TempDir()
	put(t, root, "packages/old/metadata.yaml", "name: old\ndescription: d\nversions: [{version: 1.0.0}]\n")
	r := open(root)
	r.Files = writesMeanwhile{files.Disk{}, func() {
		put(t, root, "packages/theirs/metadata.yaml", "name: theirs\ndescription: d\nversions: [{version: 1.0.0}]\n")
		put(t, root, "index.yaml", "packages: [{name: old, description: theirs, latest: 1.0.0}, {name: theirs, description: d, latest: 1.0.0}]\n")
	}}
	if _, err := r.Publish(project(t, "new", "1.0.0")); err != nil {
		t.Fatal(err)
	}
	entries, err := open(root).Index()
	if err != nil || len(entries) != 3 || entries[0].Name != "new" || entries[1].Description != "theirs" || entries[2].Name != "theirs" {
		t.Errorf("got %+v, %v", entries, err)
	}
}
