//go:build linux || darwin

package vfs_test

import (
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/vfs"
)

func TestFileHandle(t *testing.T) {
	w := newWorld(t)
	f := w.mustOpen("w/new", sys.O_RDWR|sys.O_CREAT)
	steps := []struct {
		rule string
		do   func() (int64, sys.Errno)
		want int64
		err  sys.Errno
	}{
		{"write counts its bytes", func() (int64, sys.Errno) { n, e := f.Write([]byte("hello")); return int64(n), e }, 5, 0},
		{"write goes on where it was", func() (int64, sys.Errno) { n, e := f.Write([]byte(" you")); return int64(n), e }, 4, 0},
		{"pwrite writes elsewhere", func() (int64, sys.Errno) { n, e := f.Pwrite([]byte("J"), 0); return int64(n), e }, 1, 0},
		{"and leaves the position", func() (int64, sys.Errno) { return f.Seek(0, io.SeekCurrent) }, 9, 0},
		{"a read at the end is empty, no error", func() (int64, sys.Errno) { n, e := f.Read(make([]byte, 8)); return int64(n), e }, 0, 0},
		{"pread may come up short", func() (int64, sys.Errno) { n, e := f.Pread(make([]byte, 8), 6); return int64(n), e }, 3, 0},
		{"seek from the end", func() (int64, sys.Errno) { return f.Seek(-3, io.SeekEnd) }, 6, 0},
		{"seek to before the start", func() (int64, sys.Errno) { _, e := f.Seek(-1, io.SeekStart); return 0, e }, 0, sys.EINVAL},
		{"seek with an invalid whence", func() (int64, sys.Errno) { return f.Seek(0, 3) }, 0, sys.EINVAL},
		{"seek with a negative whence", func() (int64, sys.Errno) { return f.Seek(0, -1) }, 0, sys.EINVAL},
		{"seek to a hole, as Linux can", func() (int64, sys.Errno) { return f.Seek(0, 4) }, 0, sys.EINVAL},
		{"pread before the start", func() (int64, sys.Errno) { n, e := f.Pread(nil, -1); return int64(n), e }, 0, sys.EINVAL},
		{"pwrite before the start", func() (int64, sys.Errno) { n, e := f.Pwrite(nil, -1); return int64(n), e }, 0, sys.EINVAL},
		{"truncate", func() (int64, sys.Errno) { return 0, f.Truncate(5) }, 0, 0},
		{"truncate to a negative size", func() (int64, sys.Errno) { return 0, f.Truncate(-1) }, 0, sys.EINVAL},
		{"sync", func() (int64, sys.Errno) { return 0, f.Sync() }, 0, 0},
		{"datasync", func() (int64, sys.Errno) { return 0, f.Datasync() }, 0, 0},
		{"stat tells the size", func() (int64, sys.Errno) { st, e := f.Stat(); return st.Size, e }, 5, 0},
		{"appending can be switched on", func() (int64, sys.Errno) { return 0, f.SetAppend(true) }, 0, 0},
		{"then writes go to the end", func() (int64, sys.Errno) { n, e := f.Write([]byte("!")); return int64(n), e }, 1, 0},
		{"and off", func() (int64, sys.Errno) { return 0, f.SetAppend(false) }, 0, 0},
		{"readdir is for directories", func() (int64, sys.Errno) { _, e := f.Readdir(1); return 0, e }, 0, sys.ENOSYS},
		{"close", func() (int64, sys.Errno) { return 0, f.Close() }, 0, 0},
		{"close again", func() (int64, sys.Errno) { return 0, f.Close() }, 0, 0},
		{"a closed file cannot be read", func() (int64, sys.Errno) { n, e := f.Read(make([]byte, 1)); return int64(n), e }, 0, sys.EBADF},
		{"nor written", func() (int64, sys.Errno) { n, e := f.Write([]byte("x")); return int64(n), e }, 0, sys.EBADF},
		{"nor switched", func() (int64, sys.Errno) { return 0, f.SetAppend(true) }, 0, sys.EBADF},
		{"nor synced", func() (int64, sys.Errno) { return 0, f.Datasync() }, 0, sys.EBADF},
		{"nor read elsewhere", func() (int64, sys.Errno) { _, e := f.Pread(make([]byte, 1), 0); return 0, e }, 0, sys.EBADF},
		{"nor written elsewhere", func() (int64, sys.Errno) { _, e := f.Pwrite([]byte("x"), 0); return 0, e }, 0, sys.EBADF},
		{"nor moved in", func() (int64, sys.Errno) { _, e := f.Seek(0, io.SeekStart); return 0, e }, 0, sys.EBADF},
		{"nor truncated", func() (int64, sys.Errno) { return 0, f.Truncate(0) }, 0, sys.EBADF},
		{"nor synced with its times", func() (int64, sys.Errno) { return 0, f.Sync() }, 0, sys.EBADF},
		{"nor described", func() (int64, sys.Errno) { _, e := f.Stat(); return 0, e }, 0, sys.EBADF},
		{"nor its times set", func() (int64, sys.Errno) { return 0, f.Utimens(0, 0) }, 0, sys.EBADF},
	}
	for _, s := range steps {
		if got, err := s.do(); got != s.want || err != s.err {
			t.Errorf("%s: got %d, %v; want %d, %v", s.rule, got, err, s.want, s.err)
		}
	}
	if got := w.host("w/new"); got != "Jello!" {
		t.Errorf("the file contains %q", got)
	}
}

