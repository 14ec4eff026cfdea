package store_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/chant/store"
)

func TestSweepRemovesOldTemporaryFiles(t *testing.T) {
	root := t.TempDir()
	at := func(name string) string { return filepath.Join(root, ".chant", name) }
	for _, name := range []string{
		"specs/a.md", "specs/.chant-00ff.tmp", "specs/sub/b.md", "specs/sub/.chant-00ff.tmp", "specs/empty/.chant-00ff.tmp",
		"specs/x.tmp", "specs/.chant-x", "shared/c.md", "shared/.chant-00ff.tmp", "other/.chant-00ff.tmp", "../out/d.md", "../out/.chant-00ff.tmp",
		"specs/dir/.chant-00ff.tmp/kept",
	} {
		if err := os.MkdirAll(filepath.Dir(at(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at(name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"specs/c.md": "../shared/c.md", "specs/d.md": "../../out/d.md", "specs/other": "../other"} {
		if err := os.Symlink(target, at(link)); err != nil {
			t.Skipf("symbolic links are not supported: %v", err)
		}
	}
	left := func() (names []string) {
		for _, dir := range []string{"", "*/", "*/*/", "../out/"} {
			paths, _ := filepath.Glob(at(dir + ".chant-*.tmp"))
			for _, path := range paths {
				name, _ := filepath.Rel(root, path)
				names = append(names, strings.TrimPrefix(filepath.ToSlash(name), ".chant/"))
			}
		}
		slices.Sort(names)
		return names
	}
	before := left()
	if err := (store.Dir{Root: root}).Sweep(time.Hour); err != nil || len(left()) != len(before) {
		t.Errorf("Sweep with young temporary files: error %v, the files %q are left of %q", err, left(), before)
	}
	if err := (store.Dir{Root: root}).Sweep(0); err != nil {
		t.Error(err)
	}
	want := []string{"other/.chant-00ff.tmp", "out/.chant-00ff.tmp", "specs/dir/.chant-00ff.tmp", "specs/other/.chant-00ff.tmp"}
	if diff := cmp.Diff(want, left()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, kept := range []string{"specs/a.md", "specs/x.tmp", "specs/.chant-x", "shared/c.md"} {
		if _, err := os.Stat(at(kept)); err != nil {
			t.Error(err)
		}
	}
}
