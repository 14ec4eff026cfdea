package workspace_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
)

// TestInstalledCountsEqualManifests checks that the counts and errors of Installed equal those of reading each manifest
// on its own.
func TestInstalledCountsEqualManifests(t *testing.T) {
	w := newWorld(t)
	const text = "name: p\nversion: 1.0.0\ndescription: d\nartifacts: {skills: [{name: s, path: s, description: ''}]}\n"
	w.write(t, "project/.aam/packages/a/aam.yaml", text)
	w.write(t, "project/.aam/packages/s--b/aam.yaml", text)
	w.write(t, "project/.aam/packages/invalid/aam.yaml", "name: BAD\n")
	w.write(t, "project/.aam/packages/linked/other.yaml", text)
	w.write(t, "project/.aam/packages/escaping/other.yaml", text)
	w.write(t, "project/shared/aam.yaml", text)
	for name, target := range map[string]string{"linked/aam.yaml": "other.yaml", "escaping/aam.yaml": "../a/aam.yaml", "shared": "../../shared"} {
		if err := os.Symlink(target, filepath.Join(w.project, ".aam", "packages", name)); err != nil {
			t.Fatal(err)
		}
	}
	valid := map[string]bool{"a": true, "@s/b": true, "linked": true, "shared": true, "invalid": false, "escaping": false, "missing": false}
	lock := "packages:\n"
	for name := range valid {
		lock += "  '" + name + "': {version: 1.0.0, source: r, checksum: ''}\n"
	}
	w.write(t, "project/.aam/aam-lock.yaml", lock)
	ws := w.open(files.Disk{})
	packages, err := ws.Packages()
	if err != nil || len(packages.Packages) != len(valid) {
		t.Fatalf("got %v, %v", packages, err)
	}
	installed := ws.Installed(packages)
	for name, ok := range valid {
		var want manifest.Counts
		m, wantErr := ws.Manifest(name)
		if wantErr == nil {
			want = m.Counts()
		}
		got, err := installed.Counts(name)
		if got != want || (err == nil) != ok || wantErr != nil && cmp.Diff(wantErr.Error(), err.Error()) != "" {
			t.Errorf("%s: got %v, %v, want %v, %v", name, got, err, want, wantErr)
		}
	}
}
