//go:build linux || darwin

package vfs_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/vfs"
)

func TestNewRefusesMalformedMountPaths(t *testing.T) {
	for name, mounts := range map[string][]vfs.Mount{
		"a relative path":        {{Path: "work"}},
		"a path with ..":         {{Path: "/x/../work"}},
		"a path with a slash":    {{Path: "/x/"}},
		"an empty path":          {{}},
		"a path with NUL":        {{Path: "/x\x00"}},
		"the same path twice":    {{Path: "/x"}, {Path: "/y"}, {Path: "/x", Write: true}},
		"a bad one after a good": {{Path: "/x"}, {Path: "."}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := vfs.NewMounts(mounts); err == nil {
				t.Error("got no error")
			}
		})
	}
}

func TestRead(t *testing.T) {
	for name, c := range map[string]struct {
		path  string
		want  string
		errno sys.Errno
	}{
		"a file in a writable mount":                          {path: "w/a.txt", want: "a"},
		"a file in a read-only mount":                         {path: "ro/r.txt", want: "r"},
		"a file in a nested mount":                            {path: "p/sub/s.txt", want: "s"},
		"a path with dots and doubled slashes":                {path: "w/.//dir/../dir/./b.txt", want: "b"},
		".git may be read":                                    {path: "w/.git/config", want: "[core]"},
		"a relative link inside":                              {path: "w/link", want: "a"},
		"a linked directory":                                  {path: "w/dirlink/b.txt", want: "b"},
		"an absolute link inside":                             {path: "w/abs", want: "b"},
		"an absolute link into another mount":                 {path: "w/toro", want: "r"},
		"a link to a nested mount":                            {path: "p/alias/s.txt", want: "s"},
		".. is the parent of the link's target":               {path: "w/dirlink/../a.txt", want: "a"},
		"a sibling whose name begins like a mount":            {path: "workshop/canary.txt", errno: sys.ENOENT},
		"a file in no mount":                                  {path: "out/canary.txt", errno: sys.ENOENT},
		"a file in no mount through ..":                       {path: "w/../out/canary.txt", errno: sys.ENOENT},
		"a relative link out of the mount":                    {path: "w/rel-out", errno: sys.EACCES},
		"an absolute link out of the mounts":                  {path: "w/abs-out", errno: sys.EACCES},
		"a linked directory out of the mounts":                {path: "w/dir-out/canary.txt", errno: sys.EACCES},
		"a mount inside a mount that is a link":               {path: "p/evil/canary.txt", errno: sys.EACCES},
		"a link to itself":                                    {path: "w/loop", errno: sys.ELOOP},
		"a dangling link":                                     {path: "w/dangling", errno: sys.ENOENT},
		"an absent file":                                      {path: "w/nothing", errno: sys.ENOENT},
		"below a file":                                        {path: "w/a.txt/x", errno: sys.ENOTDIR},
		"a file with a slash behind it":                       {path: "w/a.txt/", errno: sys.ENOTDIR},
		"a mount that does not exist":                         {path: "absent/x", errno: sys.ENOENT},
		"a nested mount that does not exist":                  {path: "p/later/x", errno: sys.ENOENT},
		"a NUL":                                               {path: "w/a.txt\x00", errno: sys.EINVAL},
		"not UTF-8":                                           {path: "w/\xff", errno: sys.EINVAL},
		"a path longer than 4096 bytes":                       {path: strings.Repeat("w/", 2100), errno: sys.ENAMETOOLONG},
		"a name longer than the system takes":                 {path: "w/" + strings.Repeat("n", 300), errno: sys.ENAMETOOLONG},
		"a way of more than 1024 steps":                       {path: "w/" + strings.Repeat("dir/../", 500), errno: sys.ENAMETOOLONG},
		"more .. than there are directories ends at the root": {path: strings.Repeat("../", 99) + "etc/passwd", errno: sys.ENOENT},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			got, errno := w.read(c.path)
			if got != c.want || errno != c.errno {
				t.Errorf("got %q, %v; want %q, %v", got, errno, c.want, c.errno)
			}
		})
	}
}

