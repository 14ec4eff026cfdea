//go:build linux || darwin

package vfs_test

import (
	"os"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/vfs"
)

func scans(p string) change {
	return func(w *world) sys.Errno {
		return w.fs.Scan(w.at(p), vfs.Scan{Depth: 3}, func(*vfs.Scanned) bool { return true })
	}
}

// TestPermissionsOfTheSystemAreReported has files that the grant includes, but that the system refuses.
func TestPermissionsOfTheSystemAreReported(t *testing.T) {
	if testenv.AsNobody(t) {
		return
	}
	for name, do := range map[string]change{
		"read a file":              opens("w/closed", sys.O_RDONLY),
		"write a file":             opens("w/closed", sys.O_WRONLY),
		"empty a file":             opens("w/closed", sys.O_RDWR|sys.O_TRUNC),
		"set times":                utimens("w/closed"),
		"list a directory":         opens("w/unlisted", sys.O_RDONLY),
		"scan a directory":         scans("w/unlisted"),
		"find in a directory":      opens("w/unlisted/f", sys.O_RDONLY),
		"make a file":              writes("w/fixed/new"),
		"make a directory":         mkdirs("w/fixed/new"),
		"make a link":              symlinks("x", "w/fixed/new"),
		"make a hard link":         links("w/a.txt", "w/fixed/new"),
		"make a part of git's":     mkdirs("w/fixed/refs"),
		"move a file in":           renames("w/a.txt", "w/fixed/new"),
		"move a file out":          renames("w/fixed/f", "w/new"),
		"move a directory of many": renames("w/unlisted", "w/dir/unlisted"),
		"remove a file":            unlinks("w/fixed/f"),
		"remove a directory":       rmdirs("w/fixed/d"),
	} {
		w := newWorld(t)
		for path, content := range map[string]string{"w/closed": "x", "w/unlisted/f": "x", "w/fixed/f": "x", "w/fixed/d/": ""} {
			w.put(path, content)
		}
		for path, mode := range map[string]os.FileMode{"w/closed": 0, "w/unlisted": 0, "w/fixed": 0o555} {
			if err := os.Chmod(w.at(path), mode); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.Chmod(w.at(path), 0o755) })
		}
		if errno := do(w); errno != sys.EACCES {
			t.Errorf("%s: got %v, want EACCES", name, errno)
		}
		if len(w.denied) > 0 {
			t.Errorf("%s: reported as refused by the grant: %q", name, w.denied)
		}
	}
}

func TestAbsentMountThatHostCannotCreate(t *testing.T) {
	path := t.TempDir() + "/absent"
	mounts, err := vfs.NewMounts([]vfs.Mount{{Path: path, Write: true}})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(c *vfs.Config) { c.Mounts = mounts })
	if errno := w.fs.Mkdir(path[1:], 0o755); errno == 0 {
		t.Error("the directory was created")
	}
	if len(w.errors) != 1 || !strings.Contains(w.errors[0].Error(), "the host cannot create it") {
		t.Errorf("reported %v", w.errors)
	}
}

func TestFlagsOfSystemCall(t *testing.T) {
	for flag, want := range map[sys.Oflag]int{
		sys.O_RDONLY: os.O_RDONLY, sys.O_WRONLY: os.O_WRONLY, sys.O_RDWR: os.O_RDWR, sys.O_RDONLY | sys.O_TRUNC: os.O_RDWR, sys.O_WRONLY | sys.O_TRUNC: os.O_WRONLY,
		sys.O_RDONLY | sys.O_CREAT | sys.O_EXCL | sys.O_APPEND | sys.O_NOFOLLOW: os.O_RDONLY, sys.O_WRONLY | sys.O_SYNC: os.O_WRONLY | os.O_SYNC,
		sys.O_WRONLY | sys.O_DSYNC: os.O_WRONLY | os.O_SYNC, sys.O_RDONLY | sys.O_RSYNC: os.O_SYNC,
	} {
		if got := vfs.OSFlag(flag); got != want {
			t.Errorf("%#x: got %#x, want %#x", flag, got, want)
		}
	}
}
