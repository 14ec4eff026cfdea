//go:build unix

package grant

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// writeBeneath creates an empty file beneath the handle dir.
func writeBeneath(t *testing.T, dir *os.File, name string) error {
	t.Helper()
	f, err := openAt(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// entries returns the names in a directory of the world.
func (w *world) entries(name string) []string {
	w.Helper()
	list, err := os.ReadDir(w.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	w.must(err)
	var out []string
	for _, e := range list {
		out = append(out, e.Name())
	}
	return out
}

func TestCreateMovesTheDirectoryOfTheHandle(t *testing.T) {
	for name, places := range map[string]bool{"with a state directory": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if !places {
				w.Places.State = ""
			}
			w.grant(manifest.ReadWrite, "a/b/.codex")
			s := w.resolve()
			if s.StateErr != nil || (s.Locks != nil) != places {
				t.Errorf("state: %v, %v", s.Locks, s.StateErr)
			}
			m := s.Mounts[0]
			if !m.Absent || m.Dir == nil || m.Path != w.path("a/b/.codex") {
				t.Fatalf("got %+v", m)
			}
			if _, err := os.Lstat(w.path("a")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a was created before Create was called: %v", err)
			}
			w.unchanged(s)
			for range 2 {
				w.must(s.Create(0))
				w.unchanged(s)
				if !w.same(m.Dir, m.Path) {
					t.Error("the handle does not refer to the created directory")
				}
			}
			w.must(writeBeneath(t, m.Dir, "config"))
			if got := w.entries("a/b/.codex"); !slices.Equal(got, []string{"config"}) {
				t.Errorf("got %q", got)
			}
			w.must(s.Close())
			if got := slices.Concat(w.entries(".local/state/bulkhead/.staging"), hiddenNames(w.entries("."))); len(got) > 0 {
				t.Errorf("staging directories are left: %q", got)
			}
			again := w.resolve()
			if again.Mounts[0].Absent || again.Mounts[0].ID != m.ID {
				t.Errorf("resolved again, the mount is %+v", again.Mounts[0])
			}
			w.must(os.RemoveAll(w.path("a")))
			w.changed(s, "no longer exists")
			w.changed(again, "no longer exists")
		})
	}
}

// hiddenNames returns those of names that staging directories have.
func hiddenNames(names []string) []string {
	return slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, beside) })
}

func TestCreatedDirectoryHasTheModeOfMkdir(t *testing.T) {
	w := newWorld(t)
	w.grant(manifest.ReadWrite, ".codex")
	w.must(w.resolve().Create(0))
	want := filepath.Join(w.home, "by mkdir")
	w.must(os.Mkdir(want, 0o755))
	a, err := os.Stat(w.path(".codex"))
	w.must(err)
	b, err := os.Stat(want)
	w.must(err)
	if a.Mode() != b.Mode() {
		t.Errorf("got %v, want %v", a.Mode(), b.Mode())
	}
}

