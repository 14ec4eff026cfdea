package store

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/item"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem/faultfs"
)

// change is one change of the store that changeBase creates, together with the items that the store has after the
// change.
type change struct {
	name  string
	do    func(t *testing.T, p *Project) error
	after []string
}

var base = []string{"prompt p: old", "resource r: old"}

func changeBase(t *testing.T, state string) {
	p := openStore(t, state)
	must(t, p.Create(prompt(t, "p", "old")))
	must(t, p.Create(resource(t, "r", "old")))
}

func changes() []change {
	return []change{
		{"create", func(t *testing.T, p *Project) error { return p.Create(prompt(t, "q", "new")) },
			[]string{"prompt p: old", "prompt q: new", "resource r: old"}},
		{"replace", func(t *testing.T, p *Project) error {
			s, err := p.Find(item.Prompt, "p")
			if err != nil {
				return err
			}
			return p.Replace(s, prompt(t, "p", "new"))
		}, []string{"prompt p: new", "resource r: old"}},
		{"delete", func(t *testing.T, p *Project) error {
			s, err := p.Find(item.Resource, "r")
			if err != nil {
				return err
			}
			return p.Delete(s)
		}, []string{"prompt p: old"}},
		{"import", func(t *testing.T, p *Project) error {
			_, err := p.Import([]item.Draft{prompt(t, "q", "new"), prompt(t, "p", "new"), resource(t, "r", "new"), resource(t, "s", "new")}, true)
			return err
		}, []string{"prompt p: new", "prompt q: new", "resource r: new", "resource s: new"}},
	}
}

// checkOldOrNew fails the test unless an interrupted change was atomic and the changes after it succeed. It reports
// whether the interrupted change was committed.
func checkOldOrNew(t *testing.T, state string, c change) (happened bool) {
	t.Helper()
	p := openStore(t, state)
	got := contents(t, p)
	happened = slices.Equal(got, c.after)
	if !happened && !slices.Equal(got, base) {
		t.Fatalf("the change is incomplete: %q", got)
	}
	must(t, p.Create(prompt(t, "z", "next")))
	s, err := p.Find(item.Prompt, "z")
	must(t, err)
	must(t, p.Delete(s))
	if diff := cmp.Diff(got, contents(t, p)); diff != "" {
		t.Errorf("the next write changed the stored items (-before +after)\n%s", diff)
	}
	if _, err := os.Stat(p.importDir()); err == nil {
		t.Error("the next write did not complete the import")
	}
	return happened
}

// TestFailureAtEveryOperation lets each file system operation of a change fail. The failed change has no effect, unless
// only the sync after the commit failed.
func TestFailureAtEveryOperation(t *testing.T) {
	for _, c := range changes() {
		for _, mode := range []faultfs.Mode{faultfs.Fail, faultfs.Full, faultfs.KillDuring} {
			t.Run(c.name+", "+string(mode), func(t *testing.T) {
				faultfs.Each(filesystem.OS{}, mode, func(f *faultfs.FS) {
					state := t.TempDir()
					changeBase(t, state)
					p := openStore(t, state)
					p.files = f
					err := c.do(t, p)
					happened := checkOldOrNew(t, state, c)
					synced := f.Reached() && strings.HasPrefix(f.Operations()[f.At-1], "sync directory")
					if happened != (err == nil) && !(happened && (synced || mode == faultfs.KillDuring)) {
						t.Errorf("operation %d: committed %t, error %v", f.At, happened, err)
					}
				})
			})
		}
	}
}

func TestFirstWriteThatFailsLeavesNoProject(t *testing.T) {
	faultfs.Each(filesystem.OS{}, faultfs.Fail, func(f *faultfs.FS) {
		state := t.TempDir()
		p := openStore(t, state)
		p.files = f
		err := p.Create(prompt(t, "p", "x"))
		if !f.Reached() {
			must(t, err)
			return
		}
		if !errors.Is(err, faultfs.ErrInjected) {
			t.Fatalf("operation %d: %v", f.At, err)
		}
		p = openStore(t, state)
		got := contents(t, p)
		if last := f.Operations()[f.At-1]; len(got) > 0 && !strings.HasPrefix(last, "sync directory") {
			t.Errorf("failure at operation %d, %s: the store has the items %q", f.At, last, got)
		}
		if len(got) == 0 {
			must(t, p.Create(prompt(t, "p", "x")))
		}
	})
}

// TestImportIntoNewProjectIsAtomic interrupts an import at each file system operation, by a failure or a kill.
// Afterwards the project is absent, or has all items, and the import can be repeated.
func TestImportIntoNewProjectIsAtomic(t *testing.T) {
	drafts := []item.Draft{prompt(t, "p", "x"), prompt(t, "q", "x"), resource(t, "r", "x")}
	for _, mode := range faultfs.Modes {
		before, after := 0, 0
		faultfs.Each(filesystem.OS{}, mode, func(f *faultfs.FS) {
			state := t.TempDir()
			p := openStore(t, state)
			p.files = f
			_, err := p.Import(drafts, false)
			p = openStore(t, state)
			switch got := contents(t, p); {
			case len(got) == len(drafts):
				after++
				return
			case len(got) > 0 || err == nil:
				t.Fatalf("%v at operation %d, error %v: the project has only the items %q", mode, f.At, err, got)
			}
			before++
			if _, err := p.Import(drafts, false); err != nil || len(contents(t, p)) != len(drafts) {
				t.Errorf("%v at operation %d: the repeated import returned %v, and the project has the items %q", mode, f.At, err, contents(t, p))
			}
		})
		if before < 5 || after == 0 {
			t.Errorf("%v: %d interruptions before the commit, %d after; want at least 5 and 1", mode, before, after)
		}
	}
}
