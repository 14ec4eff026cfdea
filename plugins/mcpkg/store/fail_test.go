package store

import (
	"errors"
	"os"
	"slices"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/item"
)

// change is one change to the store that changeBase has made, and what the store holds after it.
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

// checkOldOrNew looks whether a change that was ended in the middle has happened whole or not at all, and
// goes on working there.
func checkOldOrNew(t *testing.T, state string, c change) (happened bool) {
	t.Helper()
	p := openStore(t, state)
	got := contents(t, p)
	happened = slices.Equal(got, c.after)
	if !happened && !slices.Equal(got, base) {
		t.Fatalf("half of it: %q", got)
	}
	must(t, p.Create(prompt(t, "z", "next")))
	s, err := p.Find(item.Prompt, "z")
	must(t, err)
	must(t, p.Delete(s))
	if diff := cmp.Diff(got, contents(t, p)); diff != "" {
		t.Errorf("the next write changed it (-before +after)\n%s", diff)
	}
	if _, err := os.Stat(p.importDir()); err == nil {
		t.Error("the next write did not end the import")
	}
	return happened
}

func TestAStepThatFails(t *testing.T) {
	for _, c := range changes() {
		t.Run(c.name, func(t *testing.T) {
			for n := 1; ; n++ {
				state := t.TempDir()
				changeBase(t, state)
				p := openStore(t, state)
				steps := 0
				p.disk.before = func(step, path string) error {
					if steps++; steps == n {
						return &os.PathError{Op: step, Path: path, Err: syscall.ENOSPC}
					}
					return nil
				}
				err := c.do(t, p)
				if steps < n {
					must(t, err)
					return
				}
				if happened := checkOldOrNew(t, state, c); happened != (err == nil) {
					t.Errorf("step %d: happened %t, error %v", n, happened, err)
				}
			}
		})
	}
}

func TestTheFirstWriteThatFailsLeavesNoProject(t *testing.T) {
	for n := 1; ; n++ {
		state := t.TempDir()
		p := openStore(t, state)
		steps := 0
		p.disk.before = func(string, string) error {
			if steps++; steps == n {
				return syscall.ENOSPC
			}
			return nil
		}
		err := p.Create(prompt(t, "p", "x"))
		if steps < n {
			must(t, err)
			break
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("step %d: %v", n, err)
		}
		p = openStore(t, state)
		if got := contents(t, p); len(got) > 0 {
			t.Errorf("step %d: %q", n, got)
		}
		must(t, p.Create(prompt(t, "p", "x")))
	}
}
