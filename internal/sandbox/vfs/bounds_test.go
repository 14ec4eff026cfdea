//go:build linux || darwin

package vfs_test

import (
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/vfs"
)

// The bounds are in digits here, so that a change of a constant fails.

func TestPathsAreBounded(t *testing.T) {
	w := newWorld(t)
	w.put("w/0", "end")
	for n := range 41 {
		w.put("w/"+strconv.Itoa(n+1), "->"+strconv.Itoa(n))
	}
	padded := func(size int) string {
		const end = "w/a.txt"
		slashes := size - len(w.in(end))
		return strings.Repeat("/", slashes) + end
	}
	for name, want := range map[string]sys.Errno{
		"w/40": 0, "w/41": sys.ELOOP, padded(4096): 0, padded(4097): sys.ENAMETOOLONG,
		"w/" + strings.Repeat("dir/../", 40) + "a.txt": 0, "w/" + strings.Repeat("dir/../", 500) + "a.txt": sys.ENAMETOOLONG,
	} {
		if _, errno := w.fs.Stat(w.in(name)); errno != want {
			t.Errorf("%.20s, %d bytes: got %v, want %v", name, len(w.in(name)), errno, want)
		}
	}
	for size, want := range map[int]sys.Errno{4095: 0, 4097: sys.ENAMETOOLONG} {
		if errno := w.fs.Symlink(strings.Repeat("./", size/2)+"a", w.in("w/target"+strconv.Itoa(size))); errno != want {
			t.Errorf("a target of %d bytes: got %v, want %v", size, errno, want)
		}
	}
}

func TestOpenFilesAreBoundedByDefault(t *testing.T) {
	w := newWorld(t)
	for n := range 256 {
		if f, errno := w.open("w/a.txt", sys.O_RDONLY); errno != 0 {
			t.Fatalf("file %d: %v", n+1, errno)
		} else {
			t.Cleanup(func() { f.Close() })
		}
	}
	if _, errno := w.open("w/a.txt", sys.O_RDONLY); errno == 0 {
		t.Error("257 files are open")
	}
}

// TestPendingNamesOfMovedDirectoryAreBounded moves a directory of directories whose names have 4 MiB.
func TestPendingNamesOfMovedDirectoryAreBounded(t *testing.T) {
	testenv.NotShort(t, "makes 17,000 directories")
	w := newWorld(t)
	w.put("w/dir/many/", "")
	make17 := func(n int) {
		for i := range n {
			if err := os.Mkdir(fmt.Sprintf("%s/%05d%s", w.at("w/dir/many"), i, strings.Repeat("n", 245)), 0o755); err != nil && !os.IsExist(err) {
				t.Fatal(err)
			}
		}
	}
	make17(16_000)
	if errno := w.fs.Rename(w.in("w/dir/many"), w.in("w/many")); errno != 0 {
		t.Errorf("4,016,000 bytes: %v", errno)
	}
	if errno := w.fs.Rename(w.in("w/many"), w.in("w/dir/many")); errno != 0 {
		t.Fatal(errno)
	}
	make17(17_000)
	if errno := w.fs.Rename(w.in("w/dir/many"), w.in("w/many")); errno != sys.EPERM {
		t.Errorf("4,267,000 bytes: got %v, want EPERM", errno)
	}
}

// TestRenameTakesModeOfReplacedFileOnly has links, whose own mode says nothing: a private file must not become public by replacing one,
// and a link must not change the mode of its target.
func TestRenameTakesModeOfReplacedFileOnly(t *testing.T) {
	for name, c := range map[string]struct{ from, to, look string }{
		"a private file replaces a link":             {"w/private", "w/link", "w/link"},
		"a private file replaces a link to nothing":  {"w/private", "w/dangling", "w/dangling"},
		"a link to a private file replaces a file":   {"w/toprivate", "w/a.txt", "w/private"},
		"a link replaces a link to a private file":   {"w/link", "w/toprivate", "w/private"},
		"a private file gets a new name":             {"w/private", "w/new", "w/new"},
		"a private file replaces one as private":     {"w/private", "w/private2", "w/private2"},
		"a private directory replaces an empty one":  {"w/closed", "w/empty", "w/empty"},
		"a public file replaces a private one":       {"w/a.txt", "w/private", "w/private"},
		"a public file replaces one of another mode": {"w/a.txt", "w/readonly", "w/readonly"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.put("w/private", "p")
			w.put("w/private2", "p")
			w.put("w/readonly", "r")
			w.put("w/toprivate", "->private")
			w.put("w/closed/", "")
			for name, mode := range map[string]fs.FileMode{"w/private": 0o600, "w/private2": 0o600, "w/readonly": 0o440, "w/closed": 0o700} {
				if err := os.Chmod(w.at(name), mode); err != nil {
					t.Fatal(err)
				}
			}
			want := fs.FileMode(0o600)
			switch c.to {
			case "w/empty":
				want = 0o700 | fs.ModeDir
			case "w/readonly":
				want = 0o440
			}
			if errno := renames(c.from, c.to)(w); errno != 0 {
				t.Fatal(errno)
			}
			if info, err := os.Lstat(w.at(c.look)); err != nil || info.Mode() != want {
				t.Errorf("%s: got %v, %v, want %v", c.look, info.Mode(), err, want)
			}
		})
	}
}

