package store

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
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

// must fails the test where a change did not work.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// contents reads all that a project holds, in its order.
func contents(t *testing.T, p *Project) []string {
	t.Helper()
	all := []string{}
	must(t, p.Each(func(s Stored, content []byte) error {
		all = append(all, fmt.Sprintf("%s %s: %s", s.Kind.Word(), s.Name, content))
		return nil
	}))
	return all
}

func TestUnknownKeysSurviveAnUpdate(t *testing.T) {
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
		t.Errorf("a key is there twice: %s", after)
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
		"a name that is taken":                 {prompt(t, "p", "new"), false, ErrNameTaken, ""},
		"a resource's name that is taken":      {resource(t, "r", "new"), false, ErrNameTaken, ""},
		"a URI that is taken":                  {stolen, false, ErrURITaken, ""},
		"a URI that is taken is never given":   {stolen, true, ErrURITaken, ""},
		"a resource that would change its URI": {moved, true, ErrNameTaken, "a:r"},
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
	t.Run("with overwrite names keep their places", func(t *testing.T) {
		replaced, err := p.Import([]item.Draft{prompt(t, "q", "new"), prompt(t, "p", "new"), resource(t, "r", "new")}, true)
		must(t, err)
		if replaced != 2 {
			t.Errorf("replaced %d", replaced)
		}
		want := []string{"prompt p: new", "prompt q: new", "resource r: new"}
		if diff := cmp.Diff(want, contents(t, p)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
	t.Run("of nothing makes the project", func(t *testing.T) {
		p := openStore(t, t.TempDir())
		_, err := p.Import(nil, false)
		must(t, err)
		if there, err := p.Exists(); err != nil || !there {
			t.Errorf("got %t, %v", there, err)
		}
	})
}

func TestAProjectHasABound(t *testing.T) {
	ix := make(index, MaxItems)
	for i := range ix {
		ix[i] = entry{number: uint64(i), kind: item.Prompt, name: key(fmt.Sprint(i))}
	}
	if _, err := ix.place(item.Item{Kind: item.Prompt, Name: "new"}); !errors.Is(err, ErrFull) {
		t.Errorf("got %v", err)
	}
	if _, err := ix.place(item.Item{Kind: item.Prompt, Name: "7"}); !errors.Is(err, ErrNameTaken) {
		t.Errorf("a name that is there: got %v", err)
	}
	if e, err := ix[1:].place(item.Item{Kind: item.Prompt, Name: "new"}); err != nil || e.number != MaxItems {
		t.Errorf("got %+v, %v", e, err)
	}
	last := index{{number: maxNumber, kind: item.Prompt, name: key("x")}}
	if _, err := last.place(item.Item{Kind: item.Prompt, Name: "new"}); err == nil {
		t.Error("a number that no file name holds is given")
	}
}

func TestTwinsAreLeftOut(t *testing.T) {
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

func TestSweepRemovesWhatIsOld(t *testing.T) {
	p := openStore(t, t.TempDir())
	must(t, p.Create(prompt(t, "p", "x")))
	paths := map[string]bool{} // and whether it stays
	for _, age := range []time.Duration{sweepAge - time.Minute, sweepAge + time.Minute} {
		for _, folder := range []bool{false, true} {
			path := p.tempPath()
			if folder {
				must(t, os.Mkdir(path, 0o700))
			} else {
				must(t, os.WriteFile(path, []byte("x"), 0o600))
			}
			at := time.Now().Add(-age)
			must(t, os.Chtimes(path, at, at))
			paths[path] = age < sweepAge
		}
	}
	contents(t, p)
	for path := range paths {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("a reader removed something: %v", err)
		}
	}
	must(t, p.Create(prompt(t, "q", "x")))
	for path, stays := range paths {
		if _, err := os.Stat(path); (err == nil) != stays {
			t.Errorf("stays is to be %t: %v", stays, err)
		}
	}
}

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

func FuzzParseEntry(f *testing.F) {
	f.Add(entry{number: 1, kind: item.Prompt, name: key("a")}.fileName())
	f.Add(entry{number: maxNumber, kind: item.Resource, name: key("a"), uri: key("b")}.fileName())
	f.Add("0000000001-prompt-.item")
	f.Add("+000000001-resource--.item")
	f.Fuzz(func(t *testing.T, file string) {
		e, ok := parseEntry(file)
		if ok && e.fileName() != file {
			t.Errorf("%q is read as %q", file, e.fileName())
		}
	})
}

func FuzzReadItem(f *testing.F) {
	d := item.Draft{Item: item.Item{Kind: item.Resource, Name: "n", URI: "a:n", MIMEType: "x/y"}, Content: item.Content{Bytes: []byte("x"), Binary: true}}
	line, err := newHeader(d, now(), now()).line(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(append(line, 'x'))
	f.Add(append(line, 'x', 'y'))
	f.Add([]byte(`{"format":1,"name":"n","uri":"a:n","content":"text","size":1,"more":[{}]}` + "\nx"))
	f.Add([]byte(`{"format":1,"FORMAT":2}` + "\n"))
	f.Add([]byte{})
	p := Open("nowhere", "default", "demo", func(string) {})
	e := entry{number: 1, kind: item.Resource, name: key("n"), uri: key("a:n")}
	parse := func(raw []byte) (Stored, []byte, error) {
		return p.parseWhole(e, bufio.NewReader(bytes.NewReader(raw)))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, content, err := parse(raw)
		if err != nil {
			if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNewer) {
				t.Errorf("got %v", err)
			}
			return
		}
		first, body, _ := bytes.Cut(raw, []byte("\n"))
		if s.Name != "n" || s.URI != "a:n" || len(content) == 0 || !bytes.Equal(body, content) {
			t.Errorf("%q is read as %+v with %q", raw, s, content)
		}
		unknown, err := unknownKeys(first)
		must(t, err)
		line, err := newHeader(item.Draft{Item: s.Item, Content: item.Content{Bytes: content, Binary: s.Binary}}, s.created, now()).line(unknown)
		must(t, err)
		again, same, err := parse(append(line, content...))
		if err != nil || again != s || !bytes.Equal(same, content) {
			t.Errorf("written again it is %+v, %q, %v", again, same, err)
		}
	})
}

func TestScenario28AThousandItems(t *testing.T) {
	p := openStore(t, t.TempDir())
	must(t, p.make())
	for i := range 1000 {
		d := resource(t, fmt.Sprint(i), strings.Repeat("x", 10_000))
		e, err := index{{number: uint64(i)}}.place(d.Item)
		must(t, err)
		line, err := newHeader(d, now(), now()).line(nil)
		must(t, err)
		must(t, os.WriteFile(p.itemPath(e), append(line, d.Content.Bytes...), 0o600))
	}
	fastest := time.Hour
	for range 5 {
		begin := time.Now()
		list, err := p.List(item.Resource)
		if err != nil || len(list) != 1000 || list[999].Name != "999" {
			t.Fatalf("%d are listed, %v", len(list), err)
		}
		fastest = min(fastest, time.Since(begin))
	}
	t.Logf("natively %v", fastest)
	if fastest > 100*time.Millisecond {
		t.Errorf("the list took %v", fastest)
	}
}
