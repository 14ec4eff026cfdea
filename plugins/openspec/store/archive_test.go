package store_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/store"
)

const owner = "test"

// layOut writes the files of a project, by path below its openspec folder, and returns the project's path.
// A path that ends in a slash is a folder.
func layOut(t testing.TB, files map[string]string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		path := filepath.Join(root, store.FolderName, name)
		if strings.HasSuffix(name, "/") {
			err = os.MkdirAll(path, 0o755)
		} else if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
			err = os.WriteFile(path, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// tree returns what is below the openspec folder: files with their content, folders with a slash.
func tree(t testing.TB, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	top := filepath.Join(root, store.FolderName)
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

// scene is a project with a change that replaces a spec, makes one in new folders and deletes one.
type scene struct {
	root          string
	plan          store.Plan
	before, after map[string]string
}

func ptr(text string) *string { return &text }

// newScene lays out a scene; archived says that there is an archive folder already.
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
			{ID: "a/b", After: ptr("new nested\n")},
			{ID: "inventory", Before: ptr("old inventory\n"), After: ptr("new inventory\n")},
			{ID: "legacy/reports", Before: ptr("old reports\n")},
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

func (s scene) archive(files store.Files) (leftover, err error) {
	return store.At(files, s.root).Archive(s.plan)
}

func (s scene) recover(t *testing.T) {
	t.Helper()
	if err := store.At(store.Disk{}, s.root).Recover(owner); err != nil {
		t.Errorf("recover: %v", err)
	}
}

// must compares the tree with the wanted one.
func (s scene) must(t *testing.T, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, tree(t, s.root)); diff != "" {
		t.Errorf("the tree (-want +got)\n%s", diff)
	}
}

func TestArchiveChangesEverythingAtOnce(t *testing.T) {
	for _, archived := range []bool{false, true} {
		s := newScene(t, archived)
		if leftover, err := s.archive(store.Disk{}); leftover != nil || err != nil {
			t.Fatal(leftover, err)
		}
		s.must(t, s.after)
	}
}

// steps returns how many steps an archive of the scene takes.
func steps(t *testing.T, archived, noLinks bool) int {
	t.Helper()
	files := newFaulty()
	files.noLinks = noLinks
	if _, err := newScene(t, archived).archive(files); err != nil {
		t.Fatal(err)
	}
	if len(files.steps) < 15 {
		t.Fatalf("only %d steps are counted: %q", len(files.steps), files.steps)
	}
	return len(files.steps)
}

// Test55AFaultAtAnyStepLeavesTheOldTreeOrTheNewOne makes each step of an archive fail in turn.
func Test55AFaultAtAnyStepLeavesTheOldTreeOrTheNewOne(t *testing.T) {
	t.Parallel()
	everyStep(t, func(t *testing.T, s scene, files *faulty, n int) {
		files.failAt = n
		leftover, err := s.archive(files)
		switch {
		case err == nil && leftover == nil:
			// The step was one that can fail, such as making a link where a copy serves.
			s.must(t, s.after)
		case err == nil:
			s.recover(t) // what was left behind goes with the next call
			s.must(t, s.after)
		default:
			if !errors.Is(err, errInjected) {
				t.Errorf("the error is %v", err)
			}
			s.mustBeOldBut(t, files)
		}
	})
}

// mustBeOldBut compares with the old tree, at once if the step that failed was none of going back.
func (s scene) mustBeOldBut(t *testing.T, files *faulty) {
	t.Helper()
	if strings.HasPrefix(files.steps[files.failAt-1], "remove ") {
		s.recover(t) // a file could not be removed: the next call does it
	}
	s.must(t, s.before)
}

// Test55AKillAtAnyStepIsPutInOrderByTheNextCall stops the program at each step in turn.
func Test55AKillAtAnyStepIsPutInOrderByTheNextCall(t *testing.T) {
	t.Parallel()
	everyStep(t, func(t *testing.T, s scene, files *faulty, n int) {
		files.dieAt = n
		if leftover, err := s.archive(files); err == nil && leftover == nil {
			t.Fatal("a dead program has said that all is well")
		}
		_, early := s.before["changes/archive/"]
		moved := !missing(filepath.Join(s.root, store.FolderName, "changes/archive/2026-11-21-add-x"))
		s.recover(t)
		if moved {
			s.must(t, s.after)
			return
		}
		want := s.before
		if now := tree(t, s.root); !early && contains(now, "changes/archive/") {
			// Nobody can tell any more who made a folder in which there is nothing.
			want = maps.Clone(want)
			want["changes/archive/"] = ""
		}
		if files.noLinks && killedInClaim(files) {
			return // where there are no links, an empty claim says no more than that somebody was here
		}
		s.must(t, want)
		if _, err := s.archive(newFaulty()); err != nil {
			t.Errorf("archive again: %v", err)
		}
		s.must(t, s.after)
	})
}

func missing(path string) bool {
	_, err := os.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

func contains(tree map[string]string, name string) bool {
	_, ok := tree[name]
	return ok
}

// killedInClaim tells whether the program died while it wrote the claim in its place.
func killedInClaim(files *faulty) bool {
	return strings.HasPrefix(files.steps[files.dieAt-1], "create ") && strings.HasSuffix(files.steps[files.dieAt-1], ".lock")
}

// everyStep calls check with a fresh scene for each step of an archive, with and without an archive folder,
// and on a disk with and without hard links.
func everyStep(t *testing.T, check func(t *testing.T, s scene, files *faulty, n int)) {
	for _, archived := range []bool{true, false} {
		for _, noLinks := range []bool{false, true} {
			for n := range steps(t, archived, noLinks) {
				t.Run(fmt.Sprintf("archive folder %t, no links %t, step %d", archived, noLinks, n+1), func(t *testing.T) {
					t.Parallel()
					files := newFaulty()
					files.noLinks = noLinks
					check(t, newScene(t, archived), files, n+1)
				})
			}
		}
	}
}

// TestAKillWhileGoingBack stops the program a second time, at each step of putting in order what the first
// left.
func TestAKillWhileGoingBack(t *testing.T) {
	t.Parallel()
	total := steps(t, true, false)
	for first := 1; first <= total; first++ {
		t.Run(fmt.Sprintf("step %d", first), func(t *testing.T) {
			t.Parallel()
			killTwice(t, first)
		})
	}
}

// killTwice stops the program at a step of an archive, and then at each step of putting that in order.
func killTwice(t *testing.T, first int) {
	for second := 1; ; second++ {
		s := newScene(t, true)
		files := newFaulty()
		files.dieAt = first
		_, _ = s.archive(files)
		moved := !missing(filepath.Join(s.root, store.FolderName, "changes/archive/2026-11-21-add-x"))
		again := newFaulty()
		again.dieAt = second
		if err := store.At(again, s.root).Recover(owner); err == nil {
			break // it was done before the second kill
		}
		s.recover(t)
		if moved {
			s.must(t, s.after)
		} else {
			s.must(t, s.before)
		}
	}
}

// Test57AFullDiskWhileWriting gives the disk room for each number of bytes in turn: going back needs none.
func Test57AFullDiskWhileWriting(t *testing.T) {
	t.Parallel()
	for room := 0; ; room += 23 {
		s := newScene(t, true)
		files := newFaulty()
		files.room = room
		_, err := s.archive(files)
		if err == nil {
			if room == 0 {
				t.Fatal("nothing was written")
			}
			s.must(t, s.after)
			return
		}
		if !strings.Contains(err.Error(), "no space left") {
			t.Errorf("room for %d bytes: %v", room, err)
		}
		s.must(t, s.before)
	}
}

// Test56TwoArchivesAtOnce starts many: one of them archives the change.
func Test56TwoArchivesAtOnce(t *testing.T) {
	t.Parallel()
	for round := range 40 {
		s := newScene(t, round%2 == 0)
		const many = 8
		errs := make([]error, many)
		var wait sync.WaitGroup
		for i := range many {
			wait.Go(func() { _, errs[i] = s.archive(store.Disk{}) })
		}
		wait.Wait()
		won := 0
		for _, err := range errs {
			switch {
			case err == nil:
				won++
			case errors.Is(err, store.ErrClaimed), errors.Is(err, store.ErrTargetExists), errors.Is(err, store.ErrChanged):
			default:
				t.Errorf("a loser hears %v", err)
			}
		}
		if won != 1 {
			t.Fatalf("%d archives succeeded", won)
		}
		s.must(t, s.after)
	}
}

// TestAClaimOfOthersIsLeftAlone keeps what another program or another user claims.
func TestAClaimOfOthersIsLeftAlone(t *testing.T) {
	const path = "changes/archive/.openspec-archive.lock"
	for name, claim := range map[string]string{
		"44 of another program":             "{}\n",
		"empty":                             "",
		"of another owner":                  `{"bulkhead-openspec":1,"owner":"else","token":"0123456789abcdef","change":"add-x","archived":"x","specs":null,"newFolders":null}`,
		"that leads out":                    `{"bulkhead-openspec":1,"owner":"test","token":"0123456789abcdef","change":"../../x","archived":"x","specs":null,"newFolders":null}`,
		"with a spec outside":               `{"bulkhead-openspec":1,"owner":"test","token":"0123456789abcdef","change":"add-x","archived":"x","specs":[{"id":"../../../etc","before":"","after":""}],"newFolders":null}`,
		"of a spec that nothing happens to": `{"bulkhead-openspec":1,"owner":"test","token":"0123456789abcdef","change":"add-x","archived":"x","specs":[{"id":"other","before":"","after":""}],"newFolders":null}`,
		"with another token":                `{"bulkhead-openspec":1,"owner":"test","token":"../../../../abc","change":"add-x","archived":"x","specs":null,"newFolders":null}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, true)
			if err := os.WriteFile(filepath.Join(s.root, store.FolderName, path), []byte(claim), 0o644); err != nil {
				t.Fatal(err)
			}
			s.before[path] = claim
			s.recover(t)
			if _, err := s.archive(store.Disk{}); !errors.Is(err, store.ErrClaimed) {
				t.Errorf("got %v, want ErrClaimed", err)
			}
			s.must(t, s.before)
		})
	}
}

// TestAClaimThatLeadsThroughALinkIsLeftAlone: no archive writes there, so none has to be undone.
func TestAClaimThatLeadsThroughALinkIsLeftAlone(t *testing.T) {
	const form = `{"bulkhead-openspec":1,"owner":"test","token":"0123456789abcdef","change":"add-x","archived":"x","specs":[%s],"newFolders":[%s]}`
	for name, claim := range map[string]string{
		"a spec that was made":   fmt.Sprintf(form, `{"id":"linked","before":"","after":"0"}`, ``),
		"a spec that was there":  fmt.Sprintf(form, `{"id":"linked/deep","before":"0","after":"0"}`, ``),
		"a folder that was made": fmt.Sprintf(form, ``, `"linked/empty"`),
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, true)
			elsewhere := t.TempDir()
			top := filepath.Join(s.root, store.FolderName)
			if err := errors.Join(
				os.MkdirAll(filepath.Join(elsewhere, "empty"), 0o755),
				os.MkdirAll(filepath.Join(elsewhere, "deep"), 0o755),
				os.WriteFile(filepath.Join(elsewhere, ".spec.md-0123456789abcdef.new"), []byte("theirs"), 0o644),
				os.WriteFile(filepath.Join(elsewhere, "deep", ".spec.md-0123456789abcdef.old"), []byte("theirs"), 0o644),
				os.Symlink(elsewhere, filepath.Join(top, "specs", "linked")),
				os.WriteFile(filepath.Join(top, "changes", "archive", ".openspec-archive.lock"), []byte(claim), 0o644),
			); err != nil {
				t.Fatal(err)
			}
			s.recover(t)
			for _, path := range []string{"empty", ".spec.md-0123456789abcdef.new", "deep/.spec.md-0123456789abcdef.old"} {
				if missing(filepath.Join(elsewhere, path)) {
					t.Errorf("%s is gone", path)
				}
			}
			if _, err := s.archive(store.Disk{}); !errors.Is(err, store.ErrClaimed) {
				t.Errorf("got %v, want ErrClaimed", err)
			}
		})
	}
}

// TestWhatOthersWroteMeanwhile is neither overwritten by an archive nor by going back.
func TestWhatOthersWroteMeanwhile(t *testing.T) {
	for name, path := range map[string]string{
		"a spec":               "specs/inventory/spec.md",
		"a spec to be deleted": "specs/legacy/reports/spec.md",
		"a spec to be made":    "specs/a/b/spec.md",
		"a delta":              "changes/add-x/specs/a/b/spec.md",
	} {
		t.Run("43 before an archive: "+name, func(t *testing.T) {
			s := newScene(t, true)
			full := filepath.Join(s.root, store.FolderName, path)
			if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte("theirs\n"), 0o644)); err != nil {
				t.Fatal(err)
			}
			before := tree(t, s.root)
			if _, err := s.archive(store.Disk{}); !errors.Is(err, store.ErrChanged) {
				t.Errorf("got %v, want ErrChanged", err)
			}
			s.must(t, before)
		})
	}
	t.Run("before going back", func(t *testing.T) {
		s := newScene(t, true)
		files := newFaulty()
		files.dieAt = steps(t, true, false) - 6 // behind the last spec, before the move or behind it
		for ; ; files.dieAt-- {
			s = newScene(t, true)
			again := newFaulty()
			again.dieAt = files.dieAt
			_, _ = s.archive(again)
			if again.did("rename "+filepath.Join(s.root, "openspec/specs/inventory/spec.md")) && missing(filepath.Join(s.root, "openspec/changes/archive/2026-11-21-add-x")) {
				break
			}
		}
		spec := filepath.Join(s.root, "openspec/specs/inventory/spec.md")
		if err := os.WriteFile(spec, []byte("theirs\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		err := store.At(store.Disk{}, s.root).Recover(owner)
		if err == nil || !strings.Contains(err.Error(), spec) {
			t.Errorf("got %v, want an error that names %s", err, spec)
		}
		if content, _ := os.ReadFile(spec); string(content) != "theirs\n" {
			t.Errorf("the spec is %q", content)
		}
	})
}
