package apply_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/apply"
)

// FuzzApply makes random changes of a random tree, fails or kills Apply at one operation and Recover at
// another, and requires that all files are old or all are new.
func FuzzApply(f *testing.F) {
	mishaps := []mishap{failsOnce, diskIsFull, failsFromOn, killedFirst, killedMid, killedAfter}
	for i := range mishaps {
		f.Add(uint64(i), uint8(i), uint16(7*i+3), uint16(5))
	}
	f.Fuzz(func(t *testing.T, seed uint64, which uint8, at, again uint16) {
		files, changes := randomChanges(seed)
		root := filepath.Join(tree(t, files), "r")
		for i := range changes {
			changes[i].Root, changes[i].Path = root, filepath.Join(root, changes[i].Path)
		}
		before := look(t, root)
		after := expected(t, root, changes)
		a := apply.Applier{Dir: filepath.Join(filepath.Dir(root), "journal")}
		a.FS = &faulty{FS: osFS, at: int(at), what: mishaps[int(which)%len(mishaps)]}
		var err error
		killed := survive(func() { err = a.Apply(changes) })
		a.FS = &faulty{FS: osFS, at: int(again), what: killedAfter}
		survive(func() { _, _ = a.Recover() })
		a.FS = osFS
		if _, err := a.Recover(); err != nil {
			t.Fatal(err)
		}
		now := look(t, root)
		if !cmp.Equal(now, after) && (err == nil && !killed || !cmp.Equal(now, before)) {
			t.Errorf("killed: %v, error: %v, %s", killed, err, cmp.Diff(after, now))
		}
		if errors.Is(err, apply.ErrChanged) {
			t.Errorf("no other program changed anything, but %v", err)
		}
		noJournal(t, a)
	})
}

// randomChanges returns a tree below r, and changes of it with relative paths and without roots.
func randomChanges(seed uint64) (files map[string]string, changes []apply.Change) {
	r := rand.New(rand.NewPCG(seed, 1))
	files = map[string]string{"r/": "", "r/kept": "k"}
	for i := range r.IntN(8) + 1 {
		dir := []string{"", "d/", "d/e/", "x/y/z/"}[r.IntN(4)]
		path, old, content := fmt.Sprintf("%sf%d", dir, i), fmt.Sprint("old ", i), fmt.Sprint("new ", i)
		change := apply.Change{Path: path, After: []byte(content)}
		if r.IntN(3) > 0 {
			files["r/"+path] = old
			change.Before = sum(old)
			change.Delete = r.IntN(3) == 0
		}
		changes = append(changes, change)
	}
	return files, changes
}

// expected returns the content below root after the changes.
func expected(t *testing.T, root string, changes []apply.Change) map[string]string {
	t.Helper()
	want := look(t, root)
	for _, change := range changes {
		name, err := filepath.Rel(root, change.Path)
		if err != nil {
			t.Fatal(err)
		}
		if change.Delete {
			delete(want, name)
			continue
		}
		want[name] = "644 " + string(change.After)
		for dir := filepath.Dir(name); dir != "."; dir = filepath.Dir(dir) {
			want[dir+"/"] = ""
		}
	}
	return want
}
