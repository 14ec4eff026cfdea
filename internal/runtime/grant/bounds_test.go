//go:build unix

package grant

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// refused resolves the grant and checks that the error contains want; "" means success.
func (w *world) refused(want string) {
	w.Helper()
	s, err := Resolve(w.Config)
	if err == nil {
		w.must(s.Close())
	}
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		w.Errorf("got %.300v, want %q", err, want)
	}
}

// The bounds are in digits here, so that a change of a constant fails.

func TestFortyLinksAreFollowed(t *testing.T) {
	w := newWorld(t)
	w.dir("0")
	for n := range 41 {
		w.link(strconv.Itoa(n), strconv.Itoa(n+1))
	}
	w.grant(manifest.Read, "40")
	w.refused("")
	w.grant(manifest.Read, "41")
	w.refused("has more than 40 symbolic links")
}

func TestPathsHave4096Bytes(t *testing.T) {
	w := newWorld(t)
	path := w.path(strings.Repeat(strings.Repeat("n", 199)+"/", 20))
	path += strings.Repeat("m", 4096-len(path))
	w.grant(manifest.Read, path)
	w.refused("")
	w.Grant.FS[0].Path += "m"
	w.refused("is longer than 4096 bytes")
}

func TestRelativePathsAreRefused(t *testing.T) {
	w := newWorld(t)
	t.Chdir(w.home)
	w.Grant.FS = []config.Mount{{Path: "project", Access: manifest.Read}}
	w.refused("granted directory project: is not an absolute path")
}

func TestResolvedPathsHave4096Bytes(t *testing.T) {
	w := newWorld(t)
	home, err := os.Open(w.home)
	w.must(err)
	defer home.Close()
	names := strings.Split(strings.Repeat(strings.Repeat("n", 240)+"/", 17), "/")[:17]
	rest := 4096 - len(w.home+"/"+filepath.Join(names[:15]...)+"//")
	w.link(filepath.Join(names[:10]...), "link")
	for more, want := range []string{"", "is longer than 4096 bytes after its symbolic links are resolved"} {
		names[15], names[16] = strings.Repeat("m", rest/2), strings.Repeat("m", rest-rest/2+more)
		deep, _, err := makeDirs(home, names, 0o700)
		w.must(err)
		w.must(deep.Close())
		p, err := newWalker(w.Places, nil, nil).walk(w.path("link/" + filepath.Join(names[10:]...)))
		if err == nil {
			defer p.close()
		}
		if (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%d bytes: got %v, want %q", 4096+more, err, want)
		}
	}
}

// TestPendingComponentsAreBounded has links whose targets multiply the components that are not resolved yet.
func TestPendingComponentsAreBounded(t *testing.T) {
	w := newWorld(t)
	for n := range 3 {
		w.link(strconv.Itoa(n+1)+strings.Repeat("/x", 2000), strconv.Itoa(n))
	}
	w.grant(manifest.Read, "0")
	w.refused("is longer than 4096 bytes after its symbolic links are resolved")
}

func TestOneResolveExamines1024Leftovers(t *testing.T) {
	w := newWorld(t)
	for n := range 1030 {
		w.dir(".local/state/bulkhead/.staging/" + strconv.Itoa(n))
	}
	var log bytes.Buffer
	w.Config.Log = hclog.New(&hclog.LoggerOptions{Output: &log})
	w.refused("")
	if left := w.entries(".local/state/bulkhead/.staging"); len(left) != 6 || log.Len() > 0 {
		t.Errorf("%d are left, logged: %s", len(left), &log)
	}
}

// TestMarkersOfOtherDirectoriesRemoveNothing has links in .staging that do not name a holder. A directory of the user must not be taken for
// one: a holder is removed with its contents.
func TestMarkersOfOtherDirectoriesRemoveNothing(t *testing.T) {
	w := newWorld(t)
	staging := ".local/state/bulkhead/.staging/"
	w.dir(staging)
	for _, name := range []string{"data", beside + "x", "a/" + beside + "y"} {
		w.must(os.WriteFile(filepath.Join(w.dir(name), "kept"), nil, 0o600))
	}
	w.link(w.path("data"), staging+markers+"data")
	w.link(w.path(beside+"x"), staging+markers+beside+"y")
	w.link("../../../../"+beside+"x", staging+markers+beside+"x") // not absolute, so it names nothing, and is removed
	w.dir(staging + markers + beside + "z")                       // a directory in place of a link
	w.refused("")
	for _, name := range []string{"data", beside + "x", "a/" + beside + "y"} {
		if got := w.entries(name); len(got) != 1 {
			t.Errorf("%s has %q", name, got)
		}
	}
	if got := w.entries(staging); len(got) != 3 {
		t.Errorf("the markers are %q", got)
	}
	w.link(w.path("a/"+beside+"y"), staging+markers+beside+"y2")
	w.must(os.Rename(w.path(staging+markers+beside+"y2"), w.path(staging+markers+beside+"y")))
	w.refused("")
	if got := w.entries("a"); len(got) != 0 {
		t.Errorf("an abandoned holder is left: %q", got)
	}
}

