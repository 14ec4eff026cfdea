package transaction_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem/faultfs"
	"github.com/bulkhead-mcp/bulkhead/sdk/transaction"
)

func TestApplyMakesAllChanges(t *testing.T) {
	for name, system := range map[string]filesystem.FS{"synced": filesystem.OS{}, "unsynced": noSync{}, "without links": &faultfs.FS{FS: noSync{}, NoLinks: true}} {
		for _, oneName := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", one name ", oneName), func(t *testing.T) {
				s := newScene(t, oneName)
				must(t, s.apply(system))
				same(t, s.root, s.after)
				noJournal(t, s.log)
			})
		}
	}
}

func TestApplyRefusesAndChangesNothing(t *testing.T) {
	cases := []struct {
		name   string
		files  map[string]string
		path   string
		change transaction.Change // the change, to which the test adds the paths
		from   string
		want   string // a part of the expected error
	}{
		{name: "a file that differs", files: map[string]string{"r/f": "theirs"}, path: "r/f",
			change: transaction.Change{Before: digest("ours"), After: []byte("new")}, want: "was changed"},
		{name: "a file that was absent", files: map[string]string{"r/f": "theirs"}, path: "r/f",
			change: transaction.Change{After: []byte("new")}, want: "was changed"},
		{name: "a file that was absent and is as it is to be", files: map[string]string{"r/f": "new"}, path: "r/f",
			change: transaction.Change{After: []byte("new")}, want: "was changed"},
		{name: "a file that is gone", files: map[string]string{"r/": ""}, path: "r/f",
			change: transaction.Change{Before: digest("ours"), Delete: true}, want: "was changed"},
		{name: "a path outside of the root", files: map[string]string{"r/": ""}, path: "f",
			change: transaction.Change{After: []byte("new")}, want: "is not in"},
		{name: "the root itself", files: map[string]string{"r/": ""}, path: "r",
			change: transaction.Change{Before: "", After: []byte("new")}, want: "not a regular file"},
		{name: "a directory that is a link", files: map[string]string{"r/d": "-> ../out", "out/": ""}, path: "r/d/f",
			change: transaction.Change{After: []byte("new")}, want: "was changed"},
		{name: "a missing directory behind a link", files: map[string]string{"r/d": "-> ../out", "out/": ""}, path: "r/d/e/f",
			change: transaction.Change{After: []byte("new")}, want: "was changed"},
		{name: "a dangling link", files: map[string]string{"r/f": "-> nowhere"}, path: "r/f",
			change: transaction.Change{After: []byte("new")}, want: "does not exist: remove the link"},
		{name: "a directory in the place of the file", files: map[string]string{"r/f/": ""}, path: "r/f",
			change: transaction.Change{After: []byte("new")}, want: "not a regular file"},
		{name: "a file in the place of the directory", files: map[string]string{"r/d": "x"}, path: "r/d/f",
			change: transaction.Change{After: []byte("new")}, want: "r/d is not a directory, but the change needs one there: remove it"},
		{name: "a move of what is gone", files: map[string]string{"r/": ""}, path: "r/to", from: "r/from", want: "was changed"},
		{name: "a move to what exists", files: map[string]string{"r/to": "x", "r/from": "y"}, path: "r/to", from: "r/from", want: "was changed"},
		{name: "a move out of the root", files: map[string]string{"r/": "", "from": "y"}, path: "r/to", from: "from", want: "is not in"},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			base := tree(t, test.files)
			before := look(t, base)
			test.change.Root, test.change.Path = filepath.Join(base, "r"), filepath.Join(base, test.path)
			if test.from != "" {
				test.change.From = filepath.Join(base, test.from)
			}
			good := transaction.Change{Root: base, Path: filepath.Join(base, "good/f"), After: []byte("good")}
			l := transaction.Log{FS: noSync{}, Dir: filepath.Join(t.TempDir(), "journal")}
			err := l.Apply([]transaction.Change{good, test.change})
			if err == nil || !strings.Contains(err.Error(), test.want) || test.want == "was changed" && !errors.Is(err, transaction.ErrChanged) {
				t.Errorf("got %v, want …%s…", err, test.want)
			}
			same(t, base, before)
			noJournal(t, l)
		})
	}
}

// unmakable is a file system on which the journal's directory cannot be created.
type unmakable struct {
	noSync
	dir string
}

