package transaction_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem/faultfs"
	"github.com/bulkhead-mcp/bulkhead/sdk/transaction"
)

// before returns a file system that calls do before the first operation of a name on a path with the given end.
func before(operation, end string, do func(f *faultfs.FS, path string)) *faultfs.FS {
	f, done := &faultfs.FS{FS: noSync{}, Reads: true}, false
	f.Before = func(now, path string) {
		if now == operation && strings.HasSuffix(path, end) && !done {
			done = true
			do(f, path)
		}
	}
	return f
}

func TestLinkNeedsNoFollow(t *testing.T) {
	s := newScene(t, false)
	s.changes = []transaction.Change{{Root: s.root, Path: s.at("run.sh"), Before: digest("old run"), Link: "gone.md"}}
	if err := s.log.Apply(s.changes); err == nil || !strings.Contains(err.Error(), "only with NoFollow") {
		t.Errorf("got %v", err)
	}
	same(t, s.root, s.before)
}

// TestOnlyMoveTakesVacatedPath has a move that frees a path. Another move may take the path, a new file may not: Apply checks the file before
// the path is free.
func TestOnlyMoveTakesVacatedPath(t *testing.T) {
	s := newScene(t, false)
	free := transaction.Change{Root: s.root, Path: s.at("done/run.sh"), From: s.at("run.sh")}
	if err := s.log.Apply([]transaction.Change{free, s.change("run.sh", "", "new")}); !errors.Is(err, transaction.ErrChanged) {
		t.Errorf("got %v", err)
	}
	taken := transaction.Change{Root: s.root, Path: s.at("gone.md"), From: s.at("private.md")}
	if err := s.log.Apply([]transaction.Change{free, taken}); !errors.Is(err, transaction.ErrChanged) {
		t.Errorf("got %v", err)
	}
	same(t, s.root, s.before)
	taken.Path = s.at("run.sh")
	looked := 0
	f := &faultfs.FS{FS: noSync{}, Mode: faultfs.Fail, Reads: true}
	f.Before = func(operation, path string) {
		if operation == "lstat" && path == s.at("run.sh") {
			if looked++; looked == 2 { // whether the path of the second move is free
				f.At = f.Count()
			}
		}
	}
	if err := (transaction.Log{FS: f, Dir: s.log.Dir}).Apply([]transaction.Change{free, taken}); !errors.Is(err, faultfs.ErrInjected) {
		t.Errorf("got %v", err)
	}
	same(t, s.root, s.before)
	must(t, s.log.Apply([]transaction.Change{free, taken}))
	if now := look(t, s.root); now["run.sh"] != "600 old private" || now["done/run.sh"] != "755 old run" {
		t.Errorf("got %q", now)
	}
}

// TestApplyAllowsLargestJournal has 64 MiB in digits.
func TestApplyAllowsLargestJournal(t *testing.T) {
	s := newScene(t, false)
	s.log.Format = &transaction.Format{Encode: func(*transaction.Journal) ([]byte, error) { return make([]byte, 67_108_864), nil }}
	must(t, s.log.Apply(s.changes))
	same(t, s.root, s.after)
}

// TestErrorOfApplyNamesFilesThatAreNotRolledBack has another program that changes a file which was switched, and then a failure.
func TestErrorOfApplyNamesFilesThatAreNotRolledBack(t *testing.T) {
	s := newScene(t, false)
	s.changes = []transaction.Change{s.change("run.sh", "old run", "new run"), s.change("gone.md", "old gone", "new gone"), s.change("private.md", "old private", "new")}
	f := before("rename", "/private.md", func(f *faultfs.FS, _ string) {
		must(t, os.WriteFile(s.at("run.sh"), []byte("theirs"), 0o644))
		must(t, os.WriteFile(s.at("gone.md"), []byte("theirs"), 0o644))
		f.Mode, f.At = faultfs.Fail, f.Count()
	})
	err := s.apply(f)
	want := "not rolled back, because another program has changed them: " + s.at("gone.md") + ", " + s.at("run.sh")
	if !errors.Is(err, faultfs.ErrInjected) || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got %v", err)
	}
	noJournal(t, s.log)
}