// TestMarkerBelowAbsentDirectoryRemovesNothing has a marker whose directory is absent, while the nearest existing ancestor of that
// directory contains an entry of the holder's name.
func TestMarkerBelowAbsentDirectoryRemovesNothing(t *testing.T) {
	w := newWorld(t)
	staging := ".local/state/bulkhead/.staging/"
	w.dir(staging)
	w.must(os.WriteFile(filepath.Join(w.dir(beside+"x"), "kept"), nil, 0o600))
	w.link(w.path("gone/"+beside+"x"), staging+markers+beside+"x")
	w.refused("")
	if got := w.entries(beside + "x"); len(got) != 1 {
		t.Errorf("got %q", got)
	}
	if got := w.entries(staging); len(got) != 0 {
		t.Errorf("the marker of an absent directory is left: %q", got)
	}
}

func TestCreateMovesNoOtherDirectory(t *testing.T) {
	w := newWorld(t)
	w.grant(manifest.ReadWrite, "a", "b")
	s := w.resolve()
	st := s.staged[0]
	if st.at != w.home {
		t.Errorf("the nearest existing ancestor is %s", st.at)
	}
	holder := filepath.Join(w.Places.State, stagingName, st.name)
	w.must(os.Rename(filepath.Join(holder, st.child), filepath.Join(holder, "moved")))
	w.must(os.WriteFile(filepath.Join(w.dir(filepath.Join(holder, st.child)), "planted"), nil, 0o600))
	if err := s.Create(0); !errors.Is(err, ErrMoved) {
		t.Errorf("got %v", err)
	}
	w.must(s.Create(1))
	if _, err := os.Lstat(w.path("a")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("another directory was moved to the granted path: %v", err)
	}
}

func TestCreateLeavesOtherMountsAbsent(t *testing.T) {
	w := newWorld(t)
	w.grant(manifest.ReadWrite, "a", "b", "ab", "project")
	s := w.resolve()
	w.must(s.Create(0))
	for _, name := range []string{"b", "ab"} {
		if _, err := os.Lstat(w.path(name)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s was created: %v", name, err)
		}
	}
	w.must(s.Close())
	for i := range s.Mounts {
		if err := s.Create(i); err == nil {
			t.Errorf("a closed set created the directory %d", i)
		}
	}
}

func TestUncreatableStateDirectoryIsReported(t *testing.T) {
	w := newWorld(t)
	w.Places.State = "/proc/bulkhead/state"
	w.grantState()
	w.NeedsState = true
	w.refused("state directory /proc/bulkhead/state: bulkhead: ")
}

func TestCreatedDirectoryIsWatched(t *testing.T) {
	w := newWorld(t)
	w.grant(manifest.ReadWrite, "a")
	s := w.resolve()
	w.must(s.Create(0))
	w.unchanged(s)
	w.must(os.Rename(w.path("a"), w.path("b")))
	w.dir("a")
	w.changed(s, "a was replaced")
}

func TestStateDirectoryElsewhereIsRefused(t *testing.T) {
	w := newWorld(t)
	w.Grant.FS = append(w.Grant.FS, config.Mount{Path: w.path(".local/state/bulkhead2/notes"), Access: manifest.ReadWrite, State: true})
	w.NeedsState = true
	w.refused("is not in the host's state directory")
}

// TestBroadDirectoriesAreKnownByIdentity has a home directory whose own path goes through a link.
func TestBroadDirectoriesAreKnownByIdentity(t *testing.T) {
	w := newWorld(t)
	parent := filepath.Dir(filepath.Dir(w.home))
	w.must(os.Symlink("home", filepath.Join(parent, "link")))
	w.Places.Home, w.Places.State, w.Places.Project = filepath.Join(parent, "link", "user"), "", ""
	w.must(os.Symlink("home/user", filepath.Join(parent, "alias")))
	w.must(os.Symlink("home", filepath.Join(parent, "above")))
	for path, want := range map[string]string{"alias": "the whole home directory", "above": "holds the whole home directory", "link/user": "", "home/user": "", "alias/project": ""} {
		w.Grant.FS = []config.Mount{{Path: filepath.Join(parent, path), Access: manifest.Read}}
		w.refused(want)
	}
}

