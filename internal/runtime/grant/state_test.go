//go:build unix

package grant

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

func TestCreatedStateIsPrivate(t *testing.T) {
	w := newWorld(t)
	w.grantState()
	s := w.resolve()
	if s.StateErr != nil || s.Locks == nil || !s.Mounts[0].State || !s.Mounts[0].Write {
		t.Fatalf("got %+v", s)
	}
	if !w.same(s.Locks, filepath.Join(w.Places.State, ".locks/notes")) || !w.same(s.Mounts[0].Dir, filepath.Join(w.Places.State, "notes")) {
		t.Error("a handle refers to a different directory")
	}
	for _, name := range []string{".local", ".local/state/bulkhead", ".local/state/bulkhead/notes", ".local/state/bulkhead/.locks/notes"} {
		info, err := os.Lstat(w.path(name))
		w.must(err)
		if info.Mode().Perm() != 0o700 {
			t.Errorf("%s has the mode %v", name, info.Mode())
		}
	}
	w.unchanged(s)
}

func TestLinksAreFollowedToTheStateButNotInIt(t *testing.T) {
	w := newWorld(t)
	w.dir("disk")
	w.link("disk", ".local")
	w.grantState()
	if s := w.resolve(); s.Mounts[0].Path != w.path("disk/state/bulkhead/notes") {
		t.Errorf("got %s", s.Mounts[0].Path)
	}
	for _, name := range []string{"notes", ".locks"} {
		w.must(os.RemoveAll(filepath.Join(w.Places.State, name)))
		w.link("/", filepath.Join(w.Places.State, name))
	}
	s := w.resolve()
	if len(s.Mounts) > 0 || s.Locks != nil || !strings.Contains(s.StateErr.Error(), `bulkhead/notes: notes: is a symbolic link to "/", which is not followed: replace the link by a directory`) {
		t.Errorf("got %+v", s)
	}
}

// On the path to the state directory, a symbolic link is followed even if a plugin may write the directory that contains it, such as
// the home directory. On the paths of other grants, such links are refused.
func TestLinkToStateIsFollowedInGrantedHome(t *testing.T) {
	w := newWorld(t)
	w.dir(".local")
	w.dir("disk")
	w.link("../disk", ".local/state")
	w.grant(manifest.ReadWrite, ".")
	w.grantState()
	w.Writable = Writable(w.Places, w.Grant)
	if want := []string{w.home, w.path("disk/bulkhead/notes")}; !slices.Equal(w.Writable, want) {
		t.Errorf("writable are %q, want %q", w.Writable, want)
	}
	s := w.resolve()
	if s.StateErr != nil || s.Locks == nil || len(s.Mounts) != 2 || !s.Mounts[0].State || s.Mounts[0].Path != w.path("disk/bulkhead/notes") {
		t.Fatalf("got %+v", s)
	}
	link, err := identify(w.path(".local/state"), false)
	w.must(err)
	if !slices.Contains(s.Mounts[0].Anchors, link) {
		t.Error("a module may replace the link")
	}
	w.grant(manifest.ReadWrite, ".local/state/other")
	if _, err := Resolve(w.Config); err == nil || !strings.Contains(err.Error(), "below a directory that a plugin may write") {
		t.Errorf("a grant through the link: %v", err)
	}
}

// A plugin without a state directory that may write to the home directory cannot redirect the state directories of other plugins.
func TestPathToStateIsAnchorOfEachGrant(t *testing.T) {
	w := newWorld(t)
	w.dir(".local")
	w.dir("disk")
	w.link("../disk", ".local/state")
	w.grant(manifest.ReadWrite, ".")
	link, err := identify(w.path(".local/state"), false)
	w.must(err)
	for _, m := range w.resolve().Mounts {
		if !slices.Contains(m.Anchors, link) {
			t.Errorf("%s: a module may replace the link", m.Path)
		}
	}
}

