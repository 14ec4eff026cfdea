package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/store"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem/faultfs"
)

const owner = "test"

// TestMain has temporary directories created in memory if the system supports that, because the tests of this package
// create thousands of them.
func TestMain(m *testing.M) {
	testenv.UseMemory()
	os.Exit(m.Run())
}

// layOut creates a project and returns its path. The argument files maps paths to contents. The paths are relative to
// the openspec directory; a path that ends in a slash creates a directory.
func layOut(t testing.TB, files map[string]string) string {
	t.Helper()
	root := testenv.Tree(t, nil)
	testenv.WriteFiles(t, filepath.Join(root, store.DirName), files)
	return root
}

// tree returns the contents of all files below the openspec directory. The keys are paths. The path of a directory ends
// in a slash.
func tree(t testing.TB, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	top := filepath.Join(root, store.DirName)
	err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == top {
			return err
		}
		name, err := filepath.Rel(top, path)
		if entry.IsDir() {
			all[name+"/"] = ""
			return err
		}
		content, err := os.ReadFile(path)
		all[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// scene is a project with a change that replaces one spec, creates a second spec in new directories, and deletes a
// third spec.
type scene struct {
	root          string
	plan          store.Plan
	before, after map[string]string
}

// newScene creates a scene. If archived is set, the archive directory already exists.
func newScene(t testing.TB, archived bool) scene {
	files := map[string]string{
		"specs/inventory/spec.md":             "old inventory\n",
		"specs/legacy/reports/spec.md":        "old reports\n",
		"specs/other/spec.md":                 "other\n",
		"changes/add-x/proposal.md":           "# x\n",
		"changes/add-x/specs/inventory/s.txt": "kept as it is\n",
		"changes/add-x/specs/a/b/spec.md":     "delta\n",
		"changes/second/proposal.md":          "# second\n",
	}
	if archived {
		files["changes/archive/2026-01-01-old/proposal.md"] = "# old\n"
	}
	root := layOut(t, files)
	s := scene{root: root, before: tree(t, root), plan: store.Plan{
		Owner: owner, Change: "add-x", Archived: "2026-11-21-add-x",
		Specs: []store.SpecWrite{
			{ID: "a/b", After: new("new nested\n")},
			{ID: "inventory", Before: new("old inventory\n"), After: new("new inventory\n")},
			{ID: "legacy/reports", Before: new("old reports\n")},
		},
		Seen: []store.Seen{{ID: "a/b", Content: "delta\n"}},
	}}
	s.after = map[string]string{"changes/archive/": ""}
	for name, content := range s.before {
		if below, moved := strings.CutPrefix(name, "changes/add-x/"); moved {
			name = "changes/archive/2026-11-21-add-x/" + below
		}
		s.after[name] = content
	}
	maps.Copy(s.after, map[string]string{
		"specs/inventory/spec.md": "new inventory\n", "specs/a/": "", "specs/a/b/": "", "specs/a/b/spec.md": "new nested\n"})
	for _, gone := range []string{"specs/legacy/", "specs/legacy/reports/", "specs/legacy/reports/spec.md"} {
		delete(s.after, gone)
	}
	return s
}

func (s scene) archive(files filesystem.FS) (leftover, err error) {
	return store.At(files, s.root).Archive(s.plan)
}

func (s scene) recover(t *testing.T) {
	t.Helper()
	if err := store.At(unsynced{}, s.root).Recover(owner); err != nil {
		t.Errorf("Recover returned %v", err)
	}
}

// must compares the directory tree of the project with want.
func (s scene) must(t *testing.T, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, tree(t, s.root)); diff != "" {
		t.Errorf("the tree (-want +got)\n%s", diff)
	}
}

func TestArchiveChangesEverythingAtOnce(t *testing.T) {
	for _, archived := range []bool{false, true} {
		s := newScene(t, archived)
		if leftover, err := s.archive(unsynced{}); leftover != nil || err != nil {
			t.Fatal(leftover, err)
		}
		s.must(t, s.after)
	}
}

// unsynced is the file system of the operating system, without fsync for speed. No test simulates a power failure.
type unsynced struct{ filesystem.OS }

func (unsynced) SyncDir(string) error { return nil }

func (u unsynced) Create(path string, mode fs.FileMode) (filesystem.File, error) {
	file, err := u.OS.Create(path, mode)
	return unsyncedFile{file}, err
}

type unsyncedFile struct{ filesystem.File }

func (unsyncedFile) Sync() error { return nil }

// eachOperation calls check once for each file system operation of an archive, with a new scene each time. It does so
// with and without an existing archive directory, and with and without support for hard links.
func eachOperation(t *testing.T, mode faultfs.Mode, check func(t *testing.T, s scene, f *faultfs.FS)) {
	for _, archived := range []bool{true, false} {
		for _, noLinks := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, archive directory %t, no links %t", mode, archived, noLinks), func(t *testing.T) {
				t.Parallel()
				operations := 0
				faultfs.Each(unsynced{}, mode, func(f *faultfs.FS) {
					f.NoLinks = noLinks
					check(t, newScene(t, archived), f)
					operations = f.Count()
				})
				if operations < 25 {
					t.Errorf("only %d operations were counted", operations)
				}
			})
		}
	}
}

