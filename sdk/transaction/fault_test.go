package transaction_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem/faultfs"
	"github.com/bulkhead-mcp/bulkhead/sdk/transaction"
)

// TestFailureAtEveryOperation makes each operation fail. If Apply succeeds, all files must be new. If Apply fails, all files must be old after
// the next Recover, which completes a rollback that is incomplete.
func TestFailureAtEveryOperation(t *testing.T) {
	testenv.NotShort(t, "fails at each of many operations")
	for _, mode := range []faultfs.Mode{faultfs.Fail, faultfs.FailAll, faultfs.Full} {
		failures := 0
		each(t, mode, func(s *scene, f *faultfs.FS) {
			f.Reads = true
			var leftover error
			s.log.OnLeftover = func(err error) { leftover = err }
			err := s.apply(f)
			// A file system may lack links, so their failure has a remedy.
			if mode == faultfs.Fail && f.Reached() && err == nil && leftover == nil && !strings.HasPrefix(f.Operations()[f.At-1], "link ") {
				t.Errorf("%s failed, which was not reported", f.Operations()[f.At-1])
			}
			if errors.Is(err, transaction.ErrChanged) {
				t.Errorf("%s failed, no other program changed anything, but %v", f.Operations()[f.At-1], err)
			}
			pending, pendingErr := s.log.Pending()
			must(t, pendingErr)
			if mode == faultfs.Full && pending {
				t.Errorf("operation %d: a full disk prevents the rollback: %v", f.At, err)
			}
			s.recover(t)
			now := look(t, s.root)
			switch {
			case err == nil && !cmp.Equal(now, s.after):
				t.Errorf("operation %d: no error, but (-want +got)\n%s", f.At, cmp.Diff(s.after, now))
			case err != nil && !cmp.Equal(now, s.before) && !(pending && cmp.Equal(now, s.after)):
				t.Errorf("operation %d: %v, but (-want +got)\n%s", f.At, err, cmp.Diff(s.before, now))
			}
			if err != nil {
				failures++
			}
			noJournal(t, s.log)
		})
		if failures < 100 {
			t.Errorf("%s: only %d operations could fail the transaction", mode, failures)
		}
	}
}

// TestKillAtEveryOperation checks that after a kill and Recover, either all files are old or all files are new.
func TestKillAtEveryOperation(t *testing.T) {
	testenv.NotShort(t, "fails at each of many operations")
	for _, mode := range []faultfs.Mode{faultfs.KillBefore, faultfs.KillDuring, faultfs.KillAfter} {
		outcomes := map[transaction.Outcome]int{}
		each(t, mode, func(s *scene, f *faultfs.FS) {
			err := s.apply(f)
			if err == nil && f.Reached() && !cmp.Equal(look(t, s.root), s.after) {
				s.recover(t) // the process was killed during the cleanup
			}
			report := s.recover(t)
			outcomes[report.Outcome]++
			now := look(t, s.root)
			want := map[transaction.Outcome]map[string]string{transaction.Nothing: s.before, transaction.Undone: s.before, transaction.Finished: s.after}[report.Outcome]
			if report.Outcome == transaction.Nothing && cmp.Equal(now, s.after) {
				want = s.after
			}
			if diff := cmp.Diff(want, now); diff != "" || len(report.Kept) > 0 {
				t.Errorf("operation %d, %v: (-want +got)\n%s", f.At, report, diff)
			}
			noJournal(t, s.log)
			if cmp.Equal(now, s.before) {
				if err := s.log.Apply(s.changes); err != nil {
					t.Errorf("operation %d: the same transaction again: %v", f.At, err)
				}
				same(t, s.root, s.after)
			}
		})
		if outcomes[transaction.Undone] < 40 || outcomes[transaction.Finished] < 10 {
			t.Errorf("%s: the outcomes were %v", mode, outcomes)
		}
	}
}

// TestEveryFailureOfRecoveryIsReported kills a transaction before one of its operations, and makes each operation of the recovery fail.
// Without the move, which is the last change, the recovery has to look at all files.
func TestEveryFailureOfRecoveryIsReported(t *testing.T) {
	for name, c := range map[string]struct {
		operation, base string // the operation, and the last component of its path
		moves           bool
		want            transaction.Outcome
	}{
		"while it stages":                {"rename", "switching.json", true, transaction.Undone},
		"while it switches":              {"rename", "dated", true, transaction.Undone},
		"while it switches without move": {"rename", "plain.md", false, transaction.Undone},
		"when all is new":                {"rename", "committed.json", true, transaction.Finished},
		"when all is new without move":   {"rename", "committed.json", false, transaction.Finished},
		"when it cleans up":              {"remove", "committed.json", true, transaction.Finished},
	} {
		t.Run(name, func(t *testing.T) {
			faultfs.Each(noSync{}, faultfs.Fail, func(f *faultfs.FS) {
				s := newScene(t, false)
				if !c.moves {
					s.changes = s.changes[:len(s.changes)-1]
					delete(s.after, "done/dated/")
					delete(s.after, "done/dated/file")
					s.after["active/"], s.after["active/file"] = "", "644 moved"
				}
				s.kill(t, c.operation, c.base)
				f.Reads = true
				l := s.log
				l.FS = f
				report, err := l.Recover()
				if !f.Reached() {
					if err != nil || report.Outcome != c.want {
						t.Errorf("got %v, %v; want %s", report, err, c.want)
					}
				} else if err == nil {
					t.Errorf("%s failed, which was not reported", f.Operations()[f.At-1])
				} else if errors.Is(err, transaction.ErrChanged) {
					t.Errorf("%s failed, no other program changed anything, but %v", f.Operations()[f.At-1], err)
				}
				s.recover(t)
				if now := look(t, s.root); !cmp.Equal(now, s.before) && !cmp.Equal(now, s.after) {
					t.Errorf("operation %d (-want +got)\n%s", f.At, cmp.Diff(s.before, now))
				}
				noJournal(t, s.log)
			})
		})
	}
}

