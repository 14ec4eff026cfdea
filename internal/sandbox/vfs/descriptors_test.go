//go:build linux || darwin

package vfs_test

import (
	"os"
	"runtime/debug"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/vfs"
)

// A module must not exhaust the descriptors of its process, whether its operations succeed, fail or are refused.
func TestOperationsLeaveNoDescriptorOpen(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection closes forgotten files
	w := newWorld(t)
	gitDirectories(w)
	descriptors := func() int {
		entries, err := os.ReadDir("/dev/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(entries)
	}
	scan := func(dir string, o vfs.Scan, visit bool) change {
		return func(w *world) sys.Errno { return w.fs.Scan(w.in(dir), o, func(*vfs.Scanned) bool { return visit }) }
	}
	access := func(name string) change {
		return func(w *world) sys.Errno { _, _ = w.fs.Access(w.at(name)); return 0 }
	}
	stats := func(name string) change {
		return func(w *world) sys.Errno { _, errno := w.fs.Stat(w.in(name)); return errno }
	}
	readlinks := func(name string) change {
		return func(w *world) sys.Errno { _, errno := w.fs.Readlink(w.in(name)); return errno }
	}
	born := func(name string) change {
		return func(w *world) sys.Errno { _, _ = w.fs.Born(w.in(name)); return 0 }
	}
	directory := func(name string) change {
		return func(w *world) sys.Errno {
			file, errno := w.fs.OpenDirectory(w.at(name))
			if errno == 0 {
				_ = file.Close()
			}
			return errno
		}
	}
	const deep, up = "p/deep/er/grant/../grant/g.txt", "w/dir/../dirlink/b.txt"
	for name, do := range map[string]change{
		"stat": stats(up), "stat deep": stats(deep), "stat absent": stats("w/dir/../dir/absent"), "stat below a file": stats("w/dirlink/b.txt/x"), "stat a directory": stats("w/dirlink/"),
		"stat out": stats("w/dir-out/canary.txt"), "a cycle": stats("w/dir/../loop"), "a virtual directory": stats("p/deep"), "a file as a directory": stats("w/dirlink/b.txt/"),
		"readlink": readlinks("w/dir/../link"), "readlink of a file": readlinks(up), "readlink absent": readlinks("w/dirlink/absent"), "born": born(up), "born absent": born("w/dirlink/absent"),
		"access": access(up), "access out": access("w/dir-out/x"), "access absent": access("w/dirlink/absent/x"), "access in git": access("w/linked/.git/inner/b.txt"),
		"open": opens(up, sys.O_RDONLY), "open to write": opens(up, sys.O_RDWR), "open a directory": opens("w/dirlink", sys.O_RDONLY), "open a virtual one": opens("p/deep", sys.O_RDONLY),
		"open absent": opens("w/dirlink/absent", sys.O_RDONLY), "open what exists": opens(up, sys.O_RDWR|sys.O_CREAT|sys.O_EXCL), "write a directory": opens("w/dirlink", sys.O_RDWR),
		"refused": writes("w/dirlink/../../ro/d/new"), "in git": writes("w/linked/.git/new"), "make": writes("w/dirlink/new"), "make again": mkdirs("w/dirlink/new"), "make a directory": mkdirs("w/dirlink/d"),
		"complete a git directory": mkdirs("w/most/../most/HEAD"), "link": symlinks("b.txt", "w/dirlink/l"), "link out": symlinks("/etc/passwd", "w/dirlink/l2"),
		"hard link": links(up, "w/dirlink/h"), "hard link of a link": links("w/link", "w/dirlink/h2"), "mode": chmods(up), "times": utimens(up), "mode in ro": chmods("p/alias/s.txt"),
		"rename": renames("w/dirlink/new", "w/dirlink/moved"), "rename between mounts": renames(up, "p/new"), "rename over a mount": renames("w/dirlink/d", "p/deep"),
		"rename to a file with a slash": renames(up, "w/dirlink/x/"), "rename absent": renames("w/dirlink/absent", "w/x"), "rename into ro": renames(up, "p/sub/x"),
		"remove": unlinks("w/dirlink/h"), "remove a directory": unlinks("w/dirlink/d"), "remove a file as a directory": rmdirs(up), "remove absent": rmdirs("w/dirlink/absent"),
		"open for the host": directory("w/dirlink"), "a file for the host": directory(up), "ro for the host": directory("ro/d"),
		"scan": scan("w/dirlink/..", vfs.Scan{Depth: 9, Follow: true}, true), "scan mounts": scan("", vfs.Scan{Depth: 9, Follow: true}, true), "scan and stop": scan("", vfs.Scan{Depth: 9, Follow: true}, false),
		"scan a file": scan(up, vfs.Scan{Depth: 1}, true), "scan nothing": scan("w/dirlink/absent", vfs.Scan{Depth: 1}, true), "resume": scan("w", vfs.Scan{Depth: 9, After: "dir/b.txt"}, true),
	} {
		before := descriptors()
		errno := do(w)
		if after := descriptors(); after != before || w.fs.Handles() != 0 {
			t.Errorf("%s, %v: %d descriptors more, %d handles", name, errno, after-before, w.fs.Handles())
		}
	}
}
