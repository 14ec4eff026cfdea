//go:build linux || darwin

package vfs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/vfs"
)

// A symbolic link that a module creates must resolve into the module's grants, even after the link or its ancestors are
// moved. In each case, all steps but the last succeed.
func TestMovedLinksStayInsideGrants(t *testing.T) {
	for name, c := range map[string]struct {
		steps []change
		errno sys.Errno
	}{
		"a link moved up resolves outside":   {[]change{symlinks("../a.txt", "w/dir/l"), renames("w/dir/l", "w/l")}, sys.EACCES},
		"a link moved down resolves inside":  {[]change{symlinks("a.txt", "w/l"), renames("w/l", "w/dir/l")}, 0},
		"a link moved up and still inside":   {[]change{mkdirs("w/dir/d"), symlinks("../b.txt", "w/dir/d/l"), renames("w/dir/d/l", "w/empty/l")}, 0},
		"an absolute link can be moved":      {[]change{linkTo("w/dir/l", "w/a.txt"), renames("w/dir/l", "w/l")}, 0},
		"a directory moved up with a link":   {[]change{mkdirs("w/dir/d"), symlinks("../../a.txt", "w/dir/d/l"), renames("w/dir/d", "w/d")}, sys.EACCES},
		"a directory around it":              {[]change{mkdirs("w/dir/d"), mkdirs("w/dir/d/e"), symlinks("../../../a.txt", "w/dir/d/e/l"), renames("w/dir/d", "w/empty/../d")}, sys.EACCES},
		"a directory moved down with a link": {[]change{mkdirs("w/d"), symlinks("../a.txt", "w/d/l"), renames("w/d", "w/empty/d")}, 0},
		"a directory whose links stay in it": {[]change{mkdirs("w/dir/d"), writes("w/dir/d/f"), symlinks("f", "w/dir/d/l"), renames("w/dir/d", "w/d")}, 0},
		"a directory renamed in its place":   {[]change{mkdirs("w/d"), symlinks("../a.txt", "w/d/l"), renames("w/d", "w/d2")}, 0},
		"a user's link out of the grant":     {[]change{renames("w/abs-out", "w/empty/l")}, sys.EACCES},
		"a user's relative link out":         {[]change{renames("w/rel-out", "w/l")}, sys.EACCES},
		"a user's absolute link out in a directory": {[]change{func(w *world) sys.Errno {
			w.put("w/dir/venv/python", "->$/out/canary.txt")
			return 0
		}, renames("w/dir/venv", "w/venv")}, 0},
		"a user's relative link out in a directory": {[]change{func(w *world) sys.Errno {
			w.put("w/dir/venv/python", "->../../../out/canary.txt")
			return 0
		}, renames("w/dir/venv", "w/venv")}, sys.EACCES},
		"a target through a link, and back up":           {[]change{mkdirs("w/x"), mkdirs("w/x/y"), symlinks("../..", "w/x/y/up"), symlinks("up/../out", "w/x/y/l")}, sys.EACCES},
		"a target through a name that may become a link": {[]change{symlinks("later/../a.txt", "w/l")}, sys.EACCES},
		"an absolute target with a way back":             {[]change{linkTo("w/l", "w/dir") /* clean */, func(w *world) sys.Errno { return w.fs.Symlink(w.at("w")+"/dir/../a.txt", w.in("w/l2")) }}, sys.EACCES},
		"a target through a user's link out":             {[]change{symlinks("dir-out/canary.txt", "w/l")}, sys.EACCES},
		"a link itself moved through one of the user's":  {[]change{symlinks("x", "w/l"), renames("w/l", "w/dir-out/l")}, sys.EACCES},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for i, step := range c.steps {
				want := sys.Errno(0)
				if i == len(c.steps)-1 {
					want = c.errno
				}
				if errno := step(w); errno != want {
					t.Fatalf("step %d: %v, want %v", i+1, errno, want)
				}
			}
			if refused := c.errno == sys.EACCES; refused != (len(w.denied) == 1) {
				t.Errorf("got the refusals %q, want one only if the last step fails", w.denied)
			}
		})
	}
}

// A directory with more entries than are checked cannot be moved to another directory, but can be renamed.
func TestMovedDirectorySizeIsBounded(t *testing.T) {
	testenv.NotShort(t, "makes 65,537 files")
	charged := 0
	w := newWorld(t, func(c *vfs.Config) { c.Charge = func(n int) { charged += n } })
	w.put("w/dir/many/", "")
	for i := range 1<<16 + 1 {
		if err := os.Link(w.at("w/a.txt"), filepath.Join(w.at("w/dir/many"), fmt.Sprint(i))); err != nil {
			if i < 10_000 {
				t.Fatal(err)
			}
			w.put(fmt.Sprint("w/dir/many/", i), "") // separate files: the number of hard links to one file is limited
		}
	}
	if errno := w.fs.Rename(w.in("w/dir/many"), w.in("w/many")); errno != sys.EPERM {
		t.Errorf("moved: %v, want EPERM", errno)
	}
	if len(w.errors) != 1 || !strings.Contains(w.errors[0].Error(), "more than 65536 entries") {
		t.Errorf("got the reported errors %v, want one about too many entries", w.errors)
	}
	if charged < 1<<15 {
		t.Errorf("%d entries were charged, want at least %d", charged, 1<<15)
	}
	if errno := w.fs.Rename(w.in("w/dir/many"), w.in("w/dir/much")); errno != 0 {
		t.Errorf("renaming within the directory: got %v", errno)
	}
}
