//go:build linux || darwin

package vfs_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/vfs"
)

// visited returns the paths that a scan visits, and its errno. each is called for each entry, and returns whether the scan goes on.
func visited(w *world, dir string, o vfs.Scan, each func(*vfs.Scanned) bool) (paths []string, errno sys.Errno) {
	errno = w.fs.Scan(w.in(dir), o, func(e *vfs.Scanned) bool {
		paths = append(paths, e.Dir+e.Name)
		return each(e)
	})
	return paths, errno
}

func TestScanEndsWhenVisitReturnsFalse(t *testing.T) {
	w := newWorld(t)
	all, errno := visited(w, "p", vfs.Scan{Depth: 9}, func(*vfs.Scanned) bool { return true })
	if errno != 0 || !slices.Contains(all, "deep/er/grant/g.txt") {
		t.Fatalf("got %q, %v", all, errno)
	}
	for n, last := range all {
		got, errno := visited(w, "p", vfs.Scan{Depth: 9}, func(e *vfs.Scanned) bool { return e.Dir+e.Name != last })
		if errno != 0 || !slices.Equal(got, all[:n+1]) {
			t.Errorf("stopped at %s: got %q, %v", last, got, errno)
		}
	}
}

// A scan ends with the call for which it runs, and visits nothing more.
func TestScanEndsWithItsContext(t *testing.T) {
	for name, end := range map[string]struct {
		during func(cancel func()) vfs.Scan
		visit  func(cancel func()) func(*vfs.Scanned) bool
		want   []string
	}{
		"before the scan": {func(cancel func()) vfs.Scan { cancel(); return vfs.Scan{Depth: 9} }, nil, nil},
		"before a directory is entered": {func(cancel func()) vfs.Scan {
			return vfs.Scan{Depth: 9, Enter: func(name string) bool {
				if name == "er" {
					cancel()
				}
				return true
			}}
		}, nil, []string{"absalias", "alias", "deep"}},
		"at an entry": {nil, func(cancel func()) func(*vfs.Scanned) bool {
			return func(e *vfs.Scanned) bool {
				if e.Name == "alias" {
					cancel()
				}
				return true
			}
		}, []string{"absalias", "alias"}},
		"in a directory": {nil, func(cancel func()) func(*vfs.Scanned) bool {
			return func(e *vfs.Scanned) bool {
				if e.Name == "er" {
					cancel()
				}
				return true
			}
		}, []string{"absalias", "alias", "deep", "deep/er"}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			w := newWorld(t, func(c *vfs.Config) { c.Context = func() context.Context { return ctx } })
			o, visit := vfs.Scan{Depth: 9}, func(*vfs.Scanned) bool { return true }
			if end.during != nil {
				o = end.during(cancel)
			}
			if end.visit != nil {
				visit = end.visit(cancel)
			}
			got, errno := visited(w, "p", o, visit)
			if errno != sys.EIO || len(w.errors) != 1 || !errors.Is(w.errors[0], context.Canceled) || !slices.Equal(got, end.want) {
				t.Errorf("got %q, %v, reported %v; want %q", got, errno, w.errors, end.want)
			}
		})
	}
}

// The names of all directories on the path of a scan may take 8 MiB.
func TestListingsOfScanAreBounded(t *testing.T) {
	w := newWorld(t)
	w.put("w/many/", "")
	const each = 64 + 250 // of an entry and its name
	var made int
	for ; made < 8<<20/each-1; made++ {
		if err := os.Link(w.at("w/a.txt"), fmt.Sprintf("%s/%0250d", w.at("w/many"), made)); err != nil {
			t.Skip(err)
		}
	}
	for _, c := range []struct {
		dir   string
		depth int
		want  sys.Errno
	}{{"w/many", 1, 0}, {"w", 1, 0}, {"w", 2, sys.ERANGE}} {
		entries := 0
		errno := w.fs.Scan(w.in(c.dir), vfs.Scan{Depth: c.depth}, func(*vfs.Scanned) bool { entries++; return true })
		if errno != c.want || c.want == 0 && c.dir == "w/many" && entries != made {
			t.Errorf("%s, depth %d: visited %d, %v; want %v", c.dir, c.depth, entries, errno, c.want)
		}
	}
	for n := range 2 {
		if err := os.Link(w.at("w/a.txt"), fmt.Sprintf("%s/%0250d", w.at("w/many"), made+n)); err != nil {
			t.Skip(err)
		}
	}
	if errno := w.fs.Scan(w.in("w/many"), vfs.Scan{Depth: 1}, func(*vfs.Scanned) bool { return true }); errno != sys.ERANGE {
		t.Errorf("more than 8 MiB in one directory: got %v", errno)
	}
}

