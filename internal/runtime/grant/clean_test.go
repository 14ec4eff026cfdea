//go:build unix

package grant

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// abandon simulates that the process of a set was killed: the locks of the set are released, and its staged directories stay.
func abandon(t *testing.T, s *Set) {
	t.Helper()
	for _, st := range s.staged {
		st.holder.Close()
	}
}

func TestPreparedDirectoriesOfDeadProcessAreRemoved(t *testing.T) {
	w := newWorld(t)
	other := otherFileSystem(t)
	w.grant(manifest.ReadWrite, other+"/data", ".codex")
	dead, alive := w.resolve(), w.resolve()
	staging := filepath.Join(w.Places.State, stagingName)
	if got := len(w.entries(staging)) + len(hiddenNames(w.entries(other))); got != 6 {
		t.Fatalf("%d are prepared: %q, %q", got, w.entries(staging), w.entries(other))
	}
	abandon(t, dead)
	// The next Resolve must remove leftovers even if its grant differs.
	next := newWorld(t)
	next.Places.State = w.Places.State
	next.grant(manifest.Read, "project")
	next.resolve()
	if got := len(w.entries(staging)) + len(hiddenNames(w.entries(other))); got != 3 {
		t.Errorf("%d are left: %q, %q", got, w.entries(staging), w.entries(other))
	}
	w.must(alive.Create(0))
	w.must(alive.Create(1))
	w.unchanged(alive)
	if got := append(w.entries(staging), hiddenNames(w.entries(other))...); len(got) > 0 {
		t.Errorf("left over: %q", got)
	}
}

func TestHolderOfDeadProcessIsRemovedWithContent(t *testing.T) {
	w := newWorld(t)
	other := otherFileSystem(t)
	w.must(os.WriteFile(filepath.Join(w.dir("secret/sub"), "kept"), nil, 0o600))
	w.grant(manifest.ReadWrite, other+"/data", ".codex")
	dead := w.resolve()
	for _, at := range []string{filepath.Join(other, dead.staged[0].name), filepath.Join(w.Places.State, stagingName, dead.staged[1].name)} {
		w.must(os.MkdirAll(filepath.Join(at, strings.Repeat("deep/", 300)), 0o700))
		w.must(os.WriteFile(filepath.Join(at, "deep/deep/file"), nil, 0o600))
		w.link(w.path("secret"), filepath.Join(at, "deep/link"))
		w.link(w.path("secret"), filepath.Join(at, "link"))
	}
	abandon(t, dead)
	next := newWorld(t)
	next.Places.State = w.Places.State
	next.resolve()
	if got := append(w.entries(filepath.Join(w.Places.State, stagingName)), w.entries(other)...); len(got) > 0 {
		t.Errorf("left over: %q", got)
	}
	if got := w.entries("secret/sub"); len(got) != 1 {
		t.Errorf("removed through a link: %q is left", got)
	}
}

func TestLinkInPlaceOfHolderIsNotFollowed(t *testing.T) {
	w := newWorld(t)
	other := otherFileSystem(t)
	w.must(os.WriteFile(filepath.Join(w.dir("secret"), "kept"), nil, 0o600))
	w.grant(manifest.ReadWrite, other+"/data")
	dead := w.resolve()
	holder := filepath.Join(other, dead.staged[0].name)
	abandon(t, dead)
	w.must(os.RemoveAll(holder))
	w.link(w.path("secret"), holder)
	s := w.resolve()
	w.must(s.Create(0))
	if got := append(w.entries("secret"), w.entries(other+"/data")...); len(got) != 1 || got[0] != "kept" {
		t.Errorf("got %q", got)
	}
	w.unchanged(s)
}

