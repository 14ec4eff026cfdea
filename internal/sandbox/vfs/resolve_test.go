//go:build linux || darwin

package vfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/tetratelabs/wazero/experimental/sys"
)

func TestInsideComparesWholeComponents(t *testing.T) {
	for _, c := range []struct {
		dir, p string
		want   bool
	}{
		{"/", "/", true}, {"/", "/x", true}, {"/x", "/x", true}, {"/x", "/x/y/z", true},
		{"/x/work", "/x/workshop", false}, {"/x/work", "/x/workshop/f", false}, {"/x/work", "/x/wor", false},
		{"/x/work", "/x", false}, {"/x", "/", false},
	} {
		if got := Inside(c.dir, c.p); got != c.want {
			t.Errorf("Inside(%q, %q) = %v, want %v", c.dir, c.p, got, c.want)
		}
	}
}

func TestMountAtRoot(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "f"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f := New(Config{Mounts: MountsAt(t, Mount{Path: "/"}, Mount{Path: dir, Write: true})})
	if _, errno := f.Stat("/etc"); errno != 0 {
		t.Errorf("stat /etc: got %v", errno)
	}
	if errno := f.Mkdir("/no-such-folder", 0); errno != sys.EACCES {
		t.Errorf("mkdir in the read-only root: got %v, want EACCES", errno)
		_ = os.Remove("/no-such-folder") // so that the next run of the test does not find it
	}
	if errno := f.Unlink(filepath.Join(dir, "f")); errno != 0 {
		t.Errorf("removing in the writable mount: got %v", errno)
	}
}

// Between check and open, the test replaces the name by a symbolic link, which could be followed, or by a FIFO, which could block.
func TestOpenRefusesPathSwappedAfterCheck(t *testing.T) {
	for name, c := range map[string]struct {
		place func(name string) error // replaces the file or directory
		want  func(error) bool
	}{
		"a link to another": {func(p string) error { return os.Symlink("other", p) },
			func(err error) bool { return errors.Is(err, errChanged) || errors.Is(err, sys.ENOENT) }},
		"another of its kind": {func(p string) error { return os.Rename(filepath.Dir(p)+"/other", p) },
			func(err error) bool { return errors.Is(err, errChanged) || errors.Is(err, sys.ENOENT) }},
		"a FIFO": {func(p string) error { return syscall.Mkfifo(p, 0o644) },
			func(err error) bool {
				_, refused := errors.AsType[refusal](err)
				return refused || errors.Is(err, sys.ENOENT)
			}},
		"nothing": {func(string) error { return nil },
			func(err error) bool { return errors.Is(err, fs.ErrNotExist) }},
	} {
		for _, kind := range []string{"file", "folder"} {
			t.Run(kind+" swapped for "+name, func(t *testing.T) {
				dir := t.TempDir()
				f, err := New(Config{Mounts: MountsAt(t, Mount{Path: dir, Write: true})}), error(nil)
				for _, n := range []string{"thing", "other"} {
					n = filepath.Join(dir, n)
					if kind == "file" {
						err = os.WriteFile(n, nil, 0o644)
					} else {
						err = os.Mkdir(n, 0o755)
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				p, err := f.resolve(dir+"/thing", walkMode{})
				if err != nil {
					t.Fatal(err)
				}
				defer p.close()
				err = errors.Join(os.Rename(dir+"/thing", dir+"/away"), c.place(dir+"/thing"))
				if err != nil {
					t.Fatal(err)
				}
				within(t, func() { err = opens(f, p, kind) })
				if !c.want(err) {
					t.Errorf("got %v", err)
				}
			})
		}
	}
}

// A directory that cannot be opened for want of descriptors is not reported as absent.
func TestEnterReportsErrorsOfSystem(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "inner"), 0o755); err != nil {
		t.Fatal(err)
	}
	f := New(Config{Mounts: MountsAt(t, Mount{Path: dir})})
	p, err := f.resolve(dir+"/inner", walkMode{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 0, Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	err = opens(f, p, "folder")
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(err, syscall.EMFILE) {
		t.Errorf("got %v, want EMFILE", err)
	}
}

// opens opens the replaced path as the last component of a path, or as a directory within the path.
func opens(f *FS, p *place, kind string) error {
	if kind == "file" {
		file, err := p.openSame(os.O_RDONLY)
		if err == nil {
			_ = file.Close()
		}
		return err
	}
	w := &walk{fs: f, place: *p}
	return w.enter(p.name, p.path, p.info, nil)
}

// within fails the test if do blocks.
func within(t *testing.T, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal("blocked")
	}
}