// A path of more than 4096 bytes cannot be used, so its entry is described as unreadable.
func TestScanShowsThatPathIsTooLong(t *testing.T) {
	w := newWorld(t)
	t.Chdir(w.at("w"))
	const name = 250
	left := 4096 - len(w.at("w")) - len("/")
	for left > name+1+name {
		dir := strings.Repeat("d", name)
		if err := errors.Join(os.Mkdir(dir, 0o755), os.Chdir(dir)); err != nil {
			t.Fatal(err)
		}
		left -= name + len("/")
	}
	dir := strings.Repeat("e", left-1-100)
	if err := errors.Join(os.Mkdir(dir, 0o755), os.Chdir(dir)); err != nil {
		t.Fatal(err)
	}
	for _, length := range []int{100, 101} {
		if err := os.WriteFile(strings.Repeat("f", length), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	unreadable := map[int]bool{}
	paths, errno := visited(w, "w", vfs.Scan{Depth: 30}, func(e *vfs.Scanned) bool {
		if e.Name[0] == 'f' && e.Name[1] == 'f' {
			unreadable[len(w.at("w/")+"/"+e.Dir+e.Name)] = e.Unreadable
		}
		return true
	})
	if errno != 0 || len(unreadable) != 2 || unreadable[4096] || !unreadable[4097] {
		t.Errorf("visited %d entries, %v; unreadable: %v", len(paths), errno, unreadable)
	}
}

// A directory that is an ancestor of a mount, and the path of an absent one, is neither listed nor described.
func TestScanShowsAbsentMountAboveMount(t *testing.T) {
	w := newWorld(t)
	w.put("top/absent/sub/f", "f")
	if err := os.Rename(w.at("top/absent/sub"), w.at("sub")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(w.at("top/absent")); err != nil {
		t.Fatal(err)
	}
	sub, err := os.Open(w.at("sub"))
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	mounts, err := vfs.NewMounts([]vfs.Mount{{Path: w.at("top/absent"), Write: true}, {Path: w.at("top/absent/sub"), Dir: sub}})
	if err != nil {
		t.Fatal(err)
	}
	w.fs = vfs.New(vfs.Config{Mounts: mounts})
	var got []string
	for _, s := range scanned(t, w.fs, w.in("top"), vfs.Scan{Depth: 9}) {
		got = append(got, fmt.Sprint(s.Path, s.Unreadable))
	}
	if want := []string{"absenttrue"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, errno := w.read("top/absent/sub/f"); got != "f" || errno != 0 {
		t.Errorf("the mount below: got %q, %v", got, errno)
	}
}

func TestScannedFilesAreOpened(t *testing.T) {
	w := newWorld(t)
	got := map[string]string{}
	_, errno := visited(w, "w", vfs.Scan{Depth: 1, Follow: true}, func(e *vfs.Scanned) bool {
		file, err := e.Open()
		if err != nil {
			got[e.Name] = err.Error()
			if content, err := e.Append([]byte("x")); err != sys.EISDIR || string(content) != "x" {
				t.Errorf("the content of %s, which cannot be opened, is %q, %v", e.Name, content, err)
			}
			return true
		}
		defer file.Close()
		content, err := io.ReadAll(file)
		got[e.Name] = fmt.Sprintf("%s %v", content, err)
		return true
	})
	if errno != 0 {
		t.Error(errno)
	}
	for name, want := range map[string]string{
		"a.txt": "a <nil>", "link": "a <nil>", "abs": "b <nil>", "toro": "r <nil>",
		"dir": sys.EISDIR.Error(), "dirlink": sys.EISDIR.Error(), "dangling": sys.EISDIR.Error(), "abs-out": sys.EISDIR.Error(), "dir-out": sys.EISDIR.Error(),
	} {
		if got[name] != want {
			t.Errorf("%s: got %q, want %q", name, got[name], want)
		}
	}
}

// A file is described again after it has changed. What is no regular file any more keeps its description, and is unreadable.
func TestRefreshDescribesChangedFile(t *testing.T) {
	for name, c := range map[string]struct {
		entry  string
		change func(path string) error
		want   string // "" if the entry is unreadable
	}{
		"a longer file":                 {"a.txt", func(p string) error { return os.WriteFile(p, []byte("longer"), 0o644) }, "longer"},
		"a file that was replaced":      {"a.txt", func(p string) error { return errors.Join(os.Remove(p), os.WriteFile(p, []byte("new"), 0o644)) }, "new"},
		"a file that was removed":       {"a.txt", os.Remove, ""},
		"a directory":                   {"a.txt", func(p string) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o755)) }, ""},
		"a link out of the grant":       {"a.txt", func(p string) error { return errors.Join(os.Remove(p), os.Symlink("../out/canary.txt", p)) }, ""},
		"a link to a file":              {"a.txt", func(p string) error { return errors.Join(os.Remove(p), os.Symlink("dir/b.txt", p)) }, "b"},
		"a link to another file":        {"link", func(p string) error { return errors.Join(os.Remove(p), os.Symlink("dir/b.txt", p)) }, "b"},
		"a link whose target is longer": {"link", func(p string) error { return os.WriteFile(filepath.Dir(p)+"/a.txt", []byte("longer"), 0o644) }, "longer"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			_, errno := visited(w, "w", vfs.Scan{Depth: 1, Follow: true}, func(e *vfs.Scanned) bool {
				if e.Name != c.entry {
					return true
				}
				before := *e
				if err := c.change(w.at("w/" + c.entry)); err != nil {
					t.Fatal(err)
				}
				if content, err := e.Append(nil); err == nil && c.entry != "link" { // a link's former target can still be read
					t.Errorf("read before the refresh: %q", content)
				}
				e.Refresh()
				if c.want == "" {
					if !e.Unreadable || e.IsRegular() || e.Kind != before.Kind || e.Stat != before.Stat || e.Linked != before.Linked {
						t.Errorf("got %+v, want the description %+v", e, before)
					}
					return true
				}
				content, err := e.Append(nil)
				if err != nil || string(content) != c.want || e.Stat.Size != int64(len(c.want)) || e.Unreadable {
					t.Errorf("got %q, %v, %+v; want %q", content, err, e, c.want)
				}
				return true
			})
			if errno != 0 {
				t.Error(errno)
			}
		})
	}
}