func TestAbsentDirectoryCreatedByOtherProcessIsNoticed(t *testing.T) {
	for name, access := range map[string]manifest.Access{"to write": manifest.ReadWrite, "to read": manifest.Read} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.grant(access, ".codex")
			s := w.resolve()
			if (s.Mounts[0].Dir != nil) != (access == manifest.ReadWrite) {
				t.Errorf("got %+v", s.Mounts[0])
			}
			w.unchanged(s)
			if access == manifest.Read && s.Create(0) == nil {
				t.Error("a read-only directory was created")
			}
			w.must(os.WriteFile(w.dir(".codex")+"/x", nil, 0o600))
			w.changed(s, ".codex exists now")
			if err := s.Create(0); access == manifest.ReadWrite && !errors.Is(err, fs.ErrExist) {
				t.Errorf("Create: %v", err)
			}
			if got := w.entries(".codex"); !slices.Equal(got, []string{"x"}) {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestCreateFollowsNoLink(t *testing.T) {
	w := newWorld(t)
	w.dir("secret")
	w.grant(manifest.ReadWrite, "project/a/b")
	s := w.resolve()
	w.link("../secret", "project/a")
	if err := s.Create(0); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("got %v", err)
	}
	if got := w.entries("secret"); len(got) > 0 {
		t.Errorf("created through the link: %q", got)
	}
	w.must(os.Remove(w.path("project/a")))
	w.must(os.Rename(w.project, w.path("moved")))
	w.dir("project")
	if err := s.Create(0); err == nil || !strings.Contains(err.Error(), "was replaced") {
		t.Errorf("got %v", err)
	}
	if got := append(w.entries("moved"), w.entries("project")...); len(got) > 0 {
		t.Errorf("created in %q", got)
	}
}

func TestCreateMakesAbsentDirectoriesAboveFirst(t *testing.T) {
	w := newWorld(t)
	w.grant(manifest.ReadWrite, "a/b/c", "a", "a/b")
	s := w.resolve()
	w.must(s.Create(0))
	for _, m := range s.Mounts {
		if !w.same(m.Dir, m.Path) {
			t.Errorf("the handle of %s is not the directory", m.Path)
		}
	}
	w.unchanged(s)
}

func TestUncreatableDirectoryDoesNotFailResolve(t *testing.T) {
	w := newWorld(t)
	w.grant(manifest.ReadWrite, "/proc/bulkhead", "project")
	s := w.resolve()
	if m := s.Mounts[0]; !m.Absent || m.Dir != nil {
		t.Errorf("got %+v", m)
	}
	if err := s.Create(0); err == nil || !strings.Contains(err.Error(), "/proc/bulkhead does not exist and cannot be created") {
		t.Errorf("got %v", err)
	}
	if s.Mounts[1].Dir == nil {
		t.Error("the mount that exists has no handle")
	}
	if s.StateErr != nil {
		t.Errorf("the state directory: %v", s.StateErr)
	}
	w.unchanged(s)
	if s.Create(2) == nil || s.Create(-1) == nil {
		t.Error("a mount that does not exist was created")
	}
}

// otherFileSystem returns a new directory on a file system other than that of t.TempDir.
func otherFileSystem(t *testing.T) string {
	t.Helper()
	here, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer here.Close()
	for _, at := range []string{"/dev/shm", "/tmp", "/var/tmp"} { // the tests may run in memory
		dir, err := os.MkdirTemp(at, "bulkhead-test-")
		if err != nil {
			continue
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		there, err := os.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer there.Close()
		if !sameMount(here, there) {
			return dir
		}
	}
	t.Skip("there is no second file system for temporary files")
	return ""
}

func TestDirectoryIsPreparedOnItsOwnFileSystem(t *testing.T) {
	w := newWorld(t)
	other := otherFileSystem(t)
	w.grant(manifest.ReadWrite, other+"/a/data")
	s := w.resolve()
	if got := hiddenNames(w.entries(other)); len(got) != 1 {
		t.Errorf("prepared: %q", got)
	}
	w.must(s.Create(0))
	w.must(writeBeneath(t, s.Mounts[0].Dir, "x"))
	if got := w.entries(other + "/a/data"); !slices.Equal(got, []string{"x"}) {
		t.Errorf("got %q", got)
	}
	if got := w.entries(other); !slices.Equal(got, []string{"a"}) {
		t.Errorf("staging directories are left: %q", got)
	}
	if got := w.entries(".local/state/bulkhead/.staging"); len(got) > 0 {
		t.Errorf("staging directories are left: %q", got)
	}
}

func TestHolderNamesAreUnique(t *testing.T) {
	w := newWorld(t)
	other := otherFileSystem(t)
	w.grant(manifest.ReadWrite, other+"/data")
	sum := sha256.Sum256([]byte(other + "/data"))
	for n := range 32 { // the names that an earlier version of the host would have used
		planted := fmt.Sprintf("%s%s-%d", beside, hex.EncodeToString(sum[:8]), n)
		w.must(os.WriteFile(filepath.Join(other, planted), nil, 0o600))
	}
	planted := w.entries(other)
	for range 2 {
		w.must(w.resolve().Close())
	}
	one, two := w.resolve(), w.resolve()
	if one.staged[0].name == two.staged[0].name {
		t.Errorf("two holders are called %s", one.staged[0].name)
	}
	w.must(two.Close())
	w.must(one.Create(0))
	w.unchanged(one)
	if got, want := w.entries(other), append(planted, "data"); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestChangedReportsMovedPreparedDirectory(t *testing.T) {
	for name, move := range map[string]func(*world, *staged) error{
		"the directory": func(w *world, st *staged) error {
			holder := w.path("project/" + st.name)
			return os.Rename(filepath.Join(holder, st.child), filepath.Join(holder, "moved")) // without a state directory, the directory is staged beside its nearest existing ancestor
		},
		"the nearest existing ancestor": func(w *world, _ *staged) error { return os.Rename(w.path("project/sub"), w.path("project/moved")) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Places.State = "" // so that the directory is prepared beside its nearest existing ancestor
			w.grant(manifest.ReadWrite, "project/a")
			if strings.Contains(name, "ancestor") {
				w.dir("project/sub")
				w.Grant.FS = nil
				w.grant(manifest.ReadWrite, "project/sub/a")
			}
			s := w.resolve()
			w.must(move(w, s.staged[0]))
			w.unchanged(s)
			if err := s.Create(0); !errors.Is(err, ErrMoved) {
				t.Fatalf("Create: %v", err)
			}
			w.changed(s, "could not be created, since a directory above it was moved")
			again := w.resolve()
			w.must(again.Create(0))
			w.unchanged(again)
		})
	}
}

func TestRenameUnlessExists(t *testing.T) {
	w := newWorld(t)
	w.dir("from/a")
	w.dir("to/taken")
	from, err := os.Open(w.path("from"))
	w.must(err)
	defer from.Close()
	to, err := os.Open(w.path("to"))
	w.must(err)
	defer to.Close()
	for name, rename := range map[string]func(*os.File, string, *os.File, string) error{"with": renameNoReplace, "without": renameUnlessExists} {
		if err := rename(from, "a", to, "taken"); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s the system's support, Create gives: %v", name, err)
		}
		if err := rename(from, "absent", to, "other"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s the system's support, an absent directory gives: %v", name, err)
		}
		w.must(rename(from, "a", to, "new"))
		w.must(rename(to, "new", from, "a"))
	}
}
