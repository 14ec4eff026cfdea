package sample_test

import (
	"path/filepath"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/archive"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/registry"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/sample"
)

func TestWrite(t *testing.T) {
	const packages = 150
	project := t.TempDir()
	if err := sample.Write(project, packages); err != nil {
		t.Fatal(err)
	}
	r := registry.Registry{Files: files.Disk{}, Name: "team", Root: filepath.Join(project, "registry")}
	index, err := r.Index()
	if err != nil || len(index) != packages {
		t.Fatalf("the index has %d packages, %v", len(index), err)
	}
	for _, entry := range index {
		if m, err := r.Metadata(entry.Name); err != nil || m.Description != entry.Description {
			t.Errorf("%s: %v", entry.Name, err)
		}
		if m, err := r.Manifest(entry.Name, entry.Latest, archive.DefaultLimits()); err != nil || m.Name != entry.Name {
			t.Errorf("%s: %v", entry.Name, err)
		}
	}
	if index[0].Name != "audit-kit-00000" || index[0].Latest != "1.1.0" {
		t.Errorf("the first package in the index is %+v", index[0])
	}
}
