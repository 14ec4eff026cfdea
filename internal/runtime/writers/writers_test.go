//go:build unix

package writers

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
)

// world is a temporary directory with a project that contains another one.
type world struct{ root, state, project, inner string }

func newWorld(t *testing.T) world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := world{root, filepath.Join(root, "state"), filepath.Join(root, "project"), filepath.Join(root, "project", "inner")}
	for _, dir := range []string{w.state, w.inner} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// testServer is a server whose claims have their records in a state directory.
type testServer struct {
	*Claims
	state string
}

func (w world) server(t *testing.T, state string) testServer {
	c := New(Server{PID: 4711, Host: "here", Since: time.Unix(0, 0), Endpoint: "127.0.0.1:1", Config: "/etc/one.toml"}, hclog.NewNullLogger())
	t.Cleanup(c.Close)
	return testServer{c, state}
}

// claimAll adds claims in a bubble, so that waiting takes no time.
func claimAll(t *testing.T, s testServer, dirs ...Dir) (err error) {
	t.Helper()
	for i := range dirs {
		dirs[i].In = s.state
	}
	synctest.Test(t, func(t *testing.T) { err = s.Add(t.Context(), dirs) })
	return err
}

func TestSecondClaimIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	link := filepath.Join(w.root, "link")
	if err := os.Symlink(w.project, link); err != nil {
		t.Skip(err)
	}
	sibling := w.project + "-2"
	if err := os.Mkdir(sibling, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		first, second Dir
		refused       bool
		marked        bool // also with another state directory
	}{
		"the same directory":            {Dir{Path: w.project}, Dir{Path: w.project}, true, true},
		"a symbolic link to it":         {Dir{Path: w.project}, Dir{Path: link}, true, true},
		"a directory in it":             {Dir{Path: w.project}, Dir{Path: w.inner}, true, true},
		"one that contains it":          {Dir{Path: w.inner}, Dir{Path: w.project}, true, true},
		"one in it that does not exist": {Dir{Path: w.project}, Dir{Path: filepath.Join(w.inner, "none"), Shared: true}, true, false},
		"a sibling":                     {Dir{Path: w.project}, Dir{Path: sibling}, false, false},
		"a directory shared by both":    {Dir{Path: w.project, Shared: true}, Dir{Path: w.inner, Shared: true}, false, false},
		"a project that one shares":     {Dir{Path: w.root, Shared: true}, Dir{Path: w.inner}, true, false},
		"state that does not exist":     {Dir{Path: "/s/memory", State: true}, Dir{Path: "/s/memory", State: true}, true, false},
		"state of another plugin":       {Dir{Path: "/s/memory", State: true}, Dir{Path: "/s/notes", State: true}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, state := range []string{w.state, filepath.Join(w.root, "other")} {
				one := w.server(t, w.state)
				if err := claimAll(t, one, test.first); err != nil {
					t.Fatal(err)
				}
				two := w.server(t, state)
				err := claimAll(t, two, test.second)
				sees := test.refused
				if state != w.state {
					sees = test.marked && runtime.GOOS == "linux"
				}
				conflict := (*Conflict)(nil)
				if errors.As(err, &conflict) != sees || err != nil && !sees {
					t.Errorf("state %s: got %v; want a conflict: %t", state, err, sees)
				}
				if sees && state == w.state && (conflict.Path != test.second.Path || conflict.Other.PID != 4711 || !strings.Contains(err.Error(), "process 4711 on here") ||
					!strings.Contains(err.Error(), "/etc/one.toml") || !strings.Contains(err.Error(), "remedy")) {
					t.Errorf("the conflict names %+v: %v", conflict, err)
				}
				one.Close()
				if err := claimAll(t, two, test.second); err != nil {
					t.Errorf("state %s: after the first server has ended: %v", state, err)
				}
				two.Close()
			}
		})
	}
	left, err := os.ReadDir(filepath.Join(w.state, dirName))
	if err != nil || len(left) != 1 {
		t.Errorf("%v is left, %v; want only the lock", left, err)
	}
}

