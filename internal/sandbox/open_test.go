//go:build unix

package sandbox

import (
	"os"
	"strings"
	"testing"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/vfs"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// An absent granted directory is created from its nearest existing ancestor without following symbolic links, and is
// visible in all trees of the Box from then on.
func TestMkdirCreatesAbsentGrant(t *testing.T) {
	w := newWorld(t)
	b := w.new(t, Setup{Plugin: "p", Grant: w.grant("rw $W/other/new/er", "r $W/work/none")})
	one, two := b.FS(&faults{}), b.FS(&faults{})
	if _, errno := one.Stat(w.path("$W/other/new/er")); errno != experimentalsys.ENOENT {
		t.Errorf("stat of the absent directory: got %v, want ENOENT", errno)
	}
	if errno := one.Mkdir(w.path("$W/work/none"), 0); errno != experimentalsys.EACCES {
		t.Errorf("mkdir of an absent read-only grant: got %v, want EACCES", errno)
	}
	if errno := one.Mkdir(w.path("$W/other/new/er"), 0); errno != 0 {
		t.Fatal(errno)
	}
	if errno := two.Mkdir(w.path("$W/other/new/er"), 0); errno != experimentalsys.EEXIST {
		t.Errorf("mkdir of the created directory, in the other tree: got %v, want EEXIST", errno)
	}
	if errno := two.Mkdir(w.path("$W/other/new/er/x"), 0); errno != 0 {
		t.Errorf("mkdir in the created directory, in the other tree: got %v", errno)
	}
	if info, err := os.Stat(w.path("$W/other/new/er/x")); err != nil || !info.IsDir() {
		t.Errorf("the directory created in the grant: got %v, %v", info, err)
	}
}

func TestAbsentGrantIsNotCreatedBehindSymbolicLink(t *testing.T) {
	w := newWorld(t)
	b := w.new(t, Setup{Plugin: "p", Grant: w.grant("rw $W/other/new/er")})
	if err := os.Symlink("../work", w.path("$W/other/new")); err != nil {
		t.Fatal(err)
	}
	var asked faults
	if errno := b.FS(&asked).Mkdir(w.path("$W/other/new/er"), 0); errno == 0 {
		t.Error("mkdir through a symbolic link succeeded")
	}
	if _, err := os.Lstat(w.path("$W/work/er")); err == nil {
		t.Error("the directory was created in the target of the symbolic link")
	}
}

// Directories and symbolic links on the path of a grant cannot be moved with the access of a surrounding grant.
func TestAncestorsOfGrantCannotBeMoved(t *testing.T) {
	w := newWorld(t)
	b := w.new(t, Setup{Plugin: "p", Grant: w.grant("rw $W", "r $W/linked")})
	tree := b.FS(&faults{})
	for _, name := range []string{"$W/linked", "$W/link", "$W/work", "$W/work/sub"} {
		if errno := tree.Rename(w.path(name), w.path("$W/moved")); errno != experimentalsys.EPERM && errno != experimentalsys.EACCES {
			t.Errorf("move %s: got %v, want EPERM or EACCES", name, errno)
		}
		if errno := tree.Unlink(w.path(name)); errno == 0 {
			t.Errorf("%s was removed", name)
		}
	}
	if errno := tree.Rename(w.path("$W/workshop"), w.path("$W/moved")); errno != 0 {
		t.Errorf("move a directory that is not on the path of a grant: got %v", errno)
	}
}

// A Box and a Locker use only open handles: the paths in their configurations need not exist.
func TestBoxOpensNoPath(t *testing.T) {
	w := newWorld(t)
	dir, err := os.Open(w.path("$W/work"))
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	mounts := []vfs.Mount{{Path: "/no/such/path", Write: true, Dir: dir}}
	b, err := New(Config{Plugin: "p", Mounts: mounts, State: "/no/such/path"})
	if err != nil {
		t.Fatal(err)
	}
	if errno := b.FS(&faults{}).Mkdir("/no/such/path/new", 0); errno != 0 {
		t.Fatal(errno)
	}
	if info, err := os.Stat(w.path("$W/work/new")); err != nil || !info.IsDir() {
		t.Errorf("the directory created through the handle: got %v, %v", info, err)
	}
	if got := failure(t, b.Operate(t.Context(), []byte(`{"op":"http/fetch","params":{"url":"https://example.com"}}`))); !strings.HasPrefix(got, "denied http/fetch: ") {
		t.Errorf("http/fetch without a grant: got %s", got)
	}
	l, err := NewLocker(LockerConfig{Mounts: mounts, Names: dir})
	if err != nil {
		t.Fatal(err)
	}
	call := l.Begin()
	defer call.End()
	if err := call.Lock(t.Context(), abi.Lock{Name: "n", Folder: "/no/such/path/new"}); err != nil {
		t.Errorf("lock: got %v, want success", err)
	}
}
