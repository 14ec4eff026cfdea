package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/item"
)

func openStore(t *testing.T, state string) *Project {
	return Open(state, "default", "demo", func(text string) { t.Log(text) })
}

func prompt(t *testing.T, name, text string) item.Draft {
	t.Helper()
	d, err := item.NewPrompt(name, text, "about "+name)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func resource(t *testing.T, name, text string) item.Draft {
	t.Helper()
	d, err := item.NewResource(name, "a:"+name, "", "", func(string) (item.Content, error) { return item.TextResource(text) })
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// must fails the test if err is not nil.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// contents returns all items of a project in the order in which Each visits them.
func contents(t *testing.T, p *Project) []string {
	t.Helper()
	all := []string{}
	must(t, p.Each(func(s Stored, content []byte) error {
		all = append(all, fmt.Sprintf("%s %s: %s", s.Kind.Word(), s.Name, content))
		return nil
	}))
	return all
}

func TestUpdateKeepsUnknownKeys(t *testing.T) {
	p := openStore(t, t.TempDir())
	must(t, p.Create(prompt(t, "p", "old")))
	s, err := p.Find(item.Prompt, "p")
	must(t, err)
	path := p.itemPath(s.entry)
	raw, err := os.ReadFile(path)
	must(t, err)
	raw = []byte(strings.Replace(string(raw), `{"format":1,`, `{"stars":[1, 2.50],"format":1,"éè":null,`, 1))
	must(t, os.WriteFile(path, raw, 0o600))
	must(t, p.Replace(s, prompt(t, "p", "new")))
	must(t, importOne(p, prompt(t, "p", "newer")))
	after, err := os.ReadFile(path)
	must(t, err)
	for _, want := range []string{`"stars":[1,2.50]`, `"éè":null`, `"created_at":"` + s.created, "}\nnewer"} {
		if !strings.Contains(string(after), want) {
			t.Errorf("%s is not in %s", want, after)
		}
	}
	if strings.Count(string(after), `"name"`) != 1 {
		t.Errorf("the key name occurs twice in %s", after)
	}
}

func importOne(p *Project, d item.Draft) error {
	_, err := p.Import([]item.Draft{d}, true)
	return err
}

func TestImportConflicts(t *testing.T) {
	p := openStore(t, t.TempDir())
	must(t, p.Create(prompt(t, "p", "old")))
	must(t, p.Create(resource(t, "r", "old")))
	before := contents(t, p)
	moved := resource(t, "r", "new")
	moved.URI = "a:moved"
	stolen := resource(t, "thief", "new")
	stolen.URI = "a:r"
	for name, test := range map[string]struct {
		draft     item.Draft
		overwrite bool
		want      error
		hasURI    string
	}{
		"a stored name":                  {prompt(t, "p", "new"), false, ErrNameTaken, ""},
		"a stored name of a resource":    {resource(t, "r", "new"), false, ErrNameTaken, ""},
		"a stored URI":                   {stolen, false, ErrURITaken, ""},
		"a stored URI, with overwrite":   {stolen, true, ErrURITaken, ""},
		"a stored name with another URI": {moved, true, ErrNameTaken, "a:r"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := p.Import([]item.Draft{prompt(t, "fine", "new"), test.draft}, test.overwrite)
			clash := (*Conflict)(nil)
			if !errors.As(err, &clash) || !errors.Is(err, test.want) || clash.HasURI != test.hasURI || clash.Item.Name != test.draft.Name {
				t.Errorf("got %v", err)
			}
			if diff := cmp.Diff(before, contents(t, p)); diff != "" {
				t.Errorf("(-before +after)\n%s", diff)
			}
		})
	}
	t.Run("overwrite keeps the order", func(t *testing.T) {
		replaced, err := p.Import([]item.Draft{prompt(t, "q", "new"), prompt(t, "p", "new"), resource(t, "r", "new")}, true)
		must(t, err)
		if len(replaced) != 2 || replaced[0].Name != "p" || replaced[1].URI != "a:r" {
			t.Errorf("replaced %+v", replaced)
		}
		want := []string{"prompt p: new", "prompt q: new", "resource r: new"}
		if diff := cmp.Diff(want, contents(t, p)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
	t.Run("an empty import creates the project", func(t *testing.T) {
		p := openStore(t, t.TempDir())
		_, err := p.Import(nil, false)
		must(t, err)
		if there, err := p.Exists(); err != nil || !there {
			t.Errorf("got %t, %v", there, err)
		}
	})
}

func TestProjectSizeLimit(t *testing.T) {
	entries := make([]entry, MaxItems)
	for i := range entries {
		entries[i] = entry{number: uint64(i), kind: item.Prompt, name: key(fmt.Sprint(i))}
	}
	ix := indexOf(entries...)
	if _, err := ix.place(item.Item{Kind: item.Prompt, Name: "new"}); !errors.Is(err, ErrFull) {
		t.Errorf("got %v", err)
	}
	if _, err := ix.place(item.Item{Kind: item.Prompt, Name: "7"}); !errors.Is(err, ErrNameTaken) {
		t.Errorf("adding an item with a stored name: got %v", err)
	}
	if e, err := indexOf(entries[1:]...).place(item.Item{Kind: item.Prompt, Name: "new"}); err != nil || e.number != MaxItems {
		t.Errorf("got %+v, %v", e, err)
	}
	last := indexOf(entry{number: maxNumber, kind: item.Prompt, name: key("x")})
	if _, err := last.place(item.Item{Kind: item.Prompt, Name: "new"}); err == nil {
		t.Error("a number is assigned that does not fit in a file name")
	}
}

func TestDuplicatesAreOmitted(t *testing.T) {
	var warned []string
	p := Open(t.TempDir(), "default", "demo", func(text string) { warned = append(warned, text) })
	must(t, p.Create(resource(t, "a", "first")))
	must(t, p.Create(resource(t, "b", "other")))
	s, err := p.Find(item.Resource, "a")
	must(t, err)
	twin := s.entry
	twin.number = 9
	raw, err := os.ReadFile(p.itemPath(s.entry))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(p.dir, twin.fileName()), raw, 0o600))
	sameURI := twin
	sameURI.name, sameURI.number = key("c"), 10
	must(t, os.WriteFile(filepath.Join(p.dir, sameURI.fileName()), raw, 0o600))
	want := []string{"resource a: first", "resource b: other"}
	if diff := cmp.Diff(want, contents(t, p)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if len(warned) != 2 || !strings.Contains(warned[0], twin.fileName()) || !strings.Contains(warned[1], sameURI.fileName()) {
		t.Errorf("warned of %q", warned)
	}
}

func TestSweepRemovesOldTemporaryFiles(t *testing.T) {
	state := t.TempDir()
	p := openStore(t, state)
	must(t, p.Create(prompt(t, "p", "x")))
	other := Open(state, "else", "where", func(text string) { t.Log(text) })
	must(t, other.Create(prompt(t, "p", "x")))
	paths := map[string]bool{} // the value for each path is whether the file at that path must stay
	for _, dir := range []string{p.dir, filepath.Dir(p.dir), state, other.dir, filepath.Dir(other.dir)} {
		for _, age := range []time.Duration{sweepAge - time.Minute, sweepAge + time.Minute} {
			for _, folder := range []bool{false, true} {
				path := filepath.Join(dir, fmt.Sprintf(".tmp-%d", len(paths)))
				if folder {
					must(t, os.Mkdir(path, 0o700))
					must(t, os.WriteFile(filepath.Join(path, "member"), []byte("x"), 0o600))
				} else {
					must(t, os.WriteFile(path, []byte("x"), 0o600))
				}
				at := time.Now().Add(-age)
				must(t, os.Chtimes(path, at, at))
				paths[path] = age < sweepAge
			}
		}
	}
	contents(t, p)
	for path := range paths {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("a read removed a file: %v", err)
		}
	}
	must(t, p.Create(prompt(t, "q", "x")))
	for path, stays := range paths {
		if _, err := os.Stat(path); (err == nil) != stays {
			t.Errorf("the file must stay: %t, but Stat returned %v", stays, err)
		}
	}
}

// TestSweepReachesAllProjectsOfLargeStore checks that each write searches a limited number of projects for temporary
// files, and that many writes together search all projects.
func TestSweepReachesAllProjectsOfLargeStore(t *testing.T) {
	state := t.TempDir()
	p := openStore(t, state)
	must(t, p.Create(prompt(t, "p", "x")))
	old := time.Now().Add(-2 * sweepAge)
	var left []string
	for i := range 3 * maxSwept {
		path := filepath.Join(state, key("default"), key(fmt.Sprint(i)), ".tmp-x")
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, nil, 0o600))
		must(t, os.Chtimes(path, old, old))
		left = append(left, path)
	}
	exists := func(path string) bool { _, err := os.Stat(path); return err == nil }
	for writes := 0; slices.ContainsFunc(left, exists); writes++ {
		before := len(left)
		must(t, p.Create(prompt(t, fmt.Sprint("p", writes), "x")))
		left = slices.DeleteFunc(left, func(path string) bool { return !exists(path) })
		if removed := before - len(left); removed > maxSwept || writes > 1000 {
			t.Fatalf("after %d writes: the last write removed %d temporary files, %d are left", writes, removed, len(left))
		}
	}
}