// TestFaultAtEveryOperationLeavesOldOrNewTree repeats an archive and makes another file system operation fail each
// time.
func TestFaultAtEveryOperationLeavesOldOrNewTree(t *testing.T) {
	t.Parallel()
	eachOperation(t, faultfs.Fail, func(t *testing.T, s scene, f *faultfs.FS) {
		leftover, err := s.archive(f)
		switch {
		case err == nil && leftover == nil:
			// The failed operation was optional. For example, a copy replaces a hard link that cannot be created.
			s.must(t, s.after)
		case err == nil:
			s.recover(t) // the next call removes the files that are left over
			s.must(t, s.after)
		default:
			if !errors.Is(err, faultfs.ErrInjected) {
				t.Errorf("Archive returned the error %v", err)
			}
			if strings.HasPrefix(f.Operations()[f.At-1], "remove ") {
				s.recover(t) // the next call removes the file that could not be removed
			}
			s.must(t, s.before)
		}
	})
}

// TestKillAtEveryOperationIsRecovered repeats an archive and simulates a kill of the process at another file system
// operation each time.
func TestKillAtEveryOperationIsRecovered(t *testing.T) {
	testenv.NotShort(t, "kills a process at each of many operations")
	t.Parallel()
	for _, mode := range []faultfs.Mode{faultfs.KillBefore, faultfs.KillDuring, faultfs.KillAfter} {
		eachOperation(t, mode, func(t *testing.T, s scene, f *faultfs.FS) {
			leftover, err := s.archive(f)
			if !f.Reached() {
				return
			}
			_, early := s.before["changes/archive/"]
			s.mustShow(t)
			moved := s.moved()
			if claim, err := os.ReadFile(s.claim()); err == nil && len(claim) == 0 {
				return // without hard links, an empty claim cannot be distinguished from the claim of another program
			}
			s.recover(t)
			if moved {
				s.must(t, s.after)
				return
			}
			if leftover == nil && err == nil {
				t.Fatal("a killed process reported success")
			}
			want := s.before
			if now := tree(t, s.root); !early && contains(now, "changes/archive/") {
				// The recovery keeps an empty archive directory, because another program may have created it.
				want = maps.Clone(want)
				want["changes/archive/"] = ""
			}
			s.must(t, want)
			if _, err := s.archive(unsynced{}); err != nil {
				t.Errorf("the second Archive returned %v", err)
			}
			s.must(t, s.after)
		})
	}
}

func (s scene) claim() string { return store.At(filesystem.OS{}, s.root).ClaimPath() }

// moved reports whether the change is in the archive.
func (s scene) moved() bool {
	return !missing(filepath.Join(s.root, store.DirName, "changes/archive/2026-11-21-add-x"))
}

