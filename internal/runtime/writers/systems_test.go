//go:build unix

package writers

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/filelock"
)

// logged is a server with its log.
func (w world) logged(t *testing.T) (testServer, *bytes.Buffer) {
	log := &bytes.Buffer{}
	c := New(Server{PID: 1}, isRoot, hclog.New(&hclog.LoggerOptions{Output: log}))
	t.Cleanup(c.Close)
	return testServer{c, w.state}, log
}

func TestWarnsOfFileSystemsThatOtherMachinesMayShare(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	records := filepath.Join(w.state, dirName)
	for name, test := range map[string]struct {
		dir, remote string // the directory that is claimed, and the one whose file system is not local
		want        string
	}{
		"the project": {w.project, w.project, mayBeShared},
		"the state":   {w.project, records, stateMayBeShared},
		"neither":     {w.project, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, log := w.logged(t)
			s.isLocal = func(f *os.File) bool { return f.Name() != test.remote }
			for range 2 {
				if err := claimAll(t, s, Dir{Path: test.dir}, Dir{Path: w.root, Shared: true}); err != nil {
					t.Fatal(err)
				}
			}
			if got := log.String(); test.want == "" && got != "" || strings.Count(got, "WARN") > 1 || !strings.Contains(got, test.want) || !strings.Contains(got, test.remote) {
				t.Errorf("the log has %q, want %q", got, test.want)
			}
			s.Close()
		})
	}
	if runtime.GOOS != "linux" {
		return
	}
	s, log := w.logged(t)
	if err := claimAll(t, s, Dir{Path: "/proc/self/task"}); err != nil || !strings.Contains(log.String(), mayBeShared) {
		t.Errorf("/proc counts as local: %v, %q", err, log.String())
	}
}

// A server with more projects than it may mark claims them all, and says what it does not promise for those without marks.
func TestMarksAreBounded(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("this system has no marks")
	}
	w := newWorld(t)
	s, log := w.logged(t)
	s.broad = func(string) bool { return true }
	s.maxMarked = 2
	var projects []Dir
	for _, name := range []string{"a", "b", "c"} {
		projects = append(projects, Dir{Path: filepath.Join(w.root, name)})
		if err := os.Mkdir(projects[len(projects)-1].Path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := claimAll(t, s, projects[:2]...); err != nil || log.Len() > 0 {
		t.Errorf("as many projects as may have marks: %v, %q", err, log.String())
	}
	if err := claimAll(t, s, projects[2]); err != nil || len(s.marked) != 2 || strings.Count(log.String(), tooManyMarks) != 1 {
		t.Errorf("%d directories have marks, %v: %q", len(s.marked), err, log.String())
	}
	if err := claimAll(t, w.server(t, w.state), projects[2]); err == nil {
		t.Error("the record does not have the project without mark")
	}
}

// NFS accepts no exclusive lock of a file that is not open for writing, as that of a record is not.
func TestRecordHasASharedLock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one := w.server(t, w.state)
	if err := claimAll(t, one, Dir{Path: w.project}); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(one.Locks(w.state)[0].Name())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if free, err := filelock.Try(f, filelock.Shared); err != nil || !free {
		t.Errorf("the record has an exclusive lock, %v", err)
	}
}

// A file system may have no locks at all.
func TestRecordWithoutLockIsNotKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, log := w.logged(t)
	r := &recordDir{path: filepath.Join(w.state, dirName), server: s.server, name: "r"}
	s.recordDirs[w.state] = r
	if err := os.MkdirAll(filepath.Join(r.path, r.name+lockSuffix), 0o700); err != nil { // no lock file can be made
		t.Fatal(err)
	}
	for range 2 {
		if err := claimAll(t, s, Dir{Path: w.project}); err != nil || s.Locks(w.state) != nil || strings.Count(log.String(), noRecord) != 1 {
			t.Errorf("%v, locks %v: %q", err, s.Locks(w.state), log.String())
		}
	}
	if err := claimAll(t, w.server(t, filepath.Join(w.root, "other")), Dir{Path: w.project}); err == nil && runtime.GOOS == "linux" {
		t.Error("a server without record marks nothing")
	}
}

func TestContains(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	link := filepath.Join(w.root, "link") // in the place of a mount, which has the identity of the directory too
	if err := os.Symlink(w.project, link); err != nil {
		t.Skip(err)
	}
	for name, test := range map[string]struct {
		dir, path string
		want      bool
	}{
		"itself":                   {w.project, w.project, true},
		"a directory in it":        {w.project, w.inner, true},
		"one that contains it":     {w.inner, w.project, false},
		"another path of it":       {w.project, link, true},
		"below another path of it": {w.project, filepath.Join(link, "inner", "none"), true},
		"by another path":          {link, w.inner, true},
		"one that does not exist":  {filepath.Join(w.root, "none"), filepath.Join(w.root, "none", "x"), true},
		"neither of two exists":    {filepath.Join(w.root, "none"), filepath.Join(w.root, "other"), false},
		"a name that begins equal": {w.project, w.project + "-2", false},
		"the root directory":       {filepath.VolumeName(w.root) + string(filepath.Separator), w.project, true},
	} {
		if got := Contains(test.dir, test.path); got != test.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}