// TestWalkNoticesMovedDirectory moves a directory away before the walk goes to its parent, which then is a different one.
func TestWalkNoticesMovedDirectory(t *testing.T) {
	w := newWorld(t)
	w.dir("disk/x")
	w.dir("decoy")
	p, err := newWalker(w.Places, nil, nil).walk(w.path("disk/x"))
	w.must(err)
	defer p.close()
	w.must(os.Rename(w.path("disk/x"), w.path("decoy/x")))
	if err := p.up(); !errors.Is(err, ErrMoved) {
		t.Errorf("got %v", err)
	}
}

func TestErrorsOfHandlesAreReturned(t *testing.T) {
	closed, err := os.Open(t.TempDir())
	if err == nil {
		err = closed.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func() error{
		"makeDirs":      func() error { _, _, err := makeDirs(closed, nil, 0o700); return err },
		"makeDirs of a": func() error { _, _, err := makeDirs(closed, []string{"a"}, 0o700); return err },
		"empty":         func() error { return (&cleaner{left: 1}).empty(closed) },
		"closeFile":     func() error { return closeFile(closed) },
		"list":          func() error { _, err := list(closed, 1); return err },
		"hold":          func() error { _, _, err := hold(closed, ""); return err },
		"lockHolder":    func() error { _, err := lockHolder(closed, "a", true); return err },
		"holdDir":       func() error { _, _, err := holdDir(closed, "a"); return err },
		"checkIdentity": func() error { return checkIdentity(nil, "/", closed) },
		"identifyFile":  func() error { _, err := identifyFile(closed); return err },
		"identifyAt":    func() error { _, err := identifyAt(closed, "a"); return err },
		"mkdirAt":       func() error { return mkdirAt(closed, "a", 0o700) },
		"unlinkAt":      func() error { return unlinkAt(closed, "a") },
		"rmdirAt":       func() error { return rmdirAt(closed, "a") },
		"removeHeld":    func() error { return removeHeld(closed, closed, "a") },
		"renameAt":      func() error { return renameAt(closed, "a", closed, "b") },
		"symlinkAt":     func() error { return symlinkAt("a", closed, "b") },
		"rename":        func() error { return renameNoReplace(closed, "a", closed, "b") },
		"rename safely": func() error { return renameUnlessExists(closed, "a", closed, "b") },
		"readLink":      func() error { _, err := readLink(closed, "a"); return err },
		"openEntry":     func() error { _, err := openEntry(closed, "a"); return err },
		"up": func() error {
			return (&place{dir: closed, steps: []step{{}, {name: "a"}}}).up()
		},
	} {
		if err := call(); err == nil || errors.Is(err, ErrMoved) {
			t.Errorf("%s of a closed directory: got %v", name, err)
		}
	}
}

func TestListReportsRemovedDirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	dir, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if names, err := list(dir, 1); err != nil || len(names) != 0 {
		t.Errorf("an empty directory: %q, %v", names, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if names, err := list(dir, 1); err == nil {
		t.Errorf("a removed directory has %q", names)
	}
}

func TestHolderOfLivingProcessIsNotTaken(t *testing.T) {
	parent, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer parent.Close()
	held, name, err := hold(parent, "")
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if f, err := lockHolder(parent, name, false); err == nil {
		f.Close()
		t.Error("a locked holder was locked again")
	}
	c := cleaner{left: 10}
	if c.removeHolder(parent, name, name) || c.kept != 0 {
		t.Error("a locked holder was removed, or counts as abandoned")
	}
	if !c.removeHolder(parent, "absent", "absent") {
		t.Error("an absent holder exists")
	}
}

func TestReaches(t *testing.T) {
	w := newWorld(t)
	w.dir("repo")
	w.link("project", "alias")
	w.grant(manifest.Read, "project/sub")
	w.Grant.Git = []config.Git{{Repo: w.path("repo")}}
	for path, want := range map[string]bool{
		"project/sub": true, "project": true, "project/sub/file": true, "alias/sub/file": true, "repo/.git": true, ".": true,
		"project/other": false, "project/sub2": false, "other": false,
	} {
		if got := Reaches(w.Grant, []string{"/nowhere", w.path(path)}); got != want {
			t.Errorf("%s: got %t", path, got)
		}
	}
	if Reaches(w.Grant, nil) {
		t.Error("no path is reached by a grant")
	}
}

func ExampleBreadth() {
	fmt.Println(Home, Home.Broad(), HoldsProject, HoldsProject.Broad())
	// Output: the whole home directory true holds the project false
}