// A directory has other names than the mount's path if the host has a symbolic link to it, or on a case-insensitive file
// system. The mount's access must apply to all of them.
func TestReadOnlyMountByAliasIsReadOnly(t *testing.T) {
	second := func(t *testing.T) *world {
		w := newWorld(t)
		w.put("host", "->p")
		w.fs = vfs.New(vfs.Config{Mounts: vfs.MountsAt(t,
			vfs.Mount{Path: w.at("p"), Write: true}, vfs.Mount{Path: w.at("host/sub")}, vfs.Mount{Path: w.at("host/deep/er/grant")},
		)})
		return w
	}
	for name, c := range map[string]struct {
		do    change
		errno sys.Errno
	}{
		"the second name can be read":                     {func(w *world) sys.Errno { _, e := w.read("host/sub/s.txt"); return e }, 0},
		"the first name gives no write access":            {writes("p/sub/s.txt"), sys.EACCES},
		"nor to a new file":                               {writes("p/sub/new"), sys.EACCES},
		"nor through a link":                              {writes("p/alias/s.txt"), sys.EACCES},
		"its directory cannot be renamed":                 {renames("p/sub", "p/gone"), sys.EACCES},
		"nor one above it":                                {renames("p/deep", "p/gone"), sys.EPERM},
		"nor its times set":                               {utimens("p/sub"), sys.EACCES},
		"its siblings can still be written":               {writes("p/deep/er/n.txt"), 0},
		"and directories that hold no mount can be moved": {both(mkdirs("p/n"), renames("p/n", "p/n2")), 0},
	} {
		t.Run(name, func(t *testing.T) {
			if errno := c.do(second(t)); errno != c.errno {
				t.Errorf("got %v, want %v", errno, c.errno)
			}
		})
	}
}

func TestDeniedAndErrorsAreReported(t *testing.T) {
	w := newWorld(t)
	if _, errno := w.read("out/canary.txt"); errno != sys.ENOENT {
		t.Errorf("reading outside of the mounts: got %v, want ENOENT", errno)
	}
	if errno := w.write("w/.git/config", ""); errno != sys.EPERM {
		t.Errorf("writing in .git: got %v, want EPERM", errno)
	}
	if _, errno := w.read("w/nothing"); errno != sys.ENOENT {
		t.Errorf("reading an absent file: got %v, want ENOENT", errno)
	}
	want := []string{"open " + w.at("out/canary.txt"), "open " + w.at("w/.git/config")}
	if diff := cmp.Diff(want, w.denied); diff != "" {
		t.Errorf("operations reported as denied (-want +got):\n%s", diff)
	}
	if errno := w.fs.Rename(w.in("w/a.txt"), w.in("p/a.txt")); errno != sys.ENOTSUP {
		t.Errorf("renaming between mounts: got %v, want ENOTSUP", errno)
	}
	if len(w.errors) != 1 || w.errors[0] != syscall.EXDEV {
		t.Errorf("errors: %v, want EXDEV", w.errors)
	}
}