// A read-only grant of a directory inside the plugin's own state directory does not make that directory read-only, whatever path the
// grant has.
func TestGrantInStateDoesNotNarrowIt(t *testing.T) {
	w := newWorld(t)
	w.dir(".local/state/bulkhead/notes/cache")
	w.link(".local/state/bulkhead/notes", "mine")
	w.grant(manifest.Read, "mine", "mine/cache", "mine/absent")
	w.grantState()
	s := w.resolve()
	if len(s.Mounts) != 1 || !s.Mounts[0].State || !s.Mounts[0].Write || s.Mounts[0].Path != w.path(".local/state/bulkhead/notes") {
		t.Errorf("got %+v", s.Mounts)
	}
	w.dir(".local/state/bulkhead/notes/absent")
	w.unchanged(s)
}

func TestUnusableStateFailsOnlyPluginsThatNeedIt(t *testing.T) {
	w := newWorld(t)
	w.must(os.WriteFile(w.path(".local"), nil, 0o600)) // no user can create a directory below a file
	w.grantState()
	w.grant(manifest.ReadWrite, "project", ".codex")
	s := w.resolve()
	if s.Locks != nil || s.StateErr == nil || !strings.Contains(s.StateErr.Error(), "$XDG_STATE_HOME") || len(s.Mounts) != 2 {
		t.Errorf("got %+v", s)
	}
	w.must(s.Create(1))
	w.unchanged(s)
	w.NeedsState = true
	before := descriptors()
	if _, err := Resolve(w.Config); err == nil || err.Error() != s.StateErr.Error() {
		t.Errorf("got %v, want %v", err, s.StateErr)
	}
	if after := descriptors(); after != before {
		t.Errorf("%d descriptors are open, %d before", after, before)
	}
}

func TestFileInPlaceOfStateDirectoryIsReported(t *testing.T) {
	w := newWorld(t)
	w.grantState()
	w.must(os.WriteFile(filepath.Join(w.dir(w.Places.State), w.Plugin), nil, 0o600))
	if s := w.resolve(); s.Locks == nil || s.StateErr == nil || !strings.Contains(s.StateErr.Error(), "notes: not a directory: make it a directory") {
		t.Errorf("got %+v", s)
	}
}

func TestHandlesOfExistingStateAreClosed(t *testing.T) {
	w := newWorld(t)
	w.grantState()
	w.grant(manifest.ReadWrite, "absent")
	w.must(w.resolve().Close())
	before := descriptors()
	s := w.resolve()
	w.must(s.Close())
	if after := descriptors(); after != before {
		t.Errorf("%d descriptors are open, %d before", after, before)
	}
}

func TestStateIsChecked(t *testing.T) {
	w := newWorld(t)
	w.grantState()
	var seen []string
	w.CheckState = func(dir *os.File, path string) error {
		if !w.same(dir, path) {
			t.Errorf("the handle does not refer to %s", path)
		}
		seen = append(seen, strings.TrimPrefix(path, w.Places.State))
		return nil
	}
	w.resolve()
	if want := []string{"", "/.locks", "/.locks/notes", "/.staging", "/notes"}; !slices.Equal(seen, want) {
		t.Errorf("got %q, want %q", seen, want)
	}
	foreign := errors.New("belongs to another user")
	w.CheckState = func(_ *os.File, path string) error {
		if filepath.Base(path) == ".locks" {
			return foreign
		}
		return nil
	}
	for _, w.NeedsState = range []bool{false, true} { // a plugin that needs its state directory has it
		var log bytes.Buffer
		w.Config.Log = hclog.New(&hclog.LoggerOptions{Output: &log})
		if s := w.resolve(); s.Locks != nil || !errors.Is(s.StateErr, foreign) || len(s.Mounts) != 1 || strings.Count(log.String(), foreign.Error()) != 1 {
			t.Errorf("got %+v, logged: %s", s, &log)
		}
	}
	w.NeedsState = false
	w.CheckState = func(*os.File, string) error { return foreign }
	if s := w.resolve(); s.Locks != nil || !errors.Is(s.StateErr, foreign) || len(s.Mounts) != 0 {
		t.Errorf("got %+v", s)
	}
}

func TestStateInUnwritableDirectoryIsReported(t *testing.T) {
	if testenv.AsNobody(t) {
		return
	}
	w := newWorld(t)
	w.must(os.Chmod(w.dir(".local"), 0o500))
	t.Cleanup(func() { os.Chmod(w.path(".local"), 0o700) })
	w.grantState()
	w.NeedsState = true
	w.refused("permission denied")
}