// unsyncedCommit is a file system on which the last state of the journal cannot be synced.
type unsyncedCommit struct {
	filesystem.FS
	dir string
}

func (u unsyncedCommit) SyncDir(path string) error {
	if exists, err := filesystem.Exists(u.FS, filepath.Join(u.dir, "committed.json")); err != nil || exists && path == u.dir {
		return errors.Join(err, syscall.EIO)
	}
	return u.FS.SyncDir(path)
}

// TestKillWhileUnsyncedCommitIsRolledBack kills the rollback of a commit that could not be synced. Recovery must not treat
// the transaction as committed.
func TestKillWhileUnsyncedCommitIsRolledBack(t *testing.T) {
	undone := 0
	var s *scene
	for at := 1; ; at++ {
		s = newScene(t, false)
		f := &faultfs.FS{FS: unsyncedCommit{noSync{}, s.log.Dir}, Mode: faultfs.KillBefore, At: at}
		if err := s.apply(f); err == nil {
			t.Fatal("the transaction was applied")
		}
		if s.recover(t).Outcome == transaction.Undone {
			undone++
		}
		if now := look(t, s.root); !cmp.Equal(now, s.before) && !cmp.Equal(now, s.after) {
			t.Errorf("killed at %d (-want +got)\n%s", at, cmp.Diff(s.before, now))
		}
		if !f.Reached() {
			break
		}
	}
	same(t, s.root, s.before)
	if undone < 20 {
		t.Errorf("%d recoveries rolled back", undone)
	}
}

// TestKillOfEveryRecovery simulates a kill of a transaction at some of its operations, and then a kill of its recovery at each operation.
func TestKillOfEveryRecovery(t *testing.T) {
	recoveries := 0
	for _, oneName := range []bool{false, true} {
		for first := 10; ; first += 5 {
			killed := false
			faultfs.Each(noSync{}, faultfs.KillAfter, func(again *faultfs.FS) {
				s := newScene(t, oneName)
				f := &faultfs.FS{FS: noSync{}, Mode: faultfs.KillAfter, At: first}
				_ = s.apply(f)
				killed = f.Reached()
				l := s.log
				l.FS = again
				_, _ = l.Recover()
				if again.Reached() {
					recoveries++
				}
				s.recover(t)
				if now := look(t, s.root); !cmp.Equal(now, s.before) && !cmp.Equal(now, s.after) {
					t.Errorf("killed at %d, then at %d (-want +got)\n%s", first, again.At, cmp.Diff(s.before, now))
				}
				noJournal(t, s.log)
			})
			if !killed {
				break
			}
		}
	}
	if recoveries < 100 {
		t.Errorf("only %d recoveries were killed", recoveries)
	}
}

// sandbox is a file system in which one directory does not exist and its ancestors are not writable. That is what a sandbox shows if the
// directory is not granted.
type sandbox struct {
	noSync
	without string
}

func (g sandbox) Lstat(path string) (fs.FileInfo, error) {
	if path == g.without || strings.HasPrefix(path, g.without+"/") {
		return nil, fs.ErrNotExist
	}
	return g.noSync.Lstat(path)
}

func (g sandbox) CheckWritable(dir string) error {
	if strings.HasPrefix(g.without, dir+"/") {
		return fs.ErrPermission
	}
	return g.noSync.CheckWritable(dir)
}