// A server claims directories of which one contains the other, some of them twice, and more of them later.
func TestOwnClaimsDoNotConflict(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.server(t, w.state)
	for _, dirs := range [][]Dir{{{Path: w.project}, {Path: w.inner}, {Path: w.project}}, {{Path: w.project}, {Path: w.root, Shared: true}}, {{Path: w.root}}} {
		if err := claimAll(t, c, dirs...); err != nil {
			t.Fatal(err)
		}
	}
	if err := claimAll(t, w.server(t, w.state), Dir{Path: filepath.Join(w.root, "none"), Shared: true}); err == nil {
		t.Error("a claim that was added to others has no effect")
	}
}

// A claim that is refused leaves nothing that excludes others.
func TestRefusedClaimHasNoEffect(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	free := filepath.Join(w.root, "free")
	if err := os.Mkdir(free, 0o700); err != nil {
		t.Fatal(err)
	}
	one, two := w.server(t, w.state), w.server(t, filepath.Join(w.root, "other"))
	if err := claimAll(t, one, Dir{Path: w.inner}); err != nil {
		t.Fatal(err)
	}
	for _, state := range []string{w.state, filepath.Join(w.root, "third")} {
		err := claimAll(t, w.server(t, state), Dir{Path: free}, Dir{Path: w.inner})
		if wants := state == w.state || runtime.GOOS == "linux"; wants != (err != nil) {
			t.Errorf("state %s: got %v", state, err)
		}
	}
	if err := claimAll(t, two, Dir{Path: free}); err != nil {
		t.Errorf("a refused claim excludes others: %v", err)
	}
}

// The lock lasts as long as a descriptor of it, such as that of a worker whose server was killed.
func TestClaimLastsAsLongAsAnInheritedLock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.server(t, w.state)
	if err := claimAll(t, one, Dir{Path: "/s/memory", State: true}); err != nil {
		t.Fatal(err)
	}
	inherited := duplicate(t, one.Lock(one.state))
	one.Close()
	two := w.server(t, w.state)
	conflict := (*Conflict)(nil)
	if err := claimAll(t, two, Dir{Path: "/s/memory", State: true}); !errors.As(err, &conflict) || conflict.Other.PID != 4711 {
		t.Errorf("while a worker has the lock: %v", err)
	}
	inherited.Close()
	if err := claimAll(t, two, Dir{Path: "/s/memory", State: true}); err != nil {
		t.Errorf("after the worker has ended: %v", err)
	}
}

// A server with projects whose records are in several state directories, of which one project contains the other.
func TestProjectsMayHaveStateDirectoriesOfTheirOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	own := filepath.Join(w.root, "own")
	add := func(c testServer, dirs ...Dir) (err error) {
		synctest.Test(t, func(t *testing.T) { err = c.Add(t.Context(), dirs) })
		return err
	}
	one := w.server(t, "")
	if err := add(one, Dir{Path: w.project, In: w.state}, Dir{Path: w.inner, In: own}); err != nil {
		t.Fatal(err)
	}
	if one.Lock(w.state) == nil || one.Lock(own) == nil || one.Lock("") != nil {
		t.Error("the records are not where the projects have their state")
	}
	conflict := (*Conflict)(nil)
	if err := add(w.server(t, ""), Dir{Path: w.inner, In: own}); !errors.As(err, &conflict) || conflict.Other.PID != 4711 {
		t.Errorf("got %v", err)
	}
}

func TestUnreadableRecordRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.server(t, w.state)
	if err := claimAll(t, one, Dir{Path: w.project}); err != nil {
		t.Fatal(err)
	}
	record := filepath.Join(w.state, dirName, one.records[one.state].name+dataSuffix)
	if err := os.WriteFile(record, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := claimAll(t, w.server(t, w.state), Dir{Path: filepath.Join(w.root, "none"), Shared: true}); err == nil || !strings.Contains(err.Error(), record) {
		t.Errorf("got %v, want an error that names %s", err, record)
	}
}

func TestWithoutStateDirectoryTheUserIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	file := filepath.Join(w.root, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, state := range []string{"", file} {
		var log bytes.Buffer
		c := testServer{New(Server{PID: 1}, hclog.New(&hclog.LoggerOptions{Output: &log})), state}
		for range 2 {
			if err := claimAll(t, c, Dir{Path: w.project}); err != nil {
				t.Errorf("%q: %v", state, err)
			}
		}
		if strings.Count(log.String(), noRecord) != 1 || c.Lock(state) != nil {
			t.Errorf("%q: the log has %q", state, log.String())
		}
		c.Close()
	}
}