func (u unmakable) Mkdir(path string, mode fs.FileMode) error {
	if path == u.dir {
		return syscall.EROFS
	}
	return u.noSync.Mkdir(path, mode)
}

func TestJournalThatCannotBeWrittenIsReported(t *testing.T) {
	s := newScene(t, false)
	if err := s.apply(unmakable{dir: s.log.Dir}); !errors.Is(err, syscall.EROFS) {
		t.Errorf("got %v", err)
	}
	same(t, s.root, s.before)
}

func TestApplyRefusesPathWrittenTwice(t *testing.T) {
	s := newScene(t, false)
	s.changes = []transaction.Change{s.change("run.sh", "old run", "one"), s.change("run.sh", "old run", "two")}
	if err := s.log.Apply(s.changes); err == nil || !strings.Contains(err.Error(), "two changes write") {
		t.Errorf("got %v", err)
	}
	same(t, s.root, s.before)
}

// TestApplyRefusesJournalThatRecoverRefuses applies more steps than Recover accepts in a journal.
func TestApplyRefusesJournalThatRecoverRefuses(t *testing.T) {
	base := tree(t, map[string]string{"r/": ""})
	root := filepath.Join(base, "r")
	for below, count := range map[string]int{"": 100_001, "/d/f": 50_001} { // the second has two directories for each file
		var changes []transaction.Change
		for i := range count {
			changes = append(changes, transaction.Change{Root: root, Path: filepath.Join(root, strconv.Itoa(i)+below)})
		}
		l := transaction.Log{FS: noSync{}, Dir: filepath.Join(base, "journal")}
		if err := l.Apply(changes); err == nil || !strings.Contains(err.Error(), "is too large: at most") {
			t.Errorf("got %v", err)
		}
		same(t, base, map[string]string{"r/": ""})
	}
}

func TestApplyWithoutEffectWritesNoJournal(t *testing.T) {
	s := newScene(t, false)
	must(t, s.log.Apply([]transaction.Change{s.change("run.sh", "old run", "old run")}))
	must(t, s.log.Apply(nil))
	if _, err := os.Stat(s.log.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the journal's directory: %v", err)
	}
}

func TestRootMayBeReachedThroughLink(t *testing.T) {
	base := tree(t, map[string]string{"real/f": "old", "link": "-> real"})
	l := transaction.Log{FS: noSync{}, Dir: filepath.Join(base, "link", "journal")}
	root := filepath.Join(base, "link")
	must(t, l.Apply([]transaction.Change{
		{Root: root, Path: filepath.Join(root, "f"), Before: digest("old"), After: []byte("new")},
		{Root: root, Path: filepath.Join(root, "d/g"), After: []byte("made")},
	}))
	same(t, filepath.Join(base, "real"), map[string]string{"f": "644 new", "d/": "", "d/g": "644 made", "journal/": ""})
}

// TestDirectoryIsReplacedByTwoMoves simulates a kill at each operation. Afterwards, the old or the new directory must be in place.
func TestDirectoryIsReplacedByTwoMoves(t *testing.T) {
	replaced := 0
	faultfs.Each(noSync{}, faultfs.KillAfter, func(f *faultfs.FS) {
		base := tree(t, map[string]string{"r/dir/old": "old", "r/stage/new/new": "new", "r/lock": "1"})
		at := func(name string) string { return filepath.Join(base, "r", name) }
		before := look(t, at(""))
		l := transaction.Log{FS: f, Dir: filepath.Join(base, "journal")}
		_ = l.Apply([]transaction.Change{
			{Root: at(""), From: at("dir"), Path: at("stage/old")},
			{Root: at(""), From: at("stage/new"), Path: at("dir")},
			{Root: at(""), Path: at("lock"), Before: digest("1"), After: []byte("2")},
		})
		l.FS = noSync{}
		_, err := l.Recover()
		must(t, err)
		after := map[string]string{"dir/": "", "dir/new": "644 new", "lock": "644 2", "stage/": "", "stage/old/": "", "stage/old/old": "644 old"}
		switch now := look(t, at("")); {
		case cmp.Equal(now, after):
			replaced++
		case !cmp.Equal(now, before):
			t.Errorf("operation %d (-want +got)\n%s", f.At, cmp.Diff(before, now))
		}
	})
	if replaced < 2 {
		t.Errorf("replaced %d times", replaced)
	}
}

