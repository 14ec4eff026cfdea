//go:build linux || darwin

package beneath

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// forms are the implementations of name resolution on this system.
var forms = map[string]func() (restore func()){"system default": func() func() { return func() {} }}

// inEachForm runs a test with each implementation.
func inEachForm(t *testing.T, test func(t *testing.T)) {
	for name, use := range forms {
		t.Run(name, func(t *testing.T) {
			defer use()()
			test(t)
		})
	}
}

// newDir creates a directory with the subdirectories in, the Dir under test, and out, which no operation may reach.
func newDir(t testing.TB) (*Dir, string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"in/a/b", "in/a/c", "out"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"in/f", "in/a/f", "in/a/b/f", "out/f"} {
		if err := os.WriteFile(filepath.Join(root, file), []byte(file), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"in/link": "f", "in/dir": "a", "in/a/up": "../f", "in/a/b/upup": "../../a/f", "in/hop": "dir/up",
		"in/abs": root + "/in/f", "in/out": "../out", "in/a/outfile": "../../out/f", "in/loop": "loop", "in/dangling": "nowhere",
		"in/magic": "/proc/self/root" + root + "/out", "in/slash": "a/./b//f", "in/back": "../in/f",
	} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(filepath.Join(root, "in/fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	return openDir(t, filepath.Join(root, "in")), root
}

func openDir(t testing.TB, path string) *Dir {
	t.Helper()
	file, err := os.OpenFile(path, openDirFlags, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	dir, err := New(file)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestOpenStaysBelowDirectory(t *testing.T) {
	const escapes, loop = "escapes", "loop"
	for name, want := range map[string]struct{ strict, following string }{
		"f": {"in/f", "in/f"}, "a/f": {"in/a/f", "in/a/f"}, "a/b/f": {"in/a/b/f", "in/a/b/f"},
		"link": {loop, "in/f"}, "dir/f": {loop, "in/a/f"}, "dir/b/f": {loop, "in/a/b/f"}, "a/up": {loop, "in/f"},
		"a/b/upup": {loop, "in/a/f"}, "hop": {loop, "in/f"}, "slash": {loop, "in/a/b/f"},
		"abs": {loop, escapes}, "out/f": {loop, escapes}, "a/outfile": {loop, escapes}, "dir/outfile": {loop, escapes},
		"magic/f": {loop, escapes}, "back": {loop, escapes}, "loop": {loop, loop}, "loop/f": {loop, loop},
		"a/../f": {"in/f", "in/f"}, "..": {escapes, escapes}, "../out/f": {escapes, escapes}, "a/../../out/f": {escapes, escapes},
		"dangling": {loop, "none"}, "none": {"none", "none"}, "a/none": {"none", "none"}, "none/f": {"none", "none"},
		"f/x": {"no directory", "no directory"}, "/f": {"invalid", "invalid"}, "": {"invalid", "invalid"},
		"fifo": {"special", "special"}, "a/f\x00": {"invalid", "invalid"},
	} {
		inEachForm(t, func(t *testing.T) {
			d, _ := newDir(t)
			if got := openResult(d, name); got != want.strict {
				t.Errorf("%q, strictly: %s, want %s", name, got, want.strict)
			}
			if got := openResult(d.Following(), name); got != want.following {
				t.Errorf("%q, following: %s, want %s", name, got, want.following)
			}
		})
	}
}

// openResult opens and reads a file. It returns the content, or a word that stands for the error.
func openResult(d *Dir, name string) string {
	file, _, err := d.Open(name, os.O_RDONLY, 0)
	for word, is := range map[string]error{
		"escapes": ErrEscapes, "special": ErrSpecial, "loop": unix.ELOOP, "none": fs.ErrNotExist, "no directory": unix.ENOTDIR,
		"invalid": unix.EINVAL,
	} {
		if errors.Is(err, is) {
			return word
		}
	}
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	content, err := io.ReadAll(file)
	if err != nil {
		return err.Error()
	}
	return string(content)
}

func TestChangesStayBelowDirectory(t *testing.T) {
	inEachForm(t, func(t *testing.T) {
		d, root := newDir(t)
		for _, d := range []*Dir{d, d.Following()} {
			for _, name := range []string{"out/new", "../out/new", "..", "a/../../out/new", "out/..", "magic/new"} {
				file, _, err := d.Open(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
				if err == nil {
					file.Close()
				}
				for op, err := range map[string]error{
					"open": err, "mkdir": d.Mkdir(name, 0o755), "symlink": d.Symlink("x", name), "unlink": d.Unlink("out/f"),
					"rename out": Rename(d, "f", d, name), "link out": Link(d, "f", d, name), "rename in": Rename(d, "out/f", d, "new"),
					"rmdir": d.Rmdir("../out"), "all": d.MkdirAll(name+"/x", 0o755),
				} {
					if err == nil {
						t.Errorf("%s of %q succeeded", op, name)
					}
				}
			}
		}
		entries, err := os.ReadDir(filepath.Join(root, "out"))
		if err != nil || len(entries) != 1 {
			t.Errorf("the directory out contains %v, %v; want one entry", entries, err)
		}
	})
}

func TestOperations(t *testing.T) {
	inEachForm(t, func(t *testing.T) {
		d, root := newDir(t)
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Error(err)
			}
		}
		must(d.MkdirAll("a/x/y", 0o755))
		if st, err := d.Lstat("a/x/y"); err != nil || !st.IsDir() {
			t.Errorf("after MkdirAll: got %+v, %v", st, err)
		}
		must(d.MkdirAll("a/x/y", 0o755))
		if err := d.MkdirAll("f/x", 0o755); !errors.Is(err, unix.ENOTDIR) {
			t.Errorf("MkdirAll below a file: got %v, want ENOTDIR", err)
		}
		must(d.Symlink("../f", "a/x/s"))
		if target, err := d.Readlink("a/x/s"); target != "../f" || err != nil {
			t.Errorf("Readlink returned %q, %v", target, err)
		}
		must(Rename(d, "a/x/s", d, "a/s"))
		must(Link(d, "f", d, "a/x/hard"))
		st, err := d.Lstat("a/x/hard")
		if err != nil || st.Nlink != 2 || !st.Mode.IsRegular() || st.Size != 4 {
			t.Errorf("Lstat of a file with two names returned %+v, %v", st, err)
		}
		if st, err := d.Lstat("link"); err != nil || !st.IsLink() {
			t.Errorf("Lstat of a symbolic link returned %+v, %v", st, err)
		}
		if followed, err := d.Following().StatName("link"); err != nil || followed.FileID != st.FileID {
			t.Errorf("StatName of a symbolic link returned %+v, %v; want the target", followed, err)
		}
		sub, err := d.OpenDir("a/x")
		must(err)
		defer sub.Close()
		must(sub.Unlink("hard"))
		must(sub.Rmdir("y"))
		file, _, err := sub.Open("new", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o640)
		must(err)
		defer file.Close()
		must(Chmod(file, 0o604))
		must(SetTimes(file, 1_500_000_000_123_456_000, 1_600_000_000_654_321_000))
		st, err = StatFile(file)
		if err != nil || st.Mode != 0o604 || st.Atime != 1_500_000_000_123_456_000 || st.Mtime != 1_600_000_000_654_321_000 {
			t.Errorf("StatFile returned %+v, %v; want the mode and the times that were set", st, err)
		}
		info, err := os.Stat(filepath.Join(root, "in/a/x/new"))
		if err != nil || info.Mode() != st.Mode || !info.ModTime().Equal(st.ModTime()) || info.Sys().(*syscall.Stat_t).Ino != st.Ino {
			t.Errorf("Stat differs from that of package os: got %+v, want %v, %v", st, info, err)
		}
	})
}

func TestCloseLeavesFileOfNewOpen(t *testing.T) {
	file, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	d, err := New(file)
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
	if _, err := d.Stat(); err != nil {
		t.Errorf("the file of the caller was closed: %v", err)
	}
}

func TestNewRefusesFile(t *testing.T) {
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := New(file); !errors.Is(err, unix.ENOTDIR) {
		t.Errorf("New with a device: got %v, want ENOTDIR", err)
	}
}

func TestListing(t *testing.T) {
	dir := t.TempDir()
	var want []string
	for i := range 700 {
		name := fmt.Sprintf("%04d-%s", i, strings.Repeat("n", i%200))
		want = append(want, name)
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "z-dir"), 0o755), os.Symlink("x", filepath.Join(dir, "z-link"))); err != nil {
		t.Fatal(err)
	}
	want = append(want, "z-dir", "z-link")
	file, _, err := openDir(t, dir).Open(".", os.O_RDONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	l := List(file)
	for _, n := range []int{1, 7, 300, 10_000} {
		types := map[string]fs.FileMode{}
		var got []string
		for {
			entries, err := l.Read(n)
			if err == io.EOF {
				break
			}
			if err != nil || len(entries) == 0 || len(entries) > n {
				t.Fatalf("Read returned %d entries, %v", len(entries), err)
			}
			for _, e := range entries {
				got = append(got, e.Name)
				types[e.Name] = e.Type
			}
			if len(l.left) > 8192 {
				t.Fatalf("the Listing stores %d bytes, want at most 8192", len(l.left))
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("in portions of %d: %d names, want %d", n, len(got), len(want))
		}
		if types["z-dir"] != fs.ModeDir || types["z-link"] != fs.ModeSymlink || types[want[0]] != 0 {
			t.Errorf("got the types %v, %v, %v; want those of a directory, a symbolic link and a regular file", types["z-dir"], types["z-link"], types[want[0]])
		}
		if err := l.Rewind(); err != nil {
			t.Fatal(err)
		}
	}
}

// Another goroutine replaces a directory by a symbolic link out and back, between any two system calls of a lookup.
// Nothing outside may be read, created or removed.
func TestSwappedDirectoriesDoNotEscape(t *testing.T) {
	inEachForm(t, func(t *testing.T) {
		d, root := newDir(t)
		in := filepath.Join(root, "in")
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for {
				select {
				case <-stop:
					return
				default:
				}
				_ = os.Rename(in+"/a", in+"/real")
				_ = os.Symlink("../out", in+"/a")
				_ = os.Remove(in + "/a")
				_ = os.Symlink(root+"/out", in+"/a")
				_ = os.Remove(in + "/a")
				_ = os.Rename(in+"/real", in+"/a")
			}
		}()
		read, made := 0, 0
		for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end) || read == 0 || made == 0; {
			for _, d := range []*Dir{d, d.Following()} {
				switch got := openResult(d, "a/f"); got {
				case "in/a/f":
					read++
				case "out/f":
					t.Fatal("the file outside was read")
				}
				if d.Mkdir("a/new", 0o755) == nil {
					made++
					_ = d.Rmdir("a/new")
					_ = d.Rmdir("real/new")
				}
				_ = Rename(d, "f", d, "a/moved")
				_ = Rename(d, "a/moved", d, "f")
				_ = Rename(d, "real/moved", d, "f")
				if file, _, err := d.Open("a/file", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644); err == nil {
					_ = file.Close()
					_ = d.Unlink("a/file")
					_ = d.Unlink("real/file")
				}
			}
		}
		close(stop)
		<-stopped
		entries, err := os.ReadDir(filepath.Join(root, "out"))
		if err != nil || len(entries) != 1 || entries[0].Name() != "f" {
			t.Errorf("the directory out contains %v, %v; want the file f only", entries, err)
		}
	})
}
