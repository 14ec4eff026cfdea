//go:build linux || darwin

package beneath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/internal/seam"
)

// operations are all operations that take a name.
var operations = map[string]func(d *Dir, name string) error{
	"open":         func(d *Dir, name string) error { _, _, err := d.Open(name, os.O_RDONLY, 0); return err },
	"opendir":      func(d *Dir, name string) error { _, err := d.OpenDir(name); return err },
	"openstrict":   func(d *Dir, name string) error { _, err := d.OpenStrict(name); return err },
	"stat":         func(d *Dir, name string) error { _, err := d.StatName(name); return err },
	"lstat":        func(d *Dir, name string) error { _, err := d.Lstat(name); return err },
	"readlink":     func(d *Dir, name string) error { _, err := d.Readlink(name); return err },
	"mkdir":        func(d *Dir, name string) error { return d.Mkdir(name, 0o755) },
	"symlink":      func(d *Dir, name string) error { return d.Symlink("x", name) },
	"unlink":       func(d *Dir, name string) error { return d.Unlink(name) },
	"rmdir":        func(d *Dir, name string) error { return d.Rmdir(name) },
	"rename from":  func(d *Dir, name string) error { return Rename(d, name, d, "new") },
	"rename to":    func(d *Dir, name string) error { return Rename(d, "a/f", d, name) },
	"link from":    func(d *Dir, name string) error { return Link(d, name, d, "new") },
	"link to":      func(d *Dir, name string) error { return Link(d, "f", d, name) },
	"append":       func(d *Dir, name string) error { _, err := d.Append(nil, name, Stat{}); return err },
	"open and new": func(d *Dir, name string) error { _, _, err := d.Open(name, os.O_WRONLY|os.O_CREATE, 0o600); return err },
}

// TestEveryOperationRefusesInvalidNames has absolute paths above all: for the system calls they would leave the directory.
func TestEveryOperationRefusesInvalidNames(t *testing.T) {
	inEachForm(t, func(t *testing.T) {
		d, root := newDir(t)
		for _, d := range []*Dir{d, d.Following()} {
			for op, do := range operations {
				for _, name := range []string{"/f", root + "/out/f", root + "/out/new", "", "/"} {
					if err := do(d, name); !errors.Is(err, unix.EINVAL) {
						t.Errorf("%s of %q: got %v, want EINVAL", op, name, err)
					}
				}
				for _, name := range []string{"..", "a/../..", "a/../../out/f"} {
					if err := do(d, name); !errors.Is(err, ErrEscapes) {
						t.Errorf("%s of %q: got %v, want ErrEscapes", op, name, err)
					}
				}
				if err := do(d, "none/f"); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s below an absent directory: got %v", op, err)
				}
			}
		}
	})
}

func TestEveryOperationReportsAbsentFile(t *testing.T) {
	inEachForm(t, func(t *testing.T) {
		d, _ := newDir(t)
		for _, d := range []*Dir{d, d.Following()} {
			for _, op := range []string{"open", "opendir", "stat", "lstat", "readlink", "unlink", "rmdir", "rename from", "link from", "append"} {
				if err := operations[op](d, "absent"); !errors.Is(err, fs.ErrNotExist) || !errors.As(err, new(*fs.PathError)) {
					t.Errorf("%s of an absent file: got %v", op, err)
				}
			}
			for _, op := range []string{"mkdir", "symlink", "link to"} {
				if err := operations[op](d, "f"); !errors.Is(err, fs.ErrExist) {
					t.Errorf("%s of an existing file: got %v", op, err)
				}
			}
			if err := d.MkdirAll("f", 0o755); !errors.Is(err, unix.ENOTDIR) {
				t.Errorf("mkdir all of a file: got %v", err)
			}
			if err := d.MkdirAll("/new", 0o755); !errors.Is(err, unix.EINVAL) {
				t.Errorf("mkdir all of an absolute path: got %v", err)
			}
			for op, want := range map[string]error{"opendir": unix.ENOTDIR, "rmdir": unix.ENOTDIR, "readlink": unix.EINVAL} {
				if err := operations[op](d, "f"); !errors.Is(err, want) {
					t.Errorf("%s of a file: got %v, want %v", op, err, want)
				}
			}
		}
	})
}