// TestFailedCreationOfGitPartIsReported has names for which the tree checks whether they complete a git directory.
func TestFailedCreationOfGitPartIsReported(t *testing.T) {
	for name, c := range map[string]struct {
		do   change
		want sys.Errno
	}{
		"a directory":            {mkdirs("w/most/objects"), sys.EEXIST},
		"a link":                 {symlinks("../a.txt", "w/most/refs"), sys.EEXIST},
		"a hard link":            {links("w/a.txt", "w/most/refs"), sys.EEXIST},
		"a renamed file":         {renames("w/a.txt", "w/most/refs"), sys.EISDIR},
		"a renamed directory":    {renames("w/dir", "w/other/HEAD"), sys.ENOTDIR},
		"a file, exclusively":    {opens("w/other/HEAD", sys.O_WRONLY|sys.O_CREAT|sys.O_EXCL), sys.EEXIST},
		"a directory of a child": {renames("w/most", "w/most/objects/refs"), sys.EINVAL},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			gitDirectories(w)
			before := snapshot(t, w.root)
			if errno := c.do(w); errno != c.want {
				t.Errorf("got %v, want %v", errno, c.want)
			}
			if after := snapshot(t, w.root); fmt.Sprint(before) != fmt.Sprint(after) {
				t.Error("the files changed")
			}
		})
	}
}

func TestAccessDecidesOnAbsentPaths(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct {
		path        string
		read, write bool
	}{
		"w/absent": {"w/absent", true, true}, "w/absent/below": {"w/absent/below", true, true}, "w/absent/../a.txt": {"w/absent", true, true},
		"w/absent/x/../y": {"w/absent/x", true, true}, "ro/absent": {"ro/absent", true, false}, "p/sub/absent": {"p/sub/absent", true, false},
		"w/a.txt/below": {"w/a.txt/below", true, true}, "w/dir-out/absent": {"out/absent", false, false}, "out/absent": {"out/absent", false, false},
		"w/.git/absent": {"w/.git/absent", true, false}, "absent/x": {"absent/x", true, true}, "absent-ro/x": {"absent-ro/x", true, false},
	} {
		got, err := w.fs.Access(w.at("") + "/" + name)
		if err != nil || got.Virtual || got.Read != c.read || got.Write != c.write || got.Path != w.at(c.path) && c.read {
			t.Errorf("%s: got %+v, %v, want %+v", name, got, err, c)
		}
	}
	if got, err := w.fs.Access(w.at("p/..")); err != nil || !got.Virtual || got.Path != w.root {
		t.Errorf("above the mounts: got %+v, %v", got, err)
	}
	if _, err := w.fs.Access("relative\x00"); err == nil {
		t.Error("a path with a zero is accepted")
	}
}

// Access tells where a path was refused, and by which mount. Nothing behind that place is disclosed.
func TestAccessTellsWherePathIsRefused(t *testing.T) {
	w := newWorld(t, func(c *vfs.Config) { c.Hidden = func(p string, _ bool) bool { return strings.Contains(p, "/module") } })
	gitDirectories(w)
	mounts, err := vfs.NewMounts([]vfs.Mount{{Path: "/absent/hooks", Write: true, InGit: true}})
	if err != nil {
		t.Fatal(err)
	}
	absent := vfs.New(vfs.Config{Mounts: mounts})
	for name, c := range map[string]struct {
		tree *vfs.FS
		path string
		want vfs.Access
	}{
		"a link at a mount":           {w.fs, w.at("p/evil/canary.txt"), vfs.Access{Path: w.at("p/evil"), Mount: w.at("p/evil")}},
		"a hidden directory":          {w.fs, w.at("w/module/x/y"), vfs.Access{Path: w.at("w/module"), Mount: w.at("w"), Hidden: true}},
		"in no mount":                 {w.fs, w.at("out/x/y"), vfs.Access{Path: w.at("out")}},
		"in .git":                     {w.fs, w.at("w/.git/config"), vfs.Access{Path: w.at("w/.git/config"), Mount: w.at("w"), Git: true, Read: true}},
		"in a bare repository":        {w.fs, w.at("w/.bare/config"), vfs.Access{Path: w.at("w/.bare/config"), Mount: w.at("w"), Git: true, Read: true}},
		"in a link called .git":       {w.fs, w.at("w/linked/.git/inner/b.txt"), vfs.Access{Path: w.at("w/dir/b.txt"), Mount: w.at("w"), Git: true, Read: true}},
		"in an absent mount of git's": {absent, "/absent/hooks/x", vfs.Access{Path: "/absent/hooks/x", Mount: "/absent/hooks", Git: true, Read: true}},
	} {
		if got, err := c.tree.Access(c.path); err != nil || got != c.want {
			t.Errorf("%s: got %+v, %v; want %+v", name, got, err, c.want)
		}
	}
}
