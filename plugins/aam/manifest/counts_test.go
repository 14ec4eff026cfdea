package manifest_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
)

// TestAllCountsLeavesOutWhatLoadMustRead checks for which packages AllCounts returns counts: for those whose manifest
// is valid, and is a regular file of at most MaxSize bytes in a directory. For other packages, Load must return the
// manifest or the error.
func TestAllCountsLeavesOutWhatLoadMustRead(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		testenv.WriteFile(t, path, text)
	}
	link := func(target, name string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	head := "name: p\nversion: 1.0.0\ndescription: d\nartifacts:\n"
	put("packages/a/aam.yaml", head+"  prompts: [{name: p, path: p.md, description: ''}]\n")
	put("packages/s--b/aam.yaml", head+"  agents: [{name: x, path: x, description: ''}, {name: y, path: y, description: ''}]\n  instructions: [{name: i, path: i.md, description: ''}]\n")
	put("packages/s--b/skills/aam.yaml", minimal)
	put("packages/invalid/aam.yaml", head)
	put("packages/broken/aam.yaml", "a: [")
	put("packages/large/aam.yaml", minimal+strings.Repeat("#", manifest.MaxSize))
	put("packages/directory/aam.yaml/x", "")
	put("packages/without/other.yaml", minimal)
	put("packages/.hidden/aam.yaml", minimal)
	put("packages/aam.yaml", minimal)
	put("outside/aam.yaml", minimal)
	put("packages/linked/other.yaml", minimal)
	link("../outside", "packages/directory-link")
	link("other.yaml", "packages/linked/aam.yaml")
	want := map[string]manifest.Counts{"a": {0, 0, 1, 0}, "s--b": {2, 0, 0, 1}}
	if diff := cmp.Diff(want, maps.Collect(manifest.AllCounts(filepath.Join(dir, "packages")))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := maps.Collect(manifest.AllCounts(filepath.Join(dir, "none"))); len(got) != 0 {
		t.Errorf("AllCounts of a directory that does not exist: got %v", got)
	}
}