// mustShow fails the test if the tree is incomplete and Interrupted does not report that there is a call to recover.
func (s scene) mustShow(t *testing.T) {
	t.Helper()
	now := tree(t, s.root)
	whole := cmp.Equal(now, s.before) || cmp.Equal(now, s.after)
	if _, early := s.before["changes/archive/"]; !early {
		delete(now, "changes/archive/") // an empty archive directory needs no recovery
		whole = whole || cmp.Equal(now, s.before)
	}
	if !whole && !store.At(filesystem.OS{}, s.root).Interrupted() {
		t.Errorf("nothing shows what was left behind (-before +now)\n%s", cmp.Diff(s.before, now))
	}
}

func missing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

func contains(tree map[string]string, name string) bool {
	_, ok := tree[name]
	return ok
}

// TestKillOfEveryRecovery simulates a kill at each operation of an archive, and then a second kill at each operation of
// the recovery.
func TestKillOfEveryRecovery(t *testing.T) {
	testenv.NotShort(t, "kills a process at each of many operations")
	t.Parallel()
	recoveries := 0
	faultfs.Each(unsynced{}, faultfs.KillAfter, func(first *faultfs.FS) {
		faultfs.Each(unsynced{}, faultfs.KillAfter, func(second *faultfs.FS) {
			s := newScene(t, true)
			_, _ = s.archive(&faultfs.FS{FS: unsynced{}, Mode: first.Mode, At: first.At})
			moved := s.moved()
			_ = store.At(second, s.root).Recover(owner)
			if second.Reached() {
				recoveries++
			}
			s.recover(t)
			if moved {
				s.must(t, s.after)
			} else {
				s.must(t, s.before)
			}
		})
		_, _ = newScene(t, true).archive(first)
	})
	if recoveries < 100 {
		t.Errorf("only %d recoveries were killed", recoveries)
	}
}

// limited is a file system with a limited number of free bytes.
type limited struct {
	unsynced
	room *int
}

func (l limited) Create(path string, mode fs.FileMode) (filesystem.File, error) {
	file, err := l.unsynced.Create(path, mode)
	return limitedFile{file, l.room}, err
}

type limitedFile struct {
	filesystem.File
	room *int
}

func (l limitedFile) Write(data []byte) (int, error) {
	n := min(len(data), *l.room)
	*l.room -= n
	if written, err := l.File.Write(data[:n]); err != nil || n == len(data) {
		return written, err
	}
	return n, syscall.ENOSPC
}

// TestFullDiskLeavesOldTree repeats an archive with another number of free bytes each time. A rollback must not need
// free space.
func TestFullDiskLeavesOldTree(t *testing.T) {
	t.Parallel()
	for room := 0; ; room += 23 {
		s := newScene(t, true)
		left := room
		_, err := s.archive(limited{room: &left})
		if err == nil {
			if room == 0 {
				t.Fatal("the archive wrote no bytes")
			}
			s.must(t, s.after)
			return
		}
		if !strings.Contains(err.Error(), "no space left") {
			t.Errorf("Archive with %d free bytes returned %v", room, err)
		}
		s.must(t, s.before)
	}
}

// TestOneOfManyConcurrentArchivesWins checks that exactly one of many concurrent archives of one change succeeds.
func TestOneOfManyConcurrentArchivesWins(t *testing.T) {
	t.Parallel()
	for round := range 40 {
		s := newScene(t, round%2 == 0)
		const many = 8
		errs := make([]error, many)
		var wait sync.WaitGroup
		for i := range many {
			wait.Go(func() { _, errs[i] = s.archive(unsynced{}) })
		}
		wait.Wait()
		won := 0
		for _, err := range errs {
			switch {
			case err == nil:
				won++
			case errors.Is(err, store.ErrClaimed), errors.Is(err, store.ErrTargetExists), errors.Is(err, store.ErrChanged):
			default:
				t.Errorf("a concurrent archive that lost returned %v", err)
			}
		}
		if won != 1 {
			t.Fatalf("%d concurrent archives succeeded, want 1", won)
		}
		s.must(t, s.after)
	}
}

