//go:build unix

package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

func TestBoxHidesDeniedAndHostFiles(t *testing.T) {
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
	tree := box.FS(&faults{})
	for path, seen := range map[string]bool{
		"$W/work/plain":         true,
		"$W/work/.env":          false,
		"$W/work/sub/.env":      false,
		"$W/work/alias":         false, // a symbolic link to a hidden file
		"$W/work/bulkhead.toml": false, // a host file, which Own names by a path with a symbolic link
		"$W/other/x":            true,  // the grant names this host directory itself
	} {
		if _, errno := tree.Stat(w.path(path)); (errno == 0) != seen {
			t.Errorf("stat of %s: got %v", path, errno)
		}
	}
	if errno := tree.Rename(w.path("$W/work/plain"), w.path("$W/work/.env")); errno == 0 {
		t.Error("a file was renamed to a hidden name")
	}
	for i := range 3 {
		_, errno := tree.OpenFile(w.path("$W/work/plain"), experimentalsys.O_RDONLY, 0o600)
		if (errno == 0) != (i < 2) {
			t.Errorf("opening file %d: got %v, want an error only for the third", i+1, errno)
		}
	}
}

// A grant of an ancestor of the state directories shows a plugin only its own state directory.
func TestGrantAboveStatesShowsOwnStateOnly(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"states/p/mine", "states/q/other", "states/.locks/p/x", "work/f"} {
		path := filepath.Join(string(w), name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"work/mine": "../states/p", "all": "states", "work/abs": "$W/states/p"} {
		if err := os.Symlink(w.path(target), filepath.Join(string(w), link)); err != nil {
			t.Fatal(err)
		}
	}
	box := w.new(t, Setup{Plugin: "p", Grant: w.grant("rw $W", "state $W/states/p"), Own: []string{w.path("$W/states")}})
	tree := box.FS(&faults{})
	for path, seen := range map[string]bool{
		"$W/work/mine/mine": true, "$W/all/p/mine": true, "$W/work/abs/mine": true, "$W/work/mine/../p/mine": true, "$W/states/./p//mine": true,
		"$W/all/q": false, "$W/all/q/other": false, "$W/work/mine/../q/other": false, "$W/all/.locks": false,
		"$W/work/f": true, "$W/states": true, "$W/states/p": true, "$W/states/p/mine": true, "$W/work/../states/p/mine": true,
		"$W/states/q": false, "$W/states/q/other": false, "$W/states/.locks": false, "$W/states/p/../q/other": false,
	} {
		if _, errno := tree.Stat(w.path(path)); (errno == 0) != seen {
			t.Errorf("stat of %s: got %v", path, errno)
		}
	}
	for dir, want := range map[string]string{"$W/states": "p", "$W/states/p": "mine"} {
		f, errno := tree.OpenFile(w.path(dir), experimentalsys.O_RDONLY, 0o600)
		if errno != 0 {
			t.Fatal(errno)
		}
		defer f.Close()
		if entries, errno := f.Readdir(-1); errno != 0 || len(entries) != 1 || entries[0].Name != want {
			t.Errorf("%s lists %v, %v; want only the way to the plugin's own directory", dir, entries, errno)
		}
	}
	root, errno := tree.OpenFile(w.path("$W"), experimentalsys.O_RDONLY, 0o600)
	if errno != 0 {
		t.Fatal(errno)
	}
	defer root.Close()
	entries, errno := root.Readdir(-1)
	if errno != 0 || !slices.ContainsFunc(entries, func(e experimentalsys.Dirent) bool { return e.Name == "states" }) {
		t.Errorf("the ancestor of the state directory is not listed: got %v, %v", entries, errno)
	}
	for _, dir := range []string{"$W/states/p/new", "$W/all/p/by-link", "$W/work/mine/by-relative-link"} {
		if errno := tree.Mkdir(w.path(dir), 0); errno != 0 {
			t.Errorf("mkdir %s in the plugin's own state directory: %v", dir, errno)
		}
	}
	for op, errno := range map[string]experimentalsys.Errno{
		"make another's": tree.Mkdir(w.path("$W/states/r"), 0), "move all": tree.Rename(w.path("$W/states"), w.path("$W/moved")),
		"set the mode of all": tree.Chmod(w.path("$W/states"), 0o777), "move its own": tree.Rename(w.path("$W/states/p"), w.path("$W/p")),
		"link in all": tree.Symlink("p", w.path("$W/states/l")), "make another's by a link": tree.Mkdir(w.path("$W/all/r"), 0),
	} {
		if errno == 0 {
			t.Errorf("the operation %s succeeded", op)
		}
	}
}

// Configuration files are neither readable nor creatable, by any spelling of the name and at any depth.
func TestReservedNamesAreHiddenAndNotCreated(t *testing.T) {
	w := newWorld(t)
	if err := os.WriteFile(w.path("$W/work/sub/bulkhead.toml"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	box := w.new(t, Setup{Plugin: "p", Grant: w.grant("rw $W/work", "state $W/states/p")})
	tree := box.FS(&faults{})
	if _, errno := tree.Stat(w.path("$W/work/sub/bulkhead.toml")); errno != experimentalsys.ENOENT {
		t.Errorf("stat of a hidden config: got %v, want ENOENT", errno)
	}
	if errno := tree.Mkdir(w.path("$W/work/pkg"), 0); errno != 0 {
		t.Fatal(errno)
	}
	for _, name := range []string{"$W/work/pkg/bulkhead.toml", "$W/work/pkg/BULKHEAD.toml", "$W/states/p/bulkhead.toml", "$W/work/.bulkhead-A", "$W/work/pkg/.Bulkhead-B"} {
		if _, errno := tree.OpenFile(w.path(name), experimentalsys.O_WRONLY|experimentalsys.O_CREAT, 0o600); errno != experimentalsys.EACCES {
			t.Errorf("creating %s: got %v, want EACCES", name, errno)
		}
		if errno := tree.Mkdir(w.path(name), 0); errno != experimentalsys.EACCES {
			t.Errorf("mkdir %s: got %v, want EACCES", name, errno)
		}
		if errno := tree.Symlink("x", w.path(name)); errno != experimentalsys.EACCES {
			t.Errorf("symlink %s: got %v, want EACCES", name, errno)
		}
		if errno := tree.Rename(w.path("$W/work/pkg"), w.path(name)); errno == 0 {
			t.Errorf("a directory was moved to %s", name)
		}
	}
	holder := w.path("$W/work/.bulkhead-ABC")
	if err := os.MkdirAll(holder+"/child", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{holder, holder + "/child"} {
		if _, errno := tree.Stat(name); errno != experimentalsys.ENOENT {
			t.Errorf("stat %s: got %v, want ENOENT", name, errno)
		}
		if errno := tree.Rename(name, w.path("$W/work/taken")); errno == 0 {
			t.Errorf("%s was moved", name)
		}
	}
}
