//go:build unix

package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/plugins/memory/graph"
	"github.com/bulkhead-mcp/bulkhead/plugins/memory/store"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem/faultfs"
)

const (
	before = `{"type":"entity","name":"a","entityType":"t","observations":[]}`
	after  = before + "\n" + `{"type":"entity","name":"b","entityType":"t","observations":["x"]}`
)

// newStore returns a store whose file has the content before.
func newStore(t *testing.T, fsys filesystem.FS) store.Store {
	t.Helper()
	s := store.Store{Path: filepath.Join(t.TempDir(), "memory.jsonl"), FS: fsys, Lock: func(string) error { return nil }}
	if err := os.WriteFile(s.Path, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

func addB(g *graph.Graph) error {
	g.CreateEntities([]graph.Entity{{Name: "b", Type: "t", Observations: []string{"x"}}})
	return nil
}

func content(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestChangeIsAtomic interrupts a change at each operation, by a failure or a kill. Afterwards the file has its complete
// old or its complete new content, and the next change removes what is left.
func TestChangeIsAtomic(t *testing.T) {
	for _, mode := range faultfs.Modes {
		old, changed := 0, 0
		faultfs.Each(filesystem.OS{}, mode, func(f *faultfs.FS) {
			s := newStore(t, f)
			err := s.Change(addB)
			switch got := content(t, s.Path); {
			case got == before && err != nil:
				old++
			case got == after:
				changed++
			default:
				t.Fatalf("%v at operation %d: %v, and the file has %q", mode, f.At, err, got)
			}
			s.FS = filesystem.OS{}
			if err := s.Change(addB); err != nil || content(t, s.Path) != after {
				t.Errorf("%v at operation %d: the next change: %v, and the file has %q", mode, f.At, err, content(t, s.Path))
			}
			if entries, err := os.ReadDir(filepath.Dir(s.Path)); err != nil || len(entries) != 1 {
				t.Errorf("%v at operation %d: the directory has %v, %v", mode, f.At, entries, err)
			}
		})
		if old < 3 || changed < 1 {
			t.Errorf("%v: %d times old, %d times changed", mode, old, changed)
		}
	}
}

// TestFailedChangeWritesNothing checks the refusals before the file is replaced.
func TestFailedChangeWritesNothing(t *testing.T) {
	refused := errors.New("refused")
	for name, test := range map[string]struct {
		lock   error
		file   string
		change func(*graph.Graph) error
		want   string
	}{
		"the function fails": {file: before, change: func(*graph.Graph) error { return refused }, want: "refused"},
		"the lock fails":     {file: before, lock: refused, change: addB, want: "cannot lock "},
		"a line is invalid":  {file: before + "\nx", change: addB, want: "memory.jsonl: line 2: not a JSON object: repair the line, or remove it"},
		"the graph is too large": {file: before, change: func(g *graph.Graph) error {
			g.CreateEntities([]graph.Entity{{Name: strings.Repeat("x", store.MaxSize)}})
			return nil
		}, want: "would have more than 8388608 bytes: delete observations"},
		"the graph has too many values": {file: before, change: func(g *graph.Graph) error {
			g.CreateRelations(make([]graph.Relation, graph.MaxValues/4))
			return nil
		}, want: "would have more than 200000 entities, relations, "},
		"the file has too many lines":        {file: strings.Repeat("{}\n", graph.MaxValues/4+1), change: addB, want: "line 50001: more than 200000 "},
		"the file has too many observations": {file: `{"type":"entity","name":"","entityType":"","observations":[` + strings.Repeat(`"",`, graph.MaxValues) + `""]}`, change: addB, want: "line 1: more than 200000 "},
		"the file is too large":              {file: strings.Repeat("\n", store.MaxSize+1), change: addB, want: "file too large"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, filesystem.OS{})
			if err := os.WriteFile(s.Path, []byte(test.file), 0o600); err != nil {
				t.Fatal(err)
			}
			s.Lock = func(string) error { return test.lock }
			if err := s.Change(test.change); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
			if content(t, s.Path) != test.file {
				t.Error("the file was changed")
			}
		})
	}
}

// TestChangeReadsUnderLock checks that the lock, which is on the directory of the file, is held before the file is read.
func TestChangeReadsUnderLock(t *testing.T) {
	s := newStore(t, filesystem.OS{})
	s.Path = filepath.Join(filepath.Dir(s.Path), "new", "memory.jsonl")
	s.Lock = func(dir string) error {
		if dir != filepath.Dir(s.Path) {
			t.Errorf("locked %s", dir)
		}
		return os.WriteFile(s.Path, []byte(before), 0o600) // what another server wrote before this one had the lock
	}
	if err := s.Change(addB); err != nil || content(t, s.Path) != after {
		t.Errorf("%v, and the file has %q", err, content(t, s.Path))
	}
}

func TestLocate(t *testing.T) {
	dir := t.TempDir()
	for _, test := range []struct{ variable, state, want string }{
		{"", "/state", "/state/memory.jsonl"},
		{"notes/team.jsonl", "/state", "/state/notes/team.jsonl"},
		{dir + "/./graph.jsonl", "/state", dir + "/graph.jsonl"},
		{dir + "/graph.jsonl", "", dir + "/graph.jsonl"},
		{dir + "/absent/graph.jsonl", "/state", ""},
		{"", "", ""},
		{"graph.jsonl", "", ""},
	} {
		got, err := store.Locate(func(name string) string {
			return map[string]string{"MEMORY_FILE_PATH": test.variable, "BULKHEAD_STATE": test.state}[name]
		}, filesystem.OS{})
		if got != test.want || (err != nil) != (test.want == "") {
			t.Errorf("%+v: got %q, %v", test, got, err)
		}
	}
}

// TestChangeRefusesSymbolicLink checks that a change neither replaces a link by a file, nor goes on with a copy of the file behind it, for
// which other servers may hold another lock.
func TestChangeRefusesSymbolicLink(t *testing.T) {
	s := newStore(t, filesystem.OS{})
	link := filepath.Join(t.TempDir(), "link.jsonl")
	if err := os.Symlink(s.Path, link); err != nil {
		t.Fatal(err)
	}
	linked := s
	linked.Path = link
	if err := linked.Change(addB); err == nil || !strings.Contains(err.Error(), link+" is a symbolic link") {
		t.Errorf("got %v", err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 || content(t, s.Path) != before {
		t.Errorf("got %v, %v and %q", info, err, content(t, s.Path))
	}
	if g, err := linked.Load(); err != nil || len(g.Entities) != 1 {
		t.Errorf("reading: got %v, %v", g, err)
	}
}