func TestOpenFlagsApplyToHandle(t *testing.T) {
	w := newWorld(t)
	r := w.mustOpen("w/a.txt", sys.O_RDONLY)
	if _, errno := r.Write([]byte("x")); errno != sys.EBADF {
		t.Errorf("write to a file opened for reading: %v", errno)
	}
	if errno := r.Truncate(0); errno == 0 {
		t.Error("a file opened for reading was emptied")
	}
	wr := w.mustOpen("w/a.txt", sys.O_WRONLY)
	if _, errno := wr.Read(make([]byte, 1)); errno != sys.EBADF {
		t.Errorf("read from a file opened for writing: %v", errno)
	}
	a := w.mustOpen("w/a.txt", sys.O_WRONLY|sys.O_APPEND)
	if !a.IsAppend() {
		t.Error("IsAppend is false for a file opened for appending")
	}
	if _, errno := a.Write([]byte("+")); errno != 0 || w.host("w/a.txt") != "a+" {
		t.Errorf("append: %v, the file contains %q", errno, w.host("w/a.txt"))
	}
}

func TestDirectoryIsRewoundOnly(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"", "w"} {
		d := w.mustOpen(name, sys.O_RDONLY|sys.O_DIRECTORY)
		for offset, whence := range map[int64]int{1: io.SeekStart, -1: io.SeekStart, 0: io.SeekCurrent, 2: io.SeekEnd} {
			if _, errno := d.Seek(offset, whence); errno != sys.EINVAL {
				t.Errorf("%q: seek to %d from %d: got %v", name, offset, whence, errno)
			}
		}
		if first, again := w.names(d, 0), w.names(d, 2); len(first) == 0 || len(again) != 0 {
			t.Errorf("%q: got %q, then %q", name, first, again)
		}
		handles := w.fs.Handles()
		for range 2 {
			if errno := d.Close(); errno != 0 || w.fs.Handles() != handles-1 {
				t.Errorf("%q: close: %v, %d handles", name, errno, w.fs.Handles())
			}
		}
		if _, errno := d.Readdir(1); errno != sys.EBADF {
			t.Errorf("%q: listing a closed directory: got %v", name, errno)
		}
	}
}

