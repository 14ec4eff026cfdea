//go:build linux || darwin

package vfs_test

import (
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/vfs"
)

func TestNewFileHasConfiguredMode(t *testing.T) {
	for want, c := range map[fs.FileMode]func(*vfs.Config){
		0o600: func(c *vfs.Config) { c.FileMode = func() fs.FileMode { return 0o600 } },
		0o644: func(*vfs.Config) {},
	} {
		w := newWorld(t, c)
		if errno := w.write("w/new", "x"); errno != 0 {
			t.Fatal(errno)
		}
		if info, err := os.Stat(w.at("w/new")); err != nil || info.Mode()&^0o022 != want&^0o022 { // whatever the umask is
			t.Errorf("got the mode %v, %v; want %v", info.Mode(), err, want)
		}
	}
}

// The host learns of a change before it takes effect, and of nothing else.
func TestChangesAreAnnounced(t *testing.T) {
	var w *world
	var before map[string]string
	announced, refused := 0, error(nil)
	w = newWorld(t, func(c *vfs.Config) {
		c.Changing = func(mount string) error {
			if mount != w.at("w") {
				t.Errorf("got a change of the mount %s", mount)
			}
			if announced++; announced == 1 && (len(before) != len(snapshot(t, w.root)) || w.host("w/a.txt") != "a") {
				t.Error("a change is announced after it took effect")
			}
			return refused
		}
	})
	for name, c := range map[string]struct {
		do      change
		changes bool
	}{
		"read":             {opens("w/dir/b.txt", sys.O_RDONLY), false},
		"list":             {opens("w/dir", sys.O_RDONLY), false},
		"make a file":      {writes("w/new"), true},
		"make a directory": {mkdirs("w/new-dir"), true},
		"make a link":      {symlinks("a.txt", "w/new-link"), true},
		"make a hard link": {links("w/dir/b.txt", "w/new-name"), true},
		"move":             {renames("w/linked", "w/moved"), true},
		"remove":           {unlinks("w/dangling"), true},
		"remove an empty":  {rmdirs("w/empty"), true},
		"set a mode":       {chmods("w/gitdata/config"), true},
		"set times":        {utimens("w/gitdata/config"), true},
		"a refused change": {writes("ro/new"), false},
	} {
		announced, before = 0, snapshot(t, w.root)
		errno := c.do(w)
		if (announced > 0) != c.changes || (errno == 0) != (name != "a refused change") {
			t.Errorf("%s: announced %d times, %v", name, announced, errno)
		}
	}
	refused = errors.New("refused")
	for name, do := range map[string]change{"a new file": writes("w/new-2"), "a file": opens("w/a.txt", sys.O_WRONLY), "a new directory": mkdirs("w/new-3")} {
		if errno := do(w); errno != sys.EACCES {
			t.Errorf("%s, which the host refuses: got %v", name, errno)
		}
	}
	refused = nil
	announced, before = 0, snapshot(t, w.root)
	if errno := opens("w/a.txt", sys.O_WRONLY|sys.O_TRUNC)(w); errno != 0 || announced == 0 {
		t.Errorf("truncating: announced %d times, %v", announced, errno)
	}
}

// A tree is not used for a further call if that could observe an open file, or the position in a listing.
func TestTreeWithStateIsNotReset(t *testing.T) {
	w := newWorld(t)
	f, errno := w.open("w/a.txt", sys.O_RDONLY)
	if errno != 0 || w.fs.Reset() {
		t.Errorf("with an open file, %v: reset", errno)
	}
	f.Close()
	preopen, errno := w.fs.OpenFile(".", sys.O_RDONLY, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	defer preopen.Close()
	if !w.fs.Reset() {
		t.Error("with the preopened directory: not reset")
	}
	if _, errno := preopen.Readdir(1); errno != 0 || w.fs.Reset() {
		t.Errorf("with a position in a listing, %v: reset", errno)
	}
}
