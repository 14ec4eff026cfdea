package project_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/check"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/sample"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// TestValidateReadsEachFileOnce checks how often Validate reads a main spec that many changes affect: once, or once for
// each change if the cache is full.
func TestValidateReadsEachFileOnce(t *testing.T) {
	for name, test := range map[string]struct{ filler, reads int }{
		"small specs": {0, 1},
		"large specs": {3 << 20, 3}, // each large spec is read once for each of two changes, and once for its own validation
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			if err := sample.Write(root, 4); err != nil {
				t.Fatal(err)
			}
			last := filepath.Join(root, "openspec/specs/area-01/capability-0001/spec.md")
			for _, path := range []string{filepath.Join(root, "openspec/specs/area-00/capability-0000/spec.md"), last} {
				source, err := os.ReadFile(path)
				if err == nil {
					err = os.WriteFile(path, append(source, strings.Repeat("Words of no meaning.\n", test.filler/21)...), 0o644)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			files := &counting{reads: map[string]int{}}
			p := open(root)
			p.Files = files
			report, err := check.Run(p, check.Request{})
			if err != nil || report.Summary.Totals != (check.Totals{Items: 6, Passed: 6}) {
				t.Errorf("%+v, %v", report, err)
			}
			for path, n := range files.reads {
				want := 1
				if path == last {
					want = test.reads
				}
				if n != want {
					t.Errorf("%s was read %d times, want %d", path, n, want)
				}
			}
			if len(files.reads) < 14 {
				t.Errorf("only %d files were read", len(files.reads))
			}
		})
	}
}

// counting is a file system that counts how often each file is read.
type counting struct {
	filesystem.OS
	reads map[string]int
}

func (c *counting) Open(path string) (io.ReadCloser, error) {
	c.reads[path]++
	return c.OS.Open(path)
}

// TestValidateAllAgreesWithValidateOne checks that the cache, which the validations of all items share, does not change
// the results.
func TestValidateAllAgreesWithValidateOne(t *testing.T) {
	compareAllWithOne(t, branch(t))
	t.Run("real data", func(t *testing.T) { compareAllWithOne(t, copyProject(t, filepath.Join(reference(t), "project"))) })
}

func compareAllWithOne(t *testing.T, root string) {
	t.Helper()
	all, err := check.Run(open(root), check.Request{})
	if err != nil || len(all.Items) < 5 {
		t.Fatalf("%+v, %v", all, err)
	}
	for _, item := range all.Items {
		one, err := check.Run(open(root), check.Request{Name: &item.ID, Kind: item.Type})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(item.Issues, one.Items[0].Issues); diff != "" {
			t.Errorf("%s (-with all others +alone)\n%s", item.ID, diff)
		}
	}
}