// TestErrorOfApplyHasErrorOfRollback has a disk that can only be read from some operation on.
func TestErrorOfApplyHasErrorOfRollback(t *testing.T) {
	s := newScene(t, false)
	f := before("rename", "/private.md", func(f *faultfs.FS, _ string) { f.Mode, f.At = faultfs.FailAll, f.Count() })
	converted := 0
	s.log.OnError = func(_ string, err error) error { converted++; return err }
	if err := s.apply(f); !errors.Is(err, faultfs.ErrInjected) || !strings.Contains(err.Error(), "; the rollback also failed, and the next call that writes repeats it: ") ||
		strings.Contains(err.Error(), "not rolled back") || converted != 2 {
		t.Errorf("got %v, %d errors were converted", err, converted)
	}
	s.recover(t)
	same(t, s.root, s.before)
}

// TestErrorIsAboutInnermostPath replaces a directory while files are staged. The error is about the directory, not about the file in it.
func TestErrorIsAboutInnermostPath(t *testing.T) {
	s := newScene(t, false)
	var paths []string
	s.log.OnError = func(path string, err error) error { paths = append(paths, path); return err }
	f := before("create", "-0.new", func(*faultfs.FS, string) {
		must(t, errors.Join(os.Remove(s.at("a/b")), os.Symlink("../real", s.at("a/b"))))
	})
	if err := s.apply(f); !errors.Is(err, transaction.ErrChanged) {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff([]string{s.at("a/b")}, paths); diff != "" {
		t.Error(diff)
	}
}

// TestDirectoryThatAnotherProgramCreatesFirst is used, and stays if the transaction is rolled back and the directory has other files.
func TestDirectoryThatAnotherProgramCreatesFirst(t *testing.T) {
	s := newScene(t, false)
	must(t, s.apply(before("mkdir", "/a/b", func(_ *faultfs.FS, path string) { must(t, os.Mkdir(path, 0o755)) })))
	same(t, s.root, s.after)
}

// TestWorkOfTransaction bounds what a transaction of ten files in one new directory does: one mkdir, a sync of the directory for each state,
// no removal of what does not exist, and no reads of links that no change asks for.
func TestWorkOfTransaction(t *testing.T) {
	root := directory(t)
	count := map[string]int{}
	f := &faultfs.FS{FS: noSync{}, Reads: true}
	f.Before = func(operation, path string) {
		if filepath.Base(path) == "d" {
			count[operation]++
		}
		if _, err := os.Lstat(path); operation == "remove" && err != nil {
			t.Errorf("removed %s: %v", path, err)
		}
	}
	log := transaction.Log{FS: f, Dir: filepath.Join(directory(t), "journal")}
	var changes []transaction.Change
	for i := range 10 {
		changes = append(changes, transaction.Change{Root: root, Path: filepath.Join(root, "d", string(rune('a'+i))), After: []byte("new")})
	}
	must(t, log.Apply(changes))
	for i := range changes {
		changes[i].Before, changes[i].After = digest("new"), []byte("newer")
	}
	changes[0].Delete = true
	changes[1] = transaction.Change{Root: root, Path: filepath.Join(root, "moved"), From: changes[1].Path}
	must(t, log.Apply(changes))
	updates := changes[2:]
	for i := range updates {
		updates[i].Before, updates[i].After = digest("newer"), []byte("newest")
	}
	operations := f.Count()
	must(t, log.Apply(updates))
	if each := float64(f.Count()-operations) / float64(len(updates)); each > 22 {
		t.Errorf("%.1f operations for each updated file", each)
	}
	if count["mkdir"] != 1 || count["sync directory"] > 8 {
		t.Errorf("did %v", count)
	}
}

// TestRecoverWithoutOldContent removes the old content of a file that was switched. The file cannot be rolled back, and is reported; there is
// nothing to ask OnConflict.
func TestRecoverWithoutOldContent(t *testing.T) {
	for _, content := range []string{"new run", "theirs"} {
		s := killed(t, false)
		must(t, os.WriteFile(s.at("run.sh"), []byte(content), 0o755))
		for path := range look(t, s.root) {
			if s.log.IsTemporary(path) && strings.HasSuffix(path, "-0.old") {
				must(t, os.Remove(s.at(path)))
			}
		}
		s.log.OnConflict = func(path, _ string) error { return errors.Join(errTest, errors.New(path)) }
		if diff := cmp.Diff(transaction.Report{Outcome: transaction.Undone, Kept: []string{s.at("run.sh")}}, s.recover(t)); diff != "" {
			t.Errorf("%s: %s", content, diff)
		}
		if now := look(t, s.root)["run.sh"]; now != "755 "+content {
			t.Errorf("%s: got %q", content, now)
		}
		noJournal(t, s.log)
	}
}

// TestRecoverOfJournalThatIsGone has another program that ends its transaction while Recover begins.
func TestRecoverOfJournalThatIsGone(t *testing.T) {
	s := newScene(t, false)
	s.kill(t, "rename", "dated")
	l := s.log
	l.FS = before("open", "/switching.json", func(_ *faultfs.FS, path string) { must(t, os.Remove(path)) })
	if report, err := l.Recover(); err != nil || report.Outcome != transaction.Nothing {
		t.Errorf("got %v, %v", report, err)
	}
}

// TestRecoverReportsWhatCannotBeRolledBack moves directories away after a kill, in which steps of each kind are or are not done. Only those
// files are reported that may have been changed and are not as before.
func TestRecoverReportsWhatCannotBeRolledBack(t *testing.T) {
	cases := []struct {
		name, operation, base string // the operation before which the process is killed
		away                  string // the directory that another program moves away
		want                  []string
	}{
		{"new file that was not created", "link", "made", "in", nil},
		{"new file that was created, but is absent as before", "rename", "updated", "in", nil},
		{"file that may have been replaced", "rename", "updated", "up", []string{"up/updated"}},
		{"file that was replaced", "rename", "moved", "up", []string{"up/updated"}},
		{"move that was not made, from its source", "rename", "moved", "from", nil},
		{"move that was not made, from its destination", "rename", "moved", "to", nil},
		{"move that was made, from its source", "rename", "last", "from", []string{"to/moved"}},
		{"move that was made, from its destination", "rename", "last", "to", []string{"to/moved"}},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			base := tree(t, map[string]string{"root/in/x": "x", "root/up/updated": "old", "root/from/source": "moved", "root/to/x": "x", "root/last": "old"})
			s := &scene{root: filepath.Join(base, "root")}
			s.log = transaction.Log{FS: noSync{}, Dir: filepath.Join(base, "journal")}
			s.changes = []transaction.Change{
				s.change("in/made", "", "new"), s.change("up/updated", "old", "new"),
				{Root: s.root, Path: s.at("to/moved"), From: s.at("from/source")}, s.change("last", "old", "new"),
			}
			before := look(t, s.root)
			s.kill(t, test.operation, test.base)
			must(t, os.Rename(s.at(test.away), filepath.Join(base, "away")))
			report := s.recover(t)
			var kept []string
			for _, name := range test.want {
				kept = append(kept, s.at(name))
			}
			if diff := cmp.Diff(transaction.Report{Outcome: transaction.Undone, Kept: kept}, report); diff != "" {
				t.Error(diff)
			}
			noJournal(t, s.log)
			for path, content := range look(t, s.root) { // all that could be rolled back is as before
				if want := before[path]; content != want && !(path == "to/moved" && test.away == "from") {
					t.Errorf("%s is %q, want %q", path, content, want)
				}
			}
		})
	}
}

