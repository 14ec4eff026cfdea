package sandbox

import (
	"os"
	"path/filepath"
	"testing"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/host/manifest"
)

func TestABoxHidesWhatIsDeniedAndTheHostsOwn(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"work/.env", "work/sub/.env", "work/plain", "work/bulkhead.toml", "other/x"} {
		if err := os.WriteFile(filepath.Join(string(w), name), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(".env", w.path("$W/work/alias")); err != nil {
		t.Fatal(err)
	}
	grant := w.grant("rw $W/work", "r $W/other")
	grant.Deny = []string{"**/.env"}
	grant.Limits = manifest.Limits{Files: 2}
	box := w.new(t, Setup{Plugin: "p", Grant: grant, Own: []string{w.path("$W/link/bulkhead.toml"), w.path("$W/other")}})
	defer box.Close()
	tree := box.FS(&faults{})
	for path, seen := range map[string]bool{
		"$W/work/plain":         true,
		"$W/work/.env":          false,
		"$W/work/sub/.env":      false,
		"$W/work/alias":         false, // leads to what is hidden
		"$W/work/bulkhead.toml": false, // the host's, also by way of a link
		"$W/other/x":            true,  // the grant names the host's folder itself
	} {
		if _, errno := tree.Stat(w.path(path)); (errno == 0) != seen {
			t.Errorf("%s: %v", path, errno)
		}
	}
	if errno := tree.Rename(w.path("$W/work/plain"), w.path("$W/work/.env")); errno == 0 {
		t.Error("a file came to a hidden name")
	}
	for i := range 3 {
		_, errno := tree.OpenFile(w.path("$W/work/plain"), experimentalsys.O_RDONLY, 0o600)
		if (errno == 0) != (i < 2) {
			t.Errorf("file %d: %v", i+1, errno)
		}
	}
}