// killed returns a scene whose transaction was killed right after the transaction had replaced run.sh.
func killed(t *testing.T, oneName bool) *scene {
	t.Helper()
	for at := 1; ; at++ {
		s := newScene(t, oneName)
		f := &faultfs.FS{FS: noSync{}, Mode: faultfs.KillAfter, At: at}
		_ = s.apply(f)
		if content, err := os.ReadFile(s.at("run.sh")); err == nil && string(content) == "new run" {
			return s
		}
		if !f.Reached() {
			t.Fatal("run.sh was never replaced")
		}
	}
}

func TestApplyRefusesPendingTransaction(t *testing.T) {
	for _, oneName := range []bool{false, true} {
		s := killed(t, oneName)
		if err := s.log.Apply(s.changes); !errors.Is(err, transaction.ErrPending) {
			t.Errorf("got %v", err)
		}
	}
}

// TestApplyRefusesJournalOfConcurrentTransaction begins another transaction after Apply has checked that none is pending.
func TestApplyRefusesJournalOfConcurrentTransaction(t *testing.T) {
	s := newScene(t, true)
	f := &faultfs.FS{FS: noSync{}}
	f.Before = func(operation, path string) {
		if operation == "link" && filepath.Base(path) == "lock" {
			must(t, os.WriteFile(path, []byte("theirs"), 0o644))
		}
	}
	if err := s.apply(f); !errors.Is(err, transaction.ErrPending) {
		t.Errorf("got %v", err)
	}
	same(t, s.root, s.before)
	if content, err := os.ReadFile(filepath.Join(s.log.Dir, "lock")); err != nil || string(content) != "theirs" {
		t.Errorf("the other journal has %q, %v", content, err)
	}
}

func TestRecoverKeepsChangeOfAnotherProgram(t *testing.T) {
	edits := map[string]func(path string) error{
		"edited":  func(path string) error { return os.WriteFile(path, []byte("theirs"), 0o644) },
		"removed": os.Remove,
	}
	for name, edit := range edits {
		t.Run(name, func(t *testing.T) {
			s := killed(t, false)
			must(t, edit(s.at("run.sh")))
			want := transaction.Report{Outcome: transaction.Undone, Kept: []string{s.at("run.sh")}}
			if diff := cmp.Diff(want, s.recover(t)); diff != "" {
				t.Fatal(diff)
			}
			old := ""
			for path, content := range look(t, s.root) {
				if s.log.IsTemporary(path) {
					old = content
				}
			}
			if old != "755 old run" {
				t.Errorf("the old content is %q", old)
			}
			noJournal(t, s.log)
		})
	}
}

func TestRollbackWithoutConflictAsksNobody(t *testing.T) {
	for _, oneName := range []bool{false, true} {
		s := killed(t, oneName)
		s.log.OnConflict = func(path, _ string) error {
			t.Errorf("a conflict about %s", path)
			return nil
		}
		if report := s.recover(t); report.Outcome != transaction.Undone || len(report.Kept) > 0 {
			t.Errorf("got %v", report)
		}
		same(t, s.root, s.before)
	}
}

// TestRecoverReportsFilesOfMovedDirectory moves the directory of a switched file away. Its old content is there, too.
func TestRecoverReportsFilesOfMovedDirectory(t *testing.T) {
	base := tree(t, map[string]string{"r/d/update": "old", "r/e/f": "old"})
	root := filepath.Join(base, "r")
	changes := []transaction.Change{
		{Root: root, Path: root + "/d/update", Before: digest("old"), After: []byte("new")},
		{Root: root, Path: root + "/e/f", Before: digest("old"), After: []byte("new")},
	}
	f := &faultfs.FS{FS: noSync{}}
	f.Before = func(operation, path string) {
		if operation == "rename" && path == changes[0].Path {
			f.Mode, f.At = faultfs.KillAfter, f.Count()
		}
	}
	l := transaction.Log{FS: f, Dir: filepath.Join(base, "journal")}
	_ = l.Apply(changes)
	must(t, os.Rename(root+"/d", root+"/away"))
	l.FS = noSync{}
	report, err := l.Recover()
	must(t, err)
	if diff := cmp.Diff(transaction.Report{Outcome: transaction.Undone, Kept: []string{changes[0].Path}}, report); diff != "" {
		t.Error(diff)
	}
	if content := look(t, root); content["away/update"] != "644 new" || content["e/f"] != "644 old" {
		t.Errorf("got %q", content)
	}
	noJournal(t, l)
}

