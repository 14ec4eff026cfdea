//go:build linux || darwin

package vfs_test

import (
	"errors"
	"os"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/internal/seam"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/vfs"
)

// Another process replaces what is moved or linked by what may not be, between any two system calls before the change. The operation fails,
// and nothing is at the new name.
func TestReplacedOperandIsNotMoved(t *testing.T) {
	w := newWorld(t)
	defer func() { seam.Before = nil }()
	away := func() error { return os.Rename(w.at("w/operand"), w.at("w/away")) }
	for name, c := range map[string]struct {
		arrange func()
		do      change
		replace func() error
	}{
		"a file, moved": {func() { w.put("w/operand", "x") }, renames("w/operand", "w/dir/new"),
			func() error { return errors.Join(away(), os.Symlink("../../out/canary.txt", w.at("w/operand"))) }},
		"a file, linked": {func() { w.put("w/operand", "x") }, links("w/operand", "w/dir/new"),
			func() error { return errors.Join(away(), os.Symlink("../../out/canary.txt", w.at("w/operand"))) }},
		"a link, moved": {func() { w.put("w/operand", "->a.txt") }, renames("w/operand", "w/dir/new"),
			func() error { return errors.Join(away(), os.Symlink("../../out/canary.txt", w.at("w/operand"))) }},
		"a directory, moved": {func() { w.put("w/operand/", "") }, renames("w/operand", "w/dir/new"), func() error {
			return errors.Join(away(), os.Mkdir(w.at("w/operand"), 0o755), os.Symlink("../../../out/canary.txt", w.at("w/operand/link")))
		}},
		"a directory with a new link, moved": {func() { w.put("w/operand/", "") }, renames("w/operand", "w/dir/new"),
			func() error { return os.Symlink("../../../out/canary.txt", w.at("w/operand/link")) }},
	} {
		failed, succeeded := 0, 0
		for n := range 60 {
			for _, made := range []string{"w/operand", "w/away", "w/dir/new"} {
				if err := os.RemoveAll(w.at(made)); err != nil {
					t.Fatal(err)
				}
			}
			c.arrange()
			replaced := false
			seam.Before = func() {
				if n--; n != -1 {
					return
				}
				if _, err := os.Lstat(w.at("w/dir/new")); err == nil {
					return // the change has been made
				}
				if err := c.replace(); err != nil {
					t.Error(err)
				}
				replaced = true
			}
			errno := c.do(w)
			seam.Before = nil
			_, err := os.Lstat(w.at("w/dir/new"))
			switch {
			case replaced && (errno == 0 || err == nil):
				t.Errorf("%s: replaced, got %v; at the new name: %v", name, errno, err)
			case replaced:
				failed++
			case errno != 0:
				t.Errorf("%s: not replaced, got %v", name, errno)
			default:
				succeeded++
			}
		}
		if failed == 0 || succeeded == 0 {
			t.Errorf("%s: failed %d times, succeeded %d times", name, failed, succeeded)
		}
	}
}

// Another process moves the directory in which a symbolic link is created, so that its target would be relative to a different directory.
// No link is left there.
func TestLinkInMovedDirectoryIsRemoved(t *testing.T) {
	w := newWorld(t)
	defer func() { seam.Before = nil }()
	failed := 0
	for n := range 40 {
		for _, made := range []string{"w/here", "w/empty/there"} {
			if err := os.RemoveAll(w.at(made)); err != nil {
				t.Fatal(err)
			}
		}
		w.put("w/here/", "")
		moved := false
		seam.Before = func() {
			if n--; n != -1 {
				return
			}
			if _, err := os.Lstat(w.at("w/here/link")); err == nil {
				return // it has been checked or is checked next
			}
			if err := errors.Join(os.Rename(w.at("w/here"), w.at("w/empty/there")), os.Mkdir(w.at("w/here"), 0o755)); err != nil {
				t.Error(err)
			}
			moved = true
		}
		errno := symlinks("../a.txt", "w/here/link")(w)
		seam.Before = nil
		_, here := os.Lstat(w.at("w/here/link"))
		_, there := os.Lstat(w.at("w/empty/there/link"))
		if there == nil || (here == nil) != (errno == 0) {
			t.Errorf("moved %t, got %v; here %v, there %v", moved, errno, here, there)
		}
		if errno != 0 {
			failed++
		}
	}
	if failed == 0 {
		t.Error("the directory was never moved between the check and the change")
	}
}

// A tree whose host wants no reports refuses and fails as any other.
func TestTreeWithoutReports(t *testing.T) {
	w := newWorld(t)
	mounts, err := vfs.NewMounts([]vfs.Mount{{Path: "/absent", Write: true}})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		mounts *vfs.Mounts
		do     change
		want   sys.Errno
	}{
		"a refusal with a reason":        {w.mounts, renames("w/rel-out", "w/l"), sys.EACCES},
		"a refusal":                      {w.mounts, writes("ro/new"), sys.EACCES},
		"an error that has no own errno": {w.mounts, renames("w/a.txt", "p/a.txt"), sys.ENOTSUP},
		"an error of the host":           {mounts, func(w *world) sys.Errno { return w.fs.Mkdir("absent", 0o755) }, sys.EIO},
		"an ordinary error":              {w.mounts, opens("w/absent", sys.O_RDONLY), sys.ENOENT},
	} {
		w.fs = vfs.New(vfs.Config{Mounts: c.mounts})
		if errno := c.do(w); errno != c.want {
			t.Errorf("%s: got %v, want %v", name, errno, c.want)
		}
	}
	w = newWorld(t)
	for _, do := range []change{opens("w/absent", sys.O_RDONLY), mkdirs("w/dir"), rmdirs("w/dir"), unlinks("w/dir")} {
		if errno := do(w); errno == 0 || len(w.errors) > 0 {
			t.Errorf("got %v, and the report %v of an error that the module can understand", errno, w.errors)
		}
	}
}