// TestTargetOfLinkThatIsGone has a symbolic link that another program removes, or whose target it removes, while Apply reads it.
func TestTargetOfLinkThatIsGone(t *testing.T) {
	for name, want := range map[string]error{"link": transaction.ErrChanged, "target": nil} {
		base := tree(t, map[string]string{"r/link": "-> target", "r/target": "old"})
		path := filepath.Join(base, "r/link")
		f := before("stat", "/link", func(*faultfs.FS, string) { must(t, os.Remove(filepath.Join(base, "r", name))) })
		err := transaction.Log{FS: f, Dir: filepath.Join(base, "journal")}.Apply([]transaction.Change{{Root: base + "/r", Path: path, Before: digest("old"), After: []byte("new")}})
		if want != nil && !errors.Is(err, want) || want == nil && (err == nil || !strings.Contains(err.Error(), "does not exist: remove the link")) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestLinkWithoutNoFollowIsCheckedByItsTarget has the digest of a link's target. The link is replaced, and the target stays.
func TestLinkWithoutNoFollowIsCheckedByItsTarget(t *testing.T) {
	base := tree(t, map[string]string{"r/link": "-> target", "r/target": "old"})
	change := transaction.Change{Root: base + "/r", Path: filepath.Join(base, "r/link"), Before: digest("old"), After: []byte("new")}
	must(t, transaction.Log{FS: noSync{}, Dir: filepath.Join(base, "journal")}.Apply([]transaction.Change{change}))
	same(t, base+"/r", map[string]string{"link": "644 new", "target": "644 old"})
}

// TestFileWithOwnMode copies the mode of another file, which must exist.
func TestFileWithOwnMode(t *testing.T) {
	s := newScene(t, false)
	like := s.change("new", "", "new")
	like.Like = s.at("run.sh")
	must(t, s.log.Apply([]transaction.Change{like}))
	if now := look(t, s.root)["new"]; now != "755 new" {
		t.Errorf("got %q", now)
	}
	like.Path, like.Like = s.at("other"), s.at("absent")
	if err := s.log.Apply([]transaction.Change{like}); !errors.Is(err, fs.ErrNotExist) || errors.Is(err, transaction.ErrChanged) {
		t.Errorf("got %v", err)
	}
	noJournal(t, s.log)
}

// unreadable is a file system on which one directory cannot be searched.
type unreadable struct {
	noSync
	dir string
}

func (u unreadable) Lstat(path string) (fs.FileInfo, error) {
	if filepath.Dir(path) == u.dir {
		return nil, syscall.EACCES
	}
	return u.noSync.Lstat(path)
}

// TestDirectoryThatCannotBeSearchedIsNotTakenForAbsent has no right to search a directory of a move or a change.
func TestDirectoryThatCannotBeSearchedIsNotTakenForAbsent(t *testing.T) {
	s := newScene(t, false)
	for _, change := range []transaction.Change{
		s.change("real/kept.md", "kept", "new"), s.change("real/other.md", "", "new"),
		{Root: s.root, Path: s.at("real/moved"), From: s.at("run.sh")}, {Root: s.root, Path: s.at("moved"), From: s.at("real/kept.md")},
	} {
		l := s.log
		l.FS = unreadable{dir: s.at("real")}
		if err := l.Apply([]transaction.Change{change}); !errors.Is(err, fs.ErrPermission) || errors.Is(err, transaction.ErrChanged) {
			t.Errorf("%s: got %v", change.Path, err)
		}
		same(t, s.root, s.before)
		noJournal(t, s.log)
	}
}

// TestRemovedFileThatWasChangedIsReturned changes the file that a step has removed, before the transaction is committed.
func TestRemovedFileThatWasChangedIsReturned(t *testing.T) {
	s := newScene(t, false)
	s.changes = []transaction.Change{s.change("run.sh", "old run", "new run"), s.change("gone.md", "old gone", "")}
	s.kill(t, "rename", "committed.json")
	for path := range look(t, s.root) {
		if strings.HasSuffix(path, "-1.old") {
			must(t, os.WriteFile(s.at(path), []byte("theirs"), 0o640))
		}
	}
	if diff := cmp.Diff(transaction.Report{Outcome: transaction.Undone}, s.recover(t)); diff != "" {
		t.Error(diff)
	}
	if now := look(t, s.root); now["gone.md"] != "640 theirs" || now["run.sh"] != "755 old run" {
		t.Errorf("got %q", now)
	}
}

// absent is a file system without any file.
type absent struct{ noSync }

func (absent) Lstat(path string) (fs.FileInfo, error) {
	return nil, &fs.PathError{Op: "lstat", Path: path, Err: fs.ErrNotExist}
}

func TestCheckWritableEndsAtTheRoot(t *testing.T) {
	if err := transaction.CheckWritable(absent{}, "/a/b"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
