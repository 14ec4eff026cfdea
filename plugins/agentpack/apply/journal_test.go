package apply

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	oneSum     = strings.Repeat("1", 64)
	anotherSum = strings.Repeat("2", 64)
)

func TestParseJournal(t *testing.T) {
	good := func() journal {
		return journal{
			Version: 1, ID: "0123456789abcdef", Dirs: []string{"/r/d", "/r/d/e"},
			Steps: []step{{Root: "/r", Path: "/r/d/e/f", Before: "", After: oneSum}},
		}
	}
	cases := []struct {
		name   string
		change func(j *journal)
		want   string // substring of the error; "" for none
	}{
		{"a journal", func(*journal) {}, ""},
		{"another version", func(j *journal) { j.Version = 2 }, "version 2 is not supported"},
		{"an id with a path in it", func(j *journal) { j.ID = "../../../../../x" }, "invalid id"},
		{"a relative path", func(j *journal) { j.Steps[0].Path = "r/f" }, "not an absolute path"},
		{"a path with dots", func(j *journal) { j.Steps[0].Path = "/r/../f" }, "not an absolute path"},
		{"a path outside of its root", func(j *journal) { j.Steps[0].Root = "/x" }, `is not in "/x"`},
		{"a root with dots", func(j *journal) { j.Steps[0].Root = "/r/../x" }, `is not in "/r/../x"`},
		{"a sum that is none", func(j *journal) { j.Steps[0].Before = "12" }, "is not a SHA-256 sum"},
		{"a step that changes nothing", func(j *journal) { j.Steps[0] = step{"/r", "/r/d/e/f", oneSum, oneSum} }, "changes nothing"},
		{"an unrelated directory", func(j *journal) { j.Dirs[0] = "/home" }, "holds none of the files"},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			j := good()
			test.change(&j)
			raw, err := json.Marshal(j)
			if err != nil {
				t.Fatal(err)
			}
			got, err := parse(raw)
			switch {
			case test.want == "" && (err != nil || !cmp.Equal(*got, j)):
				t.Errorf("got %+v, %v", got, err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("got %v, want …%s…", err, test.want)
			}
		})
	}
}

// FuzzParseJournal requires that an accepted journal names no files but those beside its steps.
func FuzzParseJournal(f *testing.F) {
	for _, j := range []journal{
		{Version: 1, ID: "0123456789abcdef", Steps: []step{{"/r", "/r/f", "", oneSum}, {"/r", "/r/d/g", oneSum, anotherSum}}, Dirs: []string{"/r/d"}},
		{Version: 1, ID: "0123456789abcdef", Steps: []step{{"/", "/f", oneSum, ""}}},
	} {
		raw, err := json.Marshal(j)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add([]byte(`{"version":1,"id":"../../etc","steps":[{"root":"/r","path":"/r/../f"}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		j, err := parse(raw)
		if err != nil {
			return
		}
		for i, s := range j.Steps {
			for _, name := range []string{j.temporary(i).old, j.temporary(i).new} {
				if filepath.Dir(name) != filepath.Dir(s.Path) || !IsTemporary(filepath.Base(name)) {
					t.Errorf("step %d of %s names %s", i, raw, name)
				}
			}
		}
	})
}