// TestChangesOfOtherProgramsAreKept checks that neither an archive nor a rollback overwrites what other programs have
// written.
func TestChangesOfOtherProgramsAreKept(t *testing.T) {
	for name, path := range map[string]string{
		"a spec":               "specs/inventory/spec.md",
		"a spec to be deleted": "specs/legacy/reports/spec.md",
		"a spec to be made":    "specs/a/b/spec.md",
		"a delta":              "changes/add-x/specs/a/b/spec.md",
	} {
		t.Run("before an archive: "+name, func(t *testing.T) {
			s := newScene(t, true)
			full := filepath.Join(s.root, store.DirName, path)
			testenv.WriteFile(t, full, "theirs\n")
			before := tree(t, s.root)
			if _, err := s.archive(unsynced{}); !errors.Is(err, store.ErrChanged) {
				t.Errorf("got %v, want ErrChanged", err)
			}
			s.must(t, before)
		})
	}
	t.Run("before a rollback", func(t *testing.T) {
		s := killedBeforeMove(t)
		spec := filepath.Join(s.root, "openspec/specs/inventory/spec.md")
		if err := os.WriteFile(spec, []byte("theirs\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		err := store.At(unsynced{}, s.root).Recover(owner)
		if err == nil || !strings.Contains(err.Error(), spec) {
			t.Errorf("got %v, want an error that names %s", err, spec)
		}
		if content, _ := os.ReadFile(spec); string(content) != "theirs\n" {
			t.Errorf("the spec has the content %q", content)
		}
	})
}

// TestArchiveDirectoryMayBeLinkWithinProject has an archive directory that is a symbolic link. It archives a change,
// and recovers from a kill at each operation.
func TestArchiveDirectoryMayBeLinkWithinProject(t *testing.T) {
	faultfs.Each(unsynced{}, faultfs.KillAfter, func(f *faultfs.FS) {
		s := newScene(t, false)
		if err := errors.Join(os.Mkdir(filepath.Join(s.root, "old"), 0o755), os.Symlink("../../old", filepath.Join(s.root, "openspec/changes/archive"))); err != nil {
			t.Fatal(err)
		}
		_, err := s.archive(f)
		s.recover(t)
		moved := s.moved()
		spec, readErr := os.ReadFile(filepath.Join(s.root, "openspec/specs/inventory/spec.md"))
		if readErr != nil || err == nil && !moved || moved != (string(spec) == "new inventory\n") {
			t.Errorf("operation %d: %v, moved %t, the spec is %q, %v", f.At, err, moved, spec, readErr)
		}
	})
}

// killedBeforeMove returns a scene whose process was killed after it had replaced all specs, and before it moved the
// directory of the change.
func killedBeforeMove(t *testing.T) scene {
	t.Helper()
	for at := 1; ; at++ {
		s := newScene(t, true)
		f := &faultfs.FS{FS: unsynced{}, Mode: faultfs.KillAfter, At: at}
		_, _ = s.archive(f)
		if missing(filepath.Join(s.root, "openspec/specs/legacy/reports/spec.md")) && !s.moved() {
			return s
		}
		if !f.Reached() {
			t.Fatal("the process was never killed between the writes of the specs and the move")
		}
	}
}

// TestStatesOfEarlierVersionAreRecovered recovers the directory trees that version 0775448 left behind when it was
// killed at each step of an archive.
func TestStatesOfEarlierVersionAreRecovered(t *testing.T) {
	raw, err := os.ReadFile("testdata/interrupted-0775448.json")
	if err != nil {
		t.Fatal(err)
	}
	var states []map[string]string
	if err := json.Unmarshal(raw, &states); err != nil || len(states) < 20 {
		t.Fatalf("the recording has %d states, %v", len(states), err)
	}
	for i, state := range states {
		s := newScene(t, true)
		s.root = layOut(t, state)
		moved := s.moved()
		s.recover(t)
		want := s.before
		if moved {
			want = s.after
		}
		if diff := cmp.Diff(want, tree(t, s.root)); diff != "" {
			t.Errorf("state %d (-want +got)\n%s", i, diff)
		}
	}
}