func TestNewFilesHavePermissions(t *testing.T) {
	inEachForm(t, func(t *testing.T) {
		d, _ := newDir(t)
		for _, d := range []*Dir{d, d.Following()} {
			for i, name := range []string{"new", "a/new", "new", "a/new"} {
				flag := os.O_WRONLY | os.O_CREATE
				if i > 1 {
					flag |= os.O_EXCL
				}
				file, _, err := d.Open(name, flag, 0o640)
				if err != nil {
					t.Fatal(err)
				}
				file.Close()
				if st, err := d.Lstat(name); err != nil || st.Mode != 0o640 {
					t.Errorf("%s: got %v, %v", name, st.Mode, err)
				}
				if err := d.Unlink(name); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

func TestClosedFileIsRefused(t *testing.T) {
	file, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file.Close()
	if _, err := New(file); !errors.Is(err, os.ErrClosed) {
		t.Errorf("New: got %v", err)
	}
	if _, err := StatFile(file); !errors.Is(err, os.ErrClosed) {
		t.Errorf("StatFile: got %v", err)
	}
	if err := Chmod(file, 0o600); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Chmod: got %v", err)
	}
	if err := SetTimes(file, 1, 1); !errors.Is(err, os.ErrClosed) {
		t.Errorf("SetTimes: got %v", err)
	}
}

// TestWalkClosesDirectories opens files by each way through directories and links, and counts descriptors.
func TestWalkClosesDirectories(t *testing.T) {
	descriptors := func() int {
		open, err := os.ReadDir("/dev/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(open)
	}
	inEachForm(t, func(t *testing.T) {
		d, _ := newDir(t)
		before := descriptors()
		for _, d := range []*Dir{d, d.Following()} {
			for _, name := range []string{"a/b/f", "a/b/../f", "hop", "a/b/upup", "a/none", "f/x", "out/f", "a/b/../../../out", "fifo", "a/b/c/d"} {
				_ = openResult(d, name)
				_, _ = d.StatName(name)
				_ = d.Mkdir(name, 0o755)
			}
		}
		if after := descriptors(); after != before {
			t.Errorf("%d descriptors are open, %d before", after, before)
		}
	})
}

// TestWalkFollowsLinkThatReplacesFile replaces the last component between its check and its opening.
func TestWalkFollowsLinkThatReplacesFile(t *testing.T) {
	defer func() { seam.Before = nil }()
	for at, reached := 1, true; reached; at++ {
		d, root := newDir(t)
		calls := 0
		seam.Before = func() {
			if calls++; calls == at {
				if err := errors.Join(os.Remove(filepath.Join(root, "in/f")), os.Symlink("a/f", filepath.Join(root, "in/f"))); err != nil {
					t.Error(err)
				}
			}
		}
		fd, err := d.Following().walk("f", os.O_RDONLY|openFlags, 0, true)
		seam.Before = nil
		reached = calls >= at
		if err != nil {
			t.Errorf("replaced before call %d: %v", at, err)
			continue
		}
		closeFD(fd)
	}
}

func TestOpenFollowsNoLinkIfAsked(t *testing.T) {
	inEachForm(t, func(t *testing.T) {
		d, root := newDir(t)
		for flag, want := range map[int]error{os.O_RDONLY | noFollow: unix.ELOOP, os.O_WRONLY | os.O_CREATE | os.O_EXCL: fs.ErrExist} {
			for _, name := range []string{"link", "dangling", "a/up"} {
				if _, _, err := d.Following().Open(name, flag, 0o600); !errors.Is(err, want) {
					t.Errorf("%s with %#x: got %v, want %v", name, flag, err, want)
				}
			}
		}
		if _, err := os.Lstat(filepath.Join(root, "in/nowhere")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the target of a link was created: %v", err)
		}
	})
}

func TestOpenFilesBlock(t *testing.T) {
	d, _ := newDir(t)
	for _, flag := range []int{os.O_RDONLY, os.O_RDWR | os.O_APPEND} {
		file, _, err := d.Open("f", flag, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		err = Control(file, func(fd int) error {
			got, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
			if got&unix.O_NONBLOCK != 0 || got&unix.O_APPEND != flag&unix.O_APPEND {
				t.Errorf("opened with %#x, the flags are %#x", flag, got)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestWalkIsBounded has the bounds of one name in digits.
func TestWalkIsBounded(t *testing.T) {
	d, root := newDir(t)
	d = d.Following()
	if err := os.WriteFile(filepath.Join(root, "in/0"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for n := range 41 {
		if err := os.Symlink(strconv.Itoa(n), filepath.Join(root, "in", strconv.Itoa(n+1))); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]error{
		"40": nil, "41": unix.ELOOP, strings.Repeat("./", 8191) + "f": nil, strings.Repeat("./", 8192) + "f": unix.ENAMETOOLONG,
	} {
		fd, err := d.walk(name, os.O_RDONLY|openFlags, 0, true)
		if err == nil {
			closeFD(fd)
		}
		if err != want {
			t.Errorf("%.10s, %d bytes: got %v, want %v", name, len(name), err, want)
		}
	}
}

func TestMkdirAllReportsWhyDirectoryCannotBeCreated(t *testing.T) {
	if testenv.AsNobody(t) {
		return
	}
	d, root := newDir(t)
	if err := os.Chmod(filepath.Join(root, "in/a"), 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(filepath.Join(root, "in/a"), 0o755) })
	if err := d.MkdirAll("a/x/y", 0o755); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v", err)
	}
}

// TestAppendReadsDescribedFileOnly changes one property of a file after it has been described.
func TestAppendReadsDescribedFileOnly(t *testing.T) {
	for name, change := range map[string]func(path string, st *Stat) error{
		"nothing":               func(string, *Stat) error { return nil },
		"it has grown":          func(path string, _ *Stat) error { return os.WriteFile(path, []byte("longer than before"), 0o644) },
		"it has shrunk":         func(path string, _ *Stat) error { return os.Truncate(path, 1) },
		"it is another file":    func(_ string, st *Stat) error { st.Ino++; return nil },
		"it is on another disk": func(_ string, st *Stat) error { st.Dev++; return nil },
		"it was written":        func(_ string, st *Stat) error { st.Mtime++; return nil },
		"its times were set":    func(_ string, st *Stat) error { st.Ctime++; return nil },
		"it had another size":   func(_ string, st *Stat) error { st.Size++; return nil },
		"a directory replaces it": func(path string, st *Stat) error {
			return errors.Join(os.Remove(path), os.Mkdir(path, 0o755))
		},
		"a link replaces it": func(path string, _ *Stat) error { return errors.Join(os.Remove(path), os.Symlink("a/f", path)) },
		"a FIFO replaces it": func(path string, _ *Stat) error { return errors.Join(os.Remove(path), unix.Mkfifo(path, 0o644)) },
	} {
		t.Run(name, func(t *testing.T) {
			d, root := newDir(t)
			st, err := d.Lstat("f")
			if err == nil {
				err = change(filepath.Join(root, "in/f"), &st)
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := d.Append([]byte("before "), "f", st)
			if name == "nothing" {
				if string(got) != "before in/f" || err != nil {
					t.Errorf("got %q, %v", got, err)
				}
			} else if string(got) != "before " || !errors.Is(err, ErrChanged) {
				t.Errorf("got %q, %v, want ErrChanged", got, err)
			}
		})
	}
	d, _ := newDir(t)
	directory, err := d.Lstat("a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Append(nil, "a", directory); !errors.Is(err, ErrChanged) {
		t.Errorf("a directory: got %v", err)
	}
	if _, err := os.Stat("/proc/self/stat"); err == nil { // its size is reported as 0
		proc := openDir(t, "/proc/self")
		for name, want := range map[string]error{"stat": ErrChanged, "mem": unix.EIO} { // nothing is at the address 0
			st, err := proc.Lstat(name)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := proc.Append([]byte("before"), name, st); !errors.Is(err, want) || string(got) != "before" {
				t.Errorf("/proc/self/%s: got %q, %v, want %v", name, got, err, want)
			}
		}
	}

}

// TestAppendNoticesChangesDuringRead changes the file before each of the system calls.
func TestAppendNoticesChangesDuringRead(t *testing.T) {
	defer func() { seam.Before = nil }()
	for name, change := range map[string]func(path string) error{
		"it grows":   func(path string) error { return os.WriteFile(path, []byte("longer than before"), 0o644) },
		"it shrinks": func(path string) error { return os.Truncate(path, 1) },
	} {
		noticed := 0
		for at, reached := 1, true; reached; at++ {
			d, root := newDir(t)
			st, err := d.Lstat("f")
			if err != nil {
				t.Fatal(err)
			}
			calls := 0
			seam.Before = func() {
				if calls++; calls == at {
					if err := change(filepath.Join(root, "in/f")); err != nil {
						t.Error(err)
					}
				}
			}
			got, err := d.Append([]byte("before "), "f", st)
			seam.Before = nil
			reached = calls >= at
			switch {
			case err == nil && string(got) != "before in/f", err != nil && string(got) != "before ":
				t.Errorf("%s before call %d: got %q, %v", name, at, got, err)
			case err != nil:
				noticed++
			case reached:
				t.Errorf("%s before call %d: no error", name, at)
			}
		}
		if noticed < 4 { // open, fstat, read, fstat
			t.Errorf("%s: noticed %d times", name, noticed)
		}
	}
}

func TestChangesOfOtherUsersFilesAreReported(t *testing.T) {
	if testenv.AsNobody(t) {
		return
	}
	file, err := os.Open("/")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := Chmod(file, 0o777); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("Chmod: got %v", err)
	}
	if err := SetTimes(file, 1, 1); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("SetTimes: got %v", err)
	}
}