func TestOnlyPrunedDirectoriesAreRemoved(t *testing.T) {
	base := tree(t, map[string]string{"r/kept/d/f": "old", "r/pruned/d/f": "old", "r/shared/d/f": "old", "r/shared/g": "theirs"})
	root := filepath.Join(base, "r")
	var changes []transaction.Change
	for _, name := range []string{"kept", "pruned", "shared"} {
		changes = append(changes, transaction.Change{Root: root, Path: filepath.Join(root, name, "d/f"), Before: digest("old"), Delete: true, Prune: name != "kept"})
	}
	must(t, transaction.Log{FS: noSync{}, Dir: filepath.Join(base, "journal")}.Apply(changes))
	same(t, root, map[string]string{"kept/": "", "kept/d/": "", "shared/": "", "shared/g": "644 theirs"})
	must(t, os.RemoveAll(root+"/kept"))
	must(t, os.RemoveAll(root+"/shared/g"))
	last := transaction.Change{Root: root, Path: root + "/f", Before: digest("x"), Delete: true, Prune: true}
	must(t, os.Remove(root+"/shared"))
	must(t, os.WriteFile(last.Path, []byte("x"), 0o644))
	must(t, transaction.Log{FS: noSync{}, Dir: filepath.Join(base, "journal")}.Apply([]transaction.Change{last}))
	if _, err := os.Stat(root); err != nil {
		t.Errorf("the root was removed: %v", err)
	}
}

func TestConflictCanStopRecovery(t *testing.T) {
	s := killed(t, false)
	must(t, os.WriteFile(s.at("run.sh"), []byte("theirs"), 0o644))
	s.log.OnConflict = func(path, old string) error {
		if content, err := os.ReadFile(old); err != nil || string(content) != "old run" || path != s.at("run.sh") {
			t.Errorf("conflict about %s: the old content is %q, %v", path, content, err)
		}
		return errTest
	}
	for range 2 {
		if _, err := s.log.Recover(); !errors.Is(err, errTest) {
			t.Errorf("got %v", err)
		}
	}
	s.log.OnConflict = nil
	s.recover(t)
	if content, err := os.ReadFile(s.at("run.sh")); err != nil || string(content) != "theirs" {
		t.Errorf("the file has %q, %v", content, err)
	}
}

func TestErrorsNameTheDestination(t *testing.T) {
	s := newScene(t, false)
	var path string
	s.log.OnError = func(about string, err error) error { path = about; return fmt.Errorf("converted: %w", err) }
	f := &faultfs.FS{FS: noSync{}, Mode: faultfs.Fail}
	f.Before = func(operation, to string) {
		if operation == "create" && filepath.Dir(to) == s.root && f.At == 0 {
			f.At = f.Count()
		}
	}
	if err := s.apply(f); !errors.Is(err, faultfs.ErrInjected) || !strings.HasPrefix(err.Error(), "converted: ") || path != s.at("run.sh") {
		t.Errorf("got %v about %s", err, path)
	}
}

func TestLeftoverOfCommittedTransactionIsReported(t *testing.T) {
	s := newScene(t, false)
	var leftover error
	s.log.OnLeftover = func(err error) { leftover = err }
	f := &faultfs.FS{FS: noSync{}, Mode: faultfs.Fail}
	f.Before = func(operation, to string) {
		if operation == "remove" && strings.HasSuffix(to, ".old") && f.At == 0 {
			f.At = f.Count()
		}
	}
	if err := s.apply(f); err != nil || !errors.Is(leftover, faultfs.ErrInjected) {
		t.Errorf("got %v, leftover %v", err, leftover)
	}
	if report := s.recover(t); report.Outcome != transaction.Finished {
		t.Errorf("got %v", report)
	}
	same(t, s.root, s.after)
}

func Example() {
	dir, _ := os.MkdirTemp("", "example")
	defer os.RemoveAll(dir)
	log := transaction.Log{Dir: filepath.Join(dir, "journal")}
	if _, err := log.Recover(); err != nil { // recover a transaction that an earlier process may have left
		fmt.Println(err)
	}
	err := log.Apply([]transaction.Change{
		{Root: dir, Path: filepath.Join(dir, "one"), After: []byte("1")},
		{Root: dir, Path: filepath.Join(dir, "below", "two"), After: []byte("2")},
	})
	two, _ := os.ReadFile(filepath.Join(dir, "below", "two"))
	fmt.Println(err, string(two))
	// Output: <nil> 2
}