func TestModes(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o022))
	mode := func(w *world, name string) os.FileMode {
		info, err := os.Lstat(w.at(name))
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode()
	}
	chmod := func(w *world, name string, m os.FileMode) {
		if err := os.Chmod(w.at(name), m); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		do   func(w *world) sys.Errno
		file string
		want os.FileMode
	}{
		"a new file is 0644 whatever is requested": {writes("w/new"), "w/new", 0o644},
		"a new directory is 0755":                  {mkdirs("w/new"), "w/new", os.ModeDir | 0o755},
		"a rename over an executable keeps the bit": {func(w *world) sys.Errno {
			chmod(w, "w/dir/b.txt", 0o755)
			return both(writes("w/tmp"), renames("w/tmp", "w/dir/b.txt"))(w)
		}, "w/dir/b.txt", 0o755},
		"a rename over a private file keeps it private": {func(w *world) sys.Errno {
			chmod(w, "w/dir/b.txt", 0o600)
			return both(writes("w/tmp"), renames("w/tmp", "w/dir/b.txt"))(w)
		}, "w/dir/b.txt", 0o600},
		"a rename over a set-uid file drops that bit": {func(w *world) sys.Errno {
			chmod(w, "w/a.txt", os.ModeSetuid|0o755)
			return both(writes("w/tmp"), renames("w/tmp", "w/a.txt"))(w)
		}, "w/a.txt", 0o755},
		"chmod sets permissions only": {func(w *world) sys.Errno {
			return w.fs.Chmod(w.in("w/a.txt"), os.ModeSetuid|os.ModeSticky|0o700)
		}, "w/a.txt", 0o700},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if errno := c.do(w); errno != 0 {
				t.Fatalf("got %v", errno)
			}
			if got := mode(w, c.file); got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestSpecialFilesAreListedButNotOpened(t *testing.T) {
	w := newWorld(t)
	if err := syscall.Mkfifo(w.at("w/fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	w.put("w/tofifo", "->fifo")
	for _, name := range []string{"w/fifo", "w/tofifo"} {
		for _, flag := range []sys.Oflag{sys.O_RDONLY, sys.O_RDWR, sys.O_WRONLY, sys.O_WRONLY | sys.O_CREAT | sys.O_TRUNC} {
			if _, errno := w.open(name, flag); errno != sys.EPERM {
				t.Errorf("open %s with %d: %v, want EPERM", name, flag, errno)
			}
		}
		if st, errno := w.fs.Stat(w.in(name)); errno != 0 || st.Mode&os.ModeNamedPipe == 0 {
			t.Errorf("stat of the FIFO %s: got %v, %v", name, st.Mode, errno)
		}
	}
	if _, errno := w.read("w/fifo/x"); errno != sys.ENOTDIR {
		t.Errorf("reading below a FIFO: got %v, want ENOTDIR", errno)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if _, err := vfs.NewMounts([]vfs.Mount{{Path: "/null", Dir: null}}); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("a mount of a device: %v, want ENOTDIR", err)
	}
}

func TestTimes(t *testing.T) {
	w := newWorld(t)
	const past, later = 1_500_000_000_123_456_000, 1_600_000_000_654_321_000
	for name, set := range map[string]func(a, m int64) sys.Errno{
		"by path":             func(a, m int64) sys.Errno { return w.fs.Utimens(w.in("w/a.txt"), a, m) },
		"through a link":      func(a, m int64) sys.Errno { return w.fs.Utimens(w.in("w/link"), a, m) },
		"by an open file":     w.mustOpen("w/a.txt", sys.O_RDONLY).Utimens,
		"by another, written": w.mustOpen("w/a.txt", sys.O_WRONLY).Utimens,
	} {
		t.Run(name, func(t *testing.T) {
			if errno := set(past, later); errno != 0 {
				t.Fatal(errno)
			}
			if errno := set(sys.UTIME_OMIT, past); errno != 0 {
				t.Fatal(errno)
			}
			st, errno := w.fs.Stat(w.in("w/a.txt"))
			if errno != 0 || st.Atim != past || st.Mtim != past {
				t.Errorf("got atim %d, mtim %d, %v", st.Atim, st.Mtim, errno)
			}
		})
	}
}

func TestHiddenPathsDoNotExist(t *testing.T) {
	hide := func(c *vfs.Config) {
		c.Hidden = func(p string, below bool) bool {
			return filepath.Base(p) == "b.txt" || below && strings.HasSuffix(p, "/w/dir")
		}
	}
	for name, c := range map[string]struct {
		do    change
		errno sys.Errno
	}{
		"to be read":                 {opens("w/dir/b.txt", sys.O_RDONLY), sys.ENOENT},
		"through a linked directory": {opens("w/dirlink/b.txt", sys.O_RDONLY), sys.ENOENT},
		"through a link":             {opens("w/abs", sys.O_RDONLY), sys.ENOENT},
		"to be removed":              {unlinks("w/dir/b.txt"), sys.ENOENT},
		"to be renamed":              {renames("w/dir/b.txt", "w/c"), sys.ENOENT},
		"to be linked":               {links("w/dir/b.txt", "w/c"), sys.ENOENT},
		"to be made":                 {writes("w/dir/b.txt"), sys.EACCES},
		"or where none is":           {writes("w/b.txt"), sys.EACCES},
		"to be a directory":          {mkdirs("w/b.txt"), sys.EACCES},
		"to be renamed to":           {renames("w/a.txt", "w/b.txt"), sys.EACCES},
		"and are not moved along":    {renames("w/dir", "w/moved"), sys.EACCES},
		"nor is anything moved in":   {renames("w/empty", "w/b.txt"), sys.EACCES},
		"nor above one":              {renames("w/linked", "w/empty/w/dir"), sys.EACCES},
		"which a file has not":       {renames("w/a.txt", "w/empty/w/dir"), 0},
		"while others are as usual":  {renames("w/a.txt", "w/dir/c"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, hide)
			w.put("w/empty/w/", "")
			errno := c.do(w)
			if errno != c.errno {
				t.Errorf("got %v, want %v", errno, c.errno)
			}
			if reads := name == "to be read" || strings.HasPrefix(name, "through "); (len(w.denied) == 1) != (reads || errno == sys.EACCES) {
				t.Errorf("got %v, reported as denied: %q", errno, w.denied)
			}
		})
	}
	w := newWorld(t, hide)
	if got := w.names(w.mustOpen("w/dir", sys.O_RDONLY), 1); slices.Contains(got, "b.txt") {
		t.Errorf("the directory lists the hidden file: %q", got)
	}
}

// A hidden path that is granted itself, or as an alias, is listed in the mount around it.
func TestGrantedPathIsListedWhereItIsHidden(t *testing.T) {
	w := newWorld(t)
	w.put("w/toro2", "->../ro")
	w.fs = vfs.New(vfs.Config{
		Mounts: vfs.MountsAt(t, vfs.Mount{Path: w.at("w")}, vfs.Mount{Path: w.at("w/module")}, vfs.Mount{Path: w.at("ro"), Aliases: []string{w.at("w/toro2")}}),
		Hidden: func(p string, _ bool) bool {
			return p == w.at("w/module") || p == w.at("w/toro2") || p == w.at("w/dir")
		},
	})
	got := w.names(w.mustOpen("w", sys.O_RDONLY), -1)
	for name, want := range map[string]bool{"module": true, "toro2": true, "dir": false, "a.txt": true} {
		if slices.Contains(got, name) != want {
			t.Errorf("%s: listed %t, want %t", name, !want, want)
		}
		if _, errno := w.fs.Stat(w.in("w/" + name)); (errno == 0) != want {
			t.Errorf("%s: stat: %v", name, errno)
		}
	}
}

// A mount is the directory that was opened. A directory that replaces it at its path is not granted.
func TestMountKeepsOpenedDirectory(t *testing.T) {
	w := newWorld(t)
	if err := os.Rename(w.at("w"), w.at("old")); err != nil {
		t.Fatal(err)
	}
	w.put("w/a.txt", "anew")
	if got, errno := w.read("w/a.txt"); got != "a" || errno != 0 {
		t.Errorf("got %q, %v", got, errno)
	}
	if errno := w.write("w/new.txt", "made"); errno != 0 || w.host("old/new.txt") != "made" || w.host("w/new.txt") != "" {
		t.Errorf("writing a new file: got %v; the path of the mount contains %q", errno, w.host("w/new.txt"))
	}
}