func TestDirectoryHandle(t *testing.T) {
	w := newWorld(t)
	var want []string
	for i := range 1000 {
		name := fmt.Sprintf("f%04d", i)
		want = append(want, name)
		w.put("w/many/"+name, "")
	}
	d := w.mustOpen("w/many", sys.O_RDONLY|sys.O_DIRECTORY)
	for _, n := range []int{-1, 0, 1, 7, 999, 1000, 1001, 1 << 30} {
		if _, errno := d.Seek(0, io.SeekStart); errno != 0 {
			t.Fatalf("Seek to the start: got %v", errno)
		}
		got := w.names(d, n)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("in portions of %d (-want +got):\n%s", n, diff)
		}
	}
	w.put("w/many/late", "")
	if _, errno := d.Seek(0, io.SeekStart); errno != 0 {
		t.Fatal(errno)
	}
	if !slices.Contains(w.names(d, 100), "late") {
		t.Error("a rewound directory does not list what was added")
	}
	st, _ := w.fs.Stat(w.in("w/many"))
	if ino, errno := d.Ino(); errno != 0 || ino == 0 || ino != st.Ino {
		t.Errorf("inode %d, %v; stat says %d", ino, errno, st.Ino)
	}
	if isDir, errno := d.IsDir(); !isDir || errno != 0 {
		t.Errorf("IsDir of a directory: got %v, %v", isDir, errno)
	}
	if _, errno := d.Read(make([]byte, 1)); errno != sys.EISDIR {
		t.Errorf("Read of a directory: got %v, want EISDIR", errno)
	}
	if _, errno := d.Seek(1, io.SeekStart); errno != sys.EINVAL {
		t.Errorf("seek elsewhere: %v", errno)
	}
	if errno := d.Sync(); errno != 0 {
		t.Errorf("Sync of a directory: got %v", errno)
	}
	if errno := d.Utimens(1, 1); errno != 0 {
		t.Errorf("Utimens of a directory: got %v", errno)
	}
	d.Close()
	if _, errno := d.Readdir(1); errno != sys.EBADF {
		t.Errorf("list a closed directory: %v", errno)
	}
}

func TestVirtualDirectoriesListOnlyMounts(t *testing.T) {
	w := newWorld(t)
	// Mounts below a directory are listed as its entries; absent mounts are not listed.
	for p, want := range map[string][]string{
		"":            {"p", "ro", "w"},
		"p/deep/er":   {"grant"},
		"p/deep/er/.": {"grant"},
	} {
		d := w.mustOpen(p, sys.O_RDONLY)
		if got := w.names(d, 1); !slices.Equal(got, want) {
			t.Errorf("%q lists %q, want %q", p, got, want)
		}
		if _, errno := d.Seek(0, io.SeekStart); errno != 0 {
			t.Errorf("Seek to the start: got %v", errno)
		}
		if got := w.names(d, -1); !slices.Equal(got, want) {
			t.Errorf("%q lists again %q, want %q", p, got, want)
		}
	}
	other := vfs.New(vfs.Config{Mounts: w.mounts})
	if errno := other.Mkdir(w.in("absent"), 0); errno != 0 {
		t.Fatal(errno)
	}
	if got := w.names(w.mustOpen("", sys.O_RDONLY), 10); !slices.Contains(got, "absent") {
		t.Errorf("a mount that another instance created is not listed: %q", got)
	}
	for p := w.root; p != "/"; p = path.Dir(p) {
		d, errno := w.fs.OpenFile(path.Dir(p), sys.O_RDONLY, 0)
		if errno != 0 {
			t.Fatalf("open %s: %v", path.Dir(p), errno)
		}
		if got := w.names(d, 10); !slices.Equal(got, []string{path.Base(p)}) {
			t.Errorf("the virtual directory %s lists %q", path.Dir(p), got)
		}
		d.Close()
		if _, errno := d.Readdir(1); errno != sys.EBADF {
			t.Errorf("list a closed directory: %v", errno)
		}
	}
	a, _ := w.fs.Stat("/")
	b, _ := w.fs.Stat(".")
	c, _ := w.fs.Stat(w.root)
	if a.Mode != fs.ModeDir|0o555 || a.Ino != b.Ino || a.Ino == c.Ino || a.Ino == 0 {
		t.Errorf("virtual directories: %+v, %+v, %+v", a, b, c)
	}
}