func TestFailedRemovalIsReportedOnce(t *testing.T) {
	w := newWorld(t)
	staging := filepath.Join(w.Places.State, stagingName)
	w.dir(".local/state/bulkhead/.staging")
	for n := range 3 {
		holder := w.dir(filepath.Join(staging, strconv.Itoa(n)))
		for i := range 1034 {
			w.must(os.Symlink("x", filepath.Join(holder, strconv.Itoa(i))))
		}
	}
	count := func() (n int) {
		for _, holder := range w.entries(staging) {
			n += len(w.entries(filepath.Join(staging, holder)))
		}
		return n
	}
	before := count()
	var log bytes.Buffer
	w.Config.Log = hclog.New(&hclog.LoggerOptions{Output: &log})
	w.resolve()
	if removed := before - count(); removed != 2048 {
		t.Errorf("%d entries were removed, want 2048", removed)
	}
	list := w.entries(staging)
	if got := strings.Count(log.String(), "[WARN]"); got != 1 || !strings.Contains(log.String(), "number=2") || len(list) != 2 || !strings.Contains(log.String(), errTooMany.Error()) {
		t.Errorf("logged:\n%s", &log)
	}
	w.resolve()
	if left := w.entries(staging); len(left) > 0 {
		t.Errorf("left over: %q", left)
	}
}

func TestHolderOfOneDirectoryIsRemoved(t *testing.T) {
	w := newWorld(t)
	staging := w.dir(".local/state/bulkhead/.staging")
	w.must(os.WriteFile(filepath.Join(w.dir(filepath.Join(staging, "holder/dir")), "file"), nil, 0o600))
	var log bytes.Buffer
	w.Config.Log = hclog.New(&hclog.LoggerOptions{Output: &log})
	w.resolve()
	if left := w.entries(staging); len(left) > 0 || log.Len() > 0 {
		t.Errorf("left over: %q, logged: %s", left, &log)
	}
}

// TestFirstHolderThatStaysIsNamed has holders whose removal fails for want of attempts.
func TestFirstHolderThatStaysIsNamed(t *testing.T) {
	parent, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer parent.Close()
	c := cleaner{left: 0}
	for _, name := range []string{"one", "two"} {
		if err := os.MkdirAll(filepath.Join(parent.Name(), name, "a"), 0o700); err != nil {
			t.Fatal(err)
		}
		if c.removeHolder(parent, name, "path of "+name) {
			t.Errorf("%s was removed", name)
		}
	}
	if c.kept != 2 || c.first != "path of one" || c.reason != errTooMany {
		t.Errorf("got %+v", c)
	}
}

func TestUnreadableLeftoverDoesNotFailResolve(t *testing.T) {
	if testenv.AsNobody(t) {
		return
	}
	w := newWorld(t)
	closed := w.dir(".local/state/bulkhead/.staging/a/closed")
	w.dir(".local/state/bulkhead/.staging/a/closed/x")
	for _, mode := range []os.FileMode{0, 0o500} { // neither the directory can be opened, nor what it contains be removed
		w.must(os.Chmod(closed, mode))
		t.Cleanup(func() { os.Chmod(closed, 0o700) })
		var log bytes.Buffer
		w.Config.Log = hclog.New(&hclog.LoggerOptions{Output: &log})
		w.resolve()
		if _, err := os.Lstat(closed); err != nil && !errors.Is(err, os.ErrPermission) || !strings.Contains(log.String(), "permission denied") {
			t.Errorf("mode %v: %v, logged:\n%s", mode, err, &log)
		}
	}
}

func TestUnusableStagingDirectoryIsNotNeeded(t *testing.T) {
	w := newWorld(t)
	staging := w.path(".local/state/bulkhead/.staging")
	w.dir(".local/state/bulkhead")
	w.must(os.WriteFile(staging, nil, 0o600))
	w.grant(manifest.ReadWrite, ".codex")
	s := w.resolve()
	if got := hiddenNames(w.entries(".")); len(got) != 1 || s.StateErr != nil {
		t.Errorf("prepared beside the granted path: %q (%v)", got, s.StateErr)
	}
	w.must(s.Create(0))
	w.unchanged(s)
}