// TestRecoveryWithoutGrantKeepsJournal simulates a kill at each operation. The first recovery has no grant of one of the transaction's
// directories. It must keep the journal for the second recovery.
func TestRecoveryWithoutGrantKeepsJournal(t *testing.T) {
	refused := 0
	faultfs.Each(noSync{}, faultfs.KillAfter, func(f *faultfs.FS) {
		s := newScene(t, false)
		_ = s.apply(f)
		killed := look(t, s.root)
		pending, err := s.log.Pending()
		must(t, err)
		l := s.log
		l.FS = sandbox{without: s.at("real")}
		_, err = l.Recover()
		if (err != nil) != pending || pending && !strings.Contains(err.Error(), "cannot be accessed") {
			t.Fatalf("operation %d: %v", f.At, err)
		}
		if err != nil {
			refused++
		}
		same(t, s.root, killed)
		s.recover(t)
		if now := look(t, s.root); !cmp.Equal(now, s.before) && !cmp.Equal(now, s.after) {
			t.Errorf("operation %d (-want +got)\n%s", f.At, cmp.Diff(s.before, now))
		}
		noJournal(t, s.log)
	})
	if refused < 20 {
		t.Errorf("only %d recoveries were refused", refused)
	}
}

// TestChangeOfAnotherProgramIsNeverLost simulates that another program changes a file before each operation. It skips the reads of this
// file and the rename that replaces it, since no check can detect a change between the last read and the rename.
func TestChangeOfAnotherProgramIsNeverLost(t *testing.T) {
	writes := func(path string) error { return os.WriteFile(path, []byte("theirs"), 0o644) }
	replaces := func(path string) error { return errors.Join(writes(path+".theirs"), os.Rename(path+".theirs", path)) }
	cases := []struct {
		name, file string
		change     func(path string) error
	}{
		{"a file that is updated is written to", "run.sh", writes},
		{"a file that is updated is replaced", "run.sh", replaces},
		{"a file that is removed is replaced", "gone.md", replaces},
		{"a file that is created is created by another program", "real/new.md", writes},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			ended := 0
			for at := 1; ; at++ {
				s := newScene(t, false)
				path, skipped := s.at(test.file), false
				f := &faultfs.FS{FS: noSync{}, At: at, Reads: true}
				f.Before = func(operation, to string) {
					if f.Count() != at {
						return
					}
					_, replaced := s.before[test.file] // a rename that creates a file would replace the file of the other program
					if skipped = (operation == "rename" && replaced || operation == "read") && to == path; !skipped {
						must(t, test.change(path))
					}
				}
				err := s.apply(f)
				if !f.Reached() {
					break
				}
				if skipped {
					continue
				}
				want := s.after
				if err != nil {
					ended++
					want = s.before
					if !errors.Is(err, transaction.ErrChanged) {
						t.Errorf("operation %d: %v", at, err)
					}
				}
				theirs(t, s, at, test.file, want)
				noJournal(t, s.log)
			}
			if ended < 5 {
				t.Errorf("only %d changes ended the transaction", ended)
			}
		})
	}
}

// TestRemovalByAnotherProgramIsDetected simulates that another program removes a file before each operation that changes no content. It skips
// the reads of this file and the rename that replaces it.
func TestRemovalByAnotherProgramIsDetected(t *testing.T) {
	operations := []string{"lstat", "stat", "readlink", "open", "read", "link", "rename", "remove", "sync directory"}
	for name, noLinks := range map[string]bool{"private.md": true, "gone.md": false, "linked.md": false, "active": false, "real": false} {
		t.Run(name, func(t *testing.T) {
			detected := 0
			for at := 1; ; at++ {
				s := newScene(t, false)
				path, skipped := s.at(name), false
				f := &faultfs.FS{FS: noSync{}, At: at, Reads: true, NoLinks: noLinks}
				f.Before = func(operation, to string) {
					if f.Count() != at {
						return
					}
					skipped = !slices.Contains(operations, operation) || (operation == "rename" || operation == "read") && to == path
					if !skipped {
						must(t, os.RemoveAll(path))
					}
				}
				err := s.apply(f)
				if !f.Reached() {
					break
				}
				if skipped {
					continue
				}
				if err != nil {
					detected++
					if !errors.Is(err, transaction.ErrChanged) {
						t.Errorf("operation %d, %s: %v", at, f.Operations()[at-1], err)
					}
				}
				if exists, err := filesystem.Exists(noSync{}, path); err != nil || exists {
					t.Errorf("operation %d, %s: the file was created again, %v", at, f.Operations()[at-1], err)
				}
			}
			if detected < 5 {
				t.Errorf("only %d removals were detected", detected)
			}
		})
	}
}

// theirs checks that the file called name has the content of the other program, and that all other files are as in want.
func theirs(t *testing.T, s *scene, at int, name string, want map[string]string) {
	t.Helper()
	now := look(t, s.root)
	if !strings.HasSuffix(now[name], " theirs") {
		t.Errorf("operation %d: %s is %q", at, name, now[name])
	}
	rest := map[string]string{}
	for path, content := range want {
		if path != name {
			rest[path] = content
		}
	}
	for path := range now {
		if s.log.IsTemporary(filepath.Base(path)) {
			delete(now, path) // a backup that has the old content
		}
	}
	delete(now, name)
	if diff := cmp.Diff(rest, now); diff != "" {
		t.Errorf("operation %d (-want +got)\n%s", at, diff)
	}
}