func TestMaxOpen(t *testing.T) {
	w := newWorld(t, func(c *vfs.Config) { c.MaxOpen = 2 })
	a := w.mustOpen("w/a.txt", sys.O_RDONLY)
	w.mustOpen("", sys.O_RDONLY)
	for range 3 {
		if _, errno := w.open("w/a.txt", sys.O_RDONLY); errno != sys.EIO {
			t.Errorf("open beyond the limit: got %v, want EIO", errno)
		}
	}
	if len(w.errors) != 3 || w.errors[0].Error() != "the plugin has 2 files and directories open, as many as limits.files allows" {
		t.Errorf("got the reported errors %v, want three about the limit of open files", w.errors)
	}
	a.Close()
	a.Close()
	w.mustOpen("w/a.txt", sys.O_RDONLY)
	if _, errno := w.open("w/a.txt", sys.O_RDONLY); errno != sys.EIO {
		t.Errorf("open, after one file was closed twice: got %v; the limit counts the file as two", errno)
	}
}

// Another instance of the same module replaces directories and files by symbolic links while this one writes. At no point
// may the write go through the link.
func TestSwappedLinksAreNotFollowedOnWrite(t *testing.T) {
	w := newWorld(t)
	w.put("w/.git/hooks/t", "hook")
	w.put("w/swap/t", "plain")
	w.put("w/t", "plain")
	// The swaps use a file tree, as a module would.
	swaps := []func(){
		func() {
			w.fs.Rename(w.in("w/swap"), w.in("w/swap.real"))
			w.fs.Symlink(".git/hooks", w.in("w/swap"))
			w.fs.Unlink(w.in("w/swap"))
			w.fs.Rename(w.in("w/swap.real"), w.in("w/swap"))
		},
		func() {
			w.fs.Rename(w.in("w/t"), w.in("w/t.real"))
			w.fs.Symlink(".git/hooks/t", w.in("w/t"))
			w.fs.Unlink(w.in("w/t"))
			w.fs.Rename(w.in("w/t.real"), w.in("w/t"))
		},
	}
	other := vfs.New(vfs.Config{Mounts: vfs.MountsAt(t, vfs.Mount{Path: w.at("w"), Write: true})})
	stop := make(chan struct{})
	var done sync.WaitGroup
	for _, swap := range swaps {
		done.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					swap()
				}
			}
		})
	}
	wrote := 0
	for range 500 {
		for _, name := range []string{"w/swap/t", "w/t"} {
			f, errno := other.OpenFile(w.in(name), sys.O_WRONLY|sys.O_CREAT|sys.O_TRUNC, 0)
			if errno != 0 {
				continue
			}
			f.Write([]byte("changed"))
			f.Close()
			wrote++
		}
		other.Mkdir(w.in("w/swap/new"), 0)
		other.Rename(w.in("w/a.txt"), w.in("w/swap/a"))
		other.Rename(w.in("w/swap/a"), w.in("w/a.txt"))
	}
	close(stop)
	done.Wait()
	if wrote == 0 {
		t.Error("no write succeeded, so the test proves nothing")
	}
	if got := w.host("w/.git/hooks/t"); got != "hook" {
		t.Errorf("the hook contains %q, want it unchanged", got)
	}
	entries := w.names(w.mustOpen("w/.git/hooks", sys.O_RDONLY), -1)
	if !slices.Equal(entries, []string{"t"}) {
		t.Errorf("the directory of hooks contains %s, want t only", strings.Join(entries, " "))
	}
}

// A file that is opened with O_TRUNC is empty afterwards, however much of it is written.
func TestOpenTruncates(t *testing.T) {
	w := newWorld(t)
	w.put("w/long", "a longer content")
	if errno := w.write("w/long", "short"); errno != 0 || w.host("w/long") != "short" {
		t.Errorf("writing: the file contains %q, %v", w.host("w/long"), errno)
	}
	if errno := opens("w/long", sys.O_RDONLY|sys.O_TRUNC)(w); errno != 0 || w.host("w/long") != "" {
		t.Errorf("opening for reading: the file contains %q, %v", w.host("w/long"), errno)
	}
}
