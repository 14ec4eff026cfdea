//go:build linux || darwin

package vfs_test

import (
	"errors"
	"os"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/internal/seam"
)

// atEachCall runs do as often as it has system calls, each time in a new world, and another process's change before one of these calls.
func atEachCall(t *testing.T, change func(*world), do func(w *world), check func(w *world, at int)) {
	t.Helper()
	defer func() { seam.Before = nil }()
	for at, reached := 0, true; reached; at++ {
		w, calls := newWorld(t), 0
		gitDirectories(w)
		seam.Before = func() {
			if calls++; calls == at+1 {
				change(w)
			}
		}
		do(w)
		seam.Before = nil
		reached = calls > at
		check(w, at)
	}
}

// An operation that reports success has made its change, unless another process has undone it since.
func TestChangeUnderRaceIsNotReportedAsDone(t *testing.T) {
	remove := func(name string) func(*world) { return func(w *world) { _ = os.Remove(w.at(name)) } }
	away := func(name string) func(*world) {
		return func(w *world) {
			if err := os.Rename(w.at(name), w.at("w/moved-away")); err == nil {
				w.put(name+"/", "")
			}
		}
	}
	for name, c := range map[string]struct {
		do    change
		race  func(*world)
		after string // exists after success
	}{
		"a link that is removed":               {symlinks("../a.txt", "w/dir/new"), remove("w/dir/new"), "w/dir/new"},
		"a link whose directory moves":         {symlinks("../a.txt", "w/dir/new"), away("w/dir"), "w/dir/new"},
		"a renamed link whose directory moves": {renames("w/dangling", "w/dir/new"), away("w/dir"), "w/dir/new"},
		"a renamed link that is removed":       {renames("w/abs", "w/empty/new"), remove("w/abs"), "w/empty/new"},
		"a renamed directory that moves":       {renames("w/gitdata", "w/dir/new"), away("w/dir"), "w/dir/new"},
		"a renamed file that is removed":       {renames("w/a.txt", "w/empty/new"), remove("w/a.txt"), "w/empty/new"},
		"a hard link to a removed file":        {links("w/a.txt", "w/empty/new"), remove("w/a.txt"), "w/empty/new"},
	} {
		t.Run(name, func(t *testing.T) {
			var errno sys.Errno
			removed := false
			atEachCall(t, func(w *world) {
				_, before := os.Lstat(w.at(c.after))
				c.race(w)
				_, after := os.Lstat(w.at(c.after))
				removed = before == nil && after != nil
			}, func(w *world) {
				removed = false
				errno = c.do(w)
			}, func(w *world, at int) {
				_, err := os.Lstat(w.at(c.after))
				if errno == 0 && err != nil && !removed {
					t.Errorf("before system call %d: the operation succeeded, but %s does not exist", at, c.after)
				}
				if errno != 0 && err == nil && !removed {
					t.Errorf("before system call %d: got %v, but %s exists", at, errno, c.after)
				}
			})
		})
	}
}

// A link that is replaced by a file while it is followed does not vanish from the path.
func TestReplacedLinkIsNotLeftOut(t *testing.T) {
	var got string
	atEachCall(t, func(w *world) {
		if err := errors.Join(os.Remove(w.at("w/dirlink")), os.WriteFile(w.at("w/dirlink"), nil, 0o644)); err != nil {
			t.Error(err)
		}
	}, func(w *world) {
		w.put("w/b.txt", "beside")
		got, _ = w.read("w/dirlink/b.txt")
	}, func(_ *world, at int) {
		if got != "" && got != "b" {
			t.Errorf("before system call %d: read %q", at, got)
		}
	})
}
