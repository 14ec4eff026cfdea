//go:build unix

package writers

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
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
	c := New(Server{PID: 4711, Host: "here", Since: time.Unix(0, 0), Endpoint: "127.0.0.1:1", Config: "/etc/one.toml"}, isRoot, hclog.NewNullLogger())
	t.Cleanup(c.Close)
	return testServer{c, state}
}

func isRoot(dir string) bool { return dir == "/" }

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
		"a directory at the same path":  {Dir{Path: filepath.Join(w.root, "none")}, Dir{Path: filepath.Join(w.root, "none"), Shared: true}, true, false},
		"one that both share":           {Dir{Path: filepath.Join(w.root, "none"), Shared: true}, Dir{Path: filepath.Join(w.root, "none"), Shared: true}, false, false},
		"all state":                     {Dir{Path: "/s/memory", State: true}, Dir{Path: "/s", State: true}, true, false},
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
					!strings.Contains(err.Error(), "/etc/one.toml") || !strings.Contains(err.Error(), "remedy") || strings.Contains(err.Error(), "`state` of the project") != test.second.State || strings.Contains(err.Error(), "XDG_STATE_HOME") != test.second.State) {
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
	inherited := duplicate(t, one.Locks(one.state)[0])
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
	if one.Locks("") != nil || len(one.Locks(w.state)) != 1 || len(one.Locks(w.state, own)) != 2 || len(one.Locks(own, own)) != 1 {
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
	record := filepath.Join(w.state, dirName, one.recordDirs[one.state].name+dataSuffix)
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
		c := testServer{New(Server{PID: 1}, isRoot, hclog.New(&hclog.LoggerOptions{Output: &log})), state}
		for range 2 {
			if err := claimAll(t, c, Dir{Path: w.project}); err != nil {
				t.Errorf("%q: %v", state, err)
			}
		}
		if strings.Count(log.String(), noRecord) != 1 || c.Locks(state) != nil {
			t.Errorf("%q: the log has %q", state, log.String())
		}
		c.Close()
	}
}

// A link and the directory that it leads to are the same state directory.
func TestStateByLinkIsTheSame(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	link := filepath.Join(w.root, "link")
	if err := os.Symlink(w.state, link); err != nil {
		t.Skip(err)
	}
	if err := claimAll(t, w.server(t, w.state), Dir{Path: filepath.Join(w.state, "memory"), State: true}); err != nil {
		t.Fatal(err)
	}
	conflict := (*Conflict)(nil)
	if err := claimAll(t, w.server(t, link), Dir{Path: filepath.Join(link, "memory"), State: true}); !errors.As(err, &conflict) {
		t.Errorf("the same state: %v", err)
	}
	if err := claimAll(t, w.server(t, link), Dir{Path: filepath.Join(link, "notes"), State: true}); err != nil {
		t.Errorf("state of another plugin: %v", err)
	}
}

// A project that is replaced while its server runs is still that server's, and so is what the new directory contains or is in.
func TestReplacedProjectIsClaimed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := claimAll(t, w.server(t, w.state), Dir{Path: w.inner}); err != nil {
		t.Fatal(err)
	}
	below, sibling := filepath.Join(w.inner, "below"), w.inner+"-2"
	if err := errors.Join(os.Rename(w.project, w.project+"-old"), os.MkdirAll(below, 0o700), os.Mkdir(sibling, 0o700)); err != nil {
		t.Fatal(err)
	}
	for dir, refused := range map[string]bool{w.inner: true, below: true, w.project: true, sibling: false} {
		two, conflict := w.server(t, w.state), (*Conflict)(nil)
		if err := claimAll(t, two, Dir{Path: dir}); errors.As(err, &conflict) != refused || refused && conflict.Other.PID != 4711 {
			t.Errorf("%s: got %v", dir, err)
		}
		two.Close()
	}
}

// A temporary error, such as that no more files can be opened, must not release what a server has claimed.
func TestErrorKeepsTheLock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.server(t, w.state)
	if err := claimAll(t, one, Dir{Path: w.project}); err != nil {
		t.Fatal(err)
	}
	guard := one.recordDirs[one.state].guard()
	if err := errors.Join(os.Remove(guard), os.Mkdir(guard, 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := claimAll(t, one, Dir{Path: w.root}); err == nil || !strings.Contains(err.Error(), guard) {
		t.Errorf("a claim that cannot be recorded: %v", err)
	}
	if err := os.Remove(guard); err != nil {
		t.Fatal(err)
	}
	conflict := (*Conflict)(nil)
	if err := claimAll(t, w.server(t, w.state), Dir{Path: w.project}); len(one.Locks(w.state)) != 1 || !errors.As(err, &conflict) {
		t.Errorf("after the error the locks are %v, and another server gets %v", one.Locks(w.state), err)
	}
}

// A suspended server may keep the lock of all records.
func TestLockedRecordsAreReported(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two := w.server(t, w.state), w.server(t, w.state)
	if err := claimAll(t, one, Dir{Path: w.project}); err != nil {
		t.Fatal(err)
	}
	unlock, err := one.recordDirs[w.state].enter()
	if err != nil {
		t.Fatal(err)
	}
	err = claimAll(t, two, Dir{Path: w.project})
	if usage := (*usage.Error)(nil); !errors.As(err, &usage) || !strings.Contains(err.Error(), "remedy: end that server") || !strings.Contains(err.Error(), one.recordDirs[w.state].guard()) {
		t.Errorf("got %v", err)
	}
	// The last conflict is reported also if the records are locked when time is up.
	unlock()
	synctest.Test(t, func(t *testing.T) {
		time.AfterFunc(patience/2, func() { unlock, err = one.recordDirs[w.state].enter() })
		conflict := (*Conflict)(nil)
		if err := two.Add(t.Context(), []Dir{{Path: w.project, In: w.state}}); !errors.As(err, &conflict) || conflict.Other.PID != 4711 {
			t.Errorf("got %v", err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

// Others could not read a record that is larger than they accept.
func TestRecordsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dirs := make([]Dir, 1200)
	for i := range dirs {
		dirs[i] = Dir{Path: fmt.Sprintf("/s/%d/%s", i, strings.Repeat("x", 4000)), State: true}
	}
	one := w.server(t, w.state)
	if err := claimAll(t, one, dirs...); err == nil || !strings.Contains(err.Error(), "remedy") || one.Locks(w.state) != nil {
		t.Errorf("got %v", err)
	}
	if err := claimAll(t, one, dirs[:100]...); err != nil {
		t.Error(err)
	}
}

// A directory that cannot be a project has no marks: every user could make servers believe that it is one.
func TestBroadDirectoriesHaveNoMarks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := New(Server{PID: 1}, func(dir string) bool { return contain.Within(dir, w.root) }, hclog.NewNullLogger())
	t.Cleanup(c.Close)
	if err := claimAll(t, testServer{c, w.state}, Dir{Path: w.inner}); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "linux" && len(c.marked) != 2 {
		t.Errorf("%d directories have marks, want the project and the one that contains it", len(c.marked))
	}
	conflict := (*Conflict)(nil)
	if err := claimAll(t, w.server(t, w.state), Dir{Path: w.root}); !errors.As(err, &conflict) {
		t.Errorf("the records have the directories that have no marks, too: %v", err)
	}
}
