package transaction_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem/faultfs"
	"github.com/bulkhead-mcp/bulkhead/sdk/internal/memfs"
	"github.com/bulkhead-mcp/bulkhead/sdk/transaction"
)

var (
	sumA = strings.Repeat("1", 64)
	sumB = strings.Repeat("2", 64)
)

func TestRecoverRefusesJournal(t *testing.T) {
	cases := []struct {
		name   string
		change func(j *transaction.Journal)
		want   string // a part of the expected error; empty if none is expected
	}{
		{"a good one", func(*transaction.Journal) {}, ""},
		{"another version", func(j *transaction.Journal) { j.Version = 2 }, "version is 2"},
		{"an id with a path in it", func(j *transaction.Journal) { j.ID = "../../../../../x" }, "the journal's id"},
		{"a relative path", func(j *transaction.Journal) { j.Steps[0].Path = "r/f" }, "not a clean absolute path"},
		{"a path with dots", func(j *transaction.Journal) { j.Steps[0].Path += "/../f" }, "not a clean absolute path"},
		{"a path outside of its root", func(j *transaction.Journal) { j.Steps[0].Root = "/x" }, `is not in "/x"`},
		{"a root with dots", func(j *transaction.Journal) { j.Steps[0].Root += "/../x" }, `is not in`},
		{"a digest that is none", func(j *transaction.Journal) { j.Steps[0].Before = "12" }, "is not a digest"},
		{"a digest that is not hexadecimal", func(j *transaction.Journal) { j.Steps[0].After = strings.Repeat("z", 64) }, "is not a digest"},
		{"too many steps", func(j *transaction.Journal) { j.Steps = slices.Repeat(j.Steps, 100_001) }, "more than 100000 steps"},
		{"too many directories", func(j *transaction.Journal) { j.Folders = slices.Repeat(j.Folders, 50_001) }, "more than 100000 steps"},
		{"the largest number of steps, of which one is bad", func(j *transaction.Journal) {
			j.Steps = slices.Repeat(j.Steps, 100_000)
			j.Steps[99_999].Path = "r/f"
		}, "step 99999: "},
		{"the largest number of directories, of which one is bad", func(j *transaction.Journal) {
			j.Folders = slices.Repeat(j.Folders, 50_000)
			j.Folders[99_999] = "/home"
		}, `"/home" contains none of the files`},
		{"an id that is too short", func(j *transaction.Journal) { j.ID = "0123456789abcd" }, "must have 16 hexadecimal digits"},
		{"a relative root", func(j *transaction.Journal) { j.Steps[0].Root = "r" }, `is not in "r"`},
		{"a relative move", func(j *transaction.Journal) { j.Steps[0].From, j.Steps[0].After = "r/f", "" }, "not a clean absolute path"},
		{"a step that changes nothing", func(j *transaction.Journal) { j.Steps[0].After = "" }, "changes nothing"},
		{"a move with a content", func(j *transaction.Journal) { j.Steps[0].From = j.Steps[0].Path }, "both moves and replaces a file"},
		{"a move from outside", func(j *transaction.Journal) { j.Steps[0].From, j.Steps[0].After = "/etc", "" }, `"/etc" is not in`},
		{"a directory of no file", func(j *transaction.Journal) { j.Folders[0] = "/home" }, "contains none of the files"},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			base := tree(t, map[string]string{"r/other": "x", "journal/": ""})
			root := filepath.Join(base, "r")
			j := &transaction.Journal{
				Version: 1, ID: "0123456789abcdef", Folders: []string{root + "/d", root + "/d/e"},
				Steps: []transaction.Step{{Root: root, Path: root + "/d/e/f", After: sumA}},
			}
			test.change(j)
			raw, err := json.Marshal(j)
			must(t, err)
			file := filepath.Join(base, "journal", "switching.json")
			must(t, os.WriteFile(file, raw, 0o644))
			before := look(t, base)
			_, err = transaction.Log{FS: noSync{}, Dir: filepath.Dir(file)}.Recover()
			if test.want == "" {
				must(t, err)
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), file) {
				t.Errorf("got %v, want …%s…", err, test.want)
			}
			same(t, base, before)
		})
	}
}

// TestFormatOfJournalIsFixed checks the format on disk, since it must stay possible to recover journals of earlier versions.
func TestFormatOfJournalIsFixed(t *testing.T) {
	s := killed(t, false)
	raw, err := os.ReadFile(filepath.Join(s.log.Dir, "switching.json"))
	must(t, err)
	var j transaction.Journal
	must(t, json.Unmarshal(raw, &j))
	var want []string
	for _, folder := range []string{s.at("a"), s.at("a/b")} {
		want = append(want, fmt.Sprintf("%q", folder))
	}
	text := fmt.Sprintf(`{"version":1,"id":%q,"folders":[%s],"steps":[{"root":%q,"path":%q,"before":%q,"after":%q},`,
		j.ID, strings.Join(want, ","), s.root, s.at("run.sh"), digest("old run"), digest("new run"))
	if !strings.HasPrefix(string(raw), text) || !strings.HasSuffix(string(raw), fmt.Sprintf(`"before":"","after":"","from":%q}]}`, s.at("active"))) {
		t.Errorf("got\n%s, want\n%s…", raw, text)
	}
	if _, err := os.Stat(s.at(transaction.DefaultPrefix + j.ID + "-0.old")); err != nil {
		t.Error(err)
	}
}

// TestTornJournalIsRemovedWhileStaging has the empty file that reserves a journal's name on a file system without hard links. Only that
// one is removed: any other file that cannot be read may belong to a transaction with effects.
func TestTornJournalIsRemovedWhileStaging(t *testing.T) {
	for raw, removed := range map[string]bool{"": true, "{": false, "{}": false} {
		dir := directory(t)
		file := filepath.Join(dir, "staging.json")
		must(t, os.WriteFile(file, []byte(raw), 0o644))
		report, err := transaction.Log{FS: noSync{}, Dir: dir}.Recover()
		if (err == nil) != removed || report.Outcome != transaction.Nothing {
			t.Errorf("%q: %v, %v", raw, report, err)
		}
		if _, err := os.Stat(file); (err != nil) != removed {
			t.Errorf("%q: %v", raw, err)
		}
	}
}

// TestJournalWithWrongTypeIsRefused has a journal of which all but one value can be read.
func TestJournalWithWrongTypeIsRefused(t *testing.T) {
	base := tree(t, map[string]string{"r/f": "x", "journal/": ""})
	file := filepath.Join(base, "journal", "switching.json")
	raw := fmt.Sprintf(`{"version":1,"id":"0123456789abcdef","folders":[],"steps":[{"root":%q,"path":%q,"before":"","after":%q,"prune":"yes"}]}`, base+"/r", base+"/r/f", sumA)
	must(t, os.WriteFile(file, []byte(raw), 0o644))
	if _, err := (transaction.Log{FS: noSync{}, Dir: filepath.Dir(file)}).Recover(); err == nil || !strings.Contains(err.Error(), "cannot be used") {
		t.Errorf("got %v", err)
	}
}

// TestJournalIsBounded has 64 MiB in digits.
func TestJournalIsBounded(t *testing.T) {
	s := newScene(t, false)
	s.log.Format = &transaction.Format{Encode: func(*transaction.Journal) ([]byte, error) { return make([]byte, 67_108_865), nil }}
	if err := s.log.Apply(s.changes); err == nil || !strings.Contains(err.Error(), "64 MiB of journal, are allowed") {
		t.Errorf("got %v", err)
	}
	s.log.Format.Encode = func(*transaction.Journal) ([]byte, error) { return nil, errTest }
	if err := s.log.Apply(s.changes); !errors.Is(err, errTest) {
		t.Errorf("got %v", err)
	}
	same(t, s.root, s.before)
	noJournal(t, s.log)
}

func TestUnreadableJournalStays(t *testing.T) {
	for _, raw := range []string{"", "{", `{"version":2}`, strings.Repeat("x", 100)} {
		dir := directory(t)
		file := filepath.Join(dir, "switching.json")
		must(t, os.WriteFile(file, []byte(raw), 0o644))
		_, err := transaction.Log{FS: noSync{}, Dir: dir}.Recover()
		if err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "then remove the journal") {
			t.Errorf("%q: %v", raw, err)
		}
		if _, err := os.Stat(file); err != nil {
			t.Errorf("%q: %v", raw, err)
		}
	}
}

// TestOwnFormat uses a journal format and names of temporary files that the caller defines.
func TestOwnFormat(t *testing.T) {
	for _, mode := range []faultfs.Mode{faultfs.KillBefore, faultfs.KillDuring} {
		faultfs.Each(noSync{}, mode, func(f *faultfs.FS) {
			s := newScene(t, true)
			stage := filepath.Join(s.log.Dir, "stage")
			must(t, os.MkdirAll(stage, 0o755))
			s.log.Format.Temporary = ".own-*.tmp"
			s.log.Format.Encode = func(j *transaction.Journal) ([]byte, error) {
				raw, err := json.Marshal(j)
				return append([]byte("own "), raw...), err
			}
			s.log.Format.Decode = func(raw []byte) (*transaction.Journal, error) {
				rest, ok := strings.CutPrefix(string(raw), "own ")
				if !ok {
					return nil, errTest
				}
				j := new(transaction.Journal)
				if json.Unmarshal([]byte(rest), j) != nil {
					return nil, transaction.ErrTorn
				}
				return j, nil
			}
			s.log.Format.Names = func(_ *transaction.Journal, i int) (old, new string) {
				return filepath.Join(stage, fmt.Sprintf("old.%d", i)), filepath.Join(stage, fmt.Sprintf("new.%d", i))
			}
			_ = s.apply(f)
			s.recover(t)
			if now := look(t, s.root); !cmp.Equal(now, s.before) && !cmp.Equal(now, s.after) {
				t.Errorf("operation %d (-want +got)\n%s", f.At, cmp.Diff(s.before, now))
			}
			if left := look(t, s.log.Dir); len(left) > 1 {
				t.Errorf("operation %d: left %q", f.At, left)
			}
		})
	}
	s := newScene(t, true)
	s.log.Format.Decode = func([]byte) (*transaction.Journal, error) { return nil, errTest }
	must(t, os.MkdirAll(s.log.Dir, 0o755))
	must(t, os.WriteFile(filepath.Join(s.log.Dir, "lock"), []byte("of another program"), 0o644))
	if _, err := s.log.Recover(); !errors.Is(err, errTest) {
		t.Errorf("got %v", err)
	}
}

// FuzzJournal checks that recovery with an arbitrary journal changes only those files that the journal names.
func FuzzJournal(f *testing.F) {
	for _, j := range []transaction.Journal{
		{Version: 1, ID: "0123456789abcdef", Steps: []transaction.Step{{Root: "/r", Path: "/r/f", After: sumA}, {Root: "/r", Path: "/r/d/g", Before: sumA, After: sumB}}, Folders: []string{"/r/d"}},
		{Version: 1, ID: "0123456789abcdef", Steps: []transaction.Step{{Root: "/r", Path: "/r/d/h", From: "/r/absent"}}},
	} {
		raw, err := json.Marshal(j)
		must(f, err)
		f.Add(raw)
	}
	f.Add([]byte(`{"version":1,"id":"../../etc","steps":[{"root":"/r","path":"/r/../secret"}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		disk := memfs.New()
		must(t, errors.Join(disk.Mkdir("/r", 0o755), disk.Mkdir("/r/d", 0o755), disk.Mkdir("/journal", 0o755)))
		for _, path := range []string{"/r/f", "/r/d/h", "/secret", "/r/d/.secret"} {
			must(t, atomicfile.Create(path, []byte("kept"), atomicfile.Options{FS: disk}))
		}
		must(t, atomicfile.Create("/journal/switching.json", raw, atomicfile.Options{FS: disk}))
		_, _ = transaction.Log{FS: disk, Dir: "/journal"}.Recover()
		var j transaction.Journal
		_ = json.Unmarshal(raw, &j)
		now := disk.Files()
		for _, path := range []string{"/r/f", "/r/d/h", "/secret", "/r/d/.secret"} {
			named := slices.ContainsFunc(j.Steps, func(s transaction.Step) bool { return contain.Within(s.Path, path) || contain.Within(s.From, path) })
			if now[path] != "kept" && !named {
				t.Errorf("%s changed %s: %q", raw, path, now[path])
			}
		}
	})
}

// FuzzApply applies random changes to a random tree, with one fault in the transaction and one in its recovery. It checks that either all
// files are old or all files are new.
func FuzzApply(f *testing.F) {
	for i := range faultfs.Modes {
		f.Add(uint64(i), uint8(i), uint16(7*i+3), uint16(5))
	}
	f.Fuzz(func(t *testing.T, seed uint64, mode uint8, at, again uint16) {
		files, changes := randomChanges(seed)
		base := tree(t, files)
		root := filepath.Join(base, "r")
		after := look(t, root)
		for i, c := range changes {
			expect(after, c)
			changes[i].Root, changes[i].Path = root, filepath.Join(root, c.Path)
		}
		before := look(t, root)
		l := transaction.Log{Dir: filepath.Join(base, "journal")}
		l.FS = &faultfs.FS{FS: noSync{}, At: int(at), Mode: faultfs.Modes[int(mode)%len(faultfs.Modes)], Reads: true}
		err := l.Apply(changes)
		l.FS = &faultfs.FS{FS: noSync{}, At: int(again), Mode: faultfs.KillAfter}
		_, _ = l.Recover()
		l.FS = noSync{}
		_, recoverErr := l.Recover()
		must(t, recoverErr)
		if now := look(t, root); !cmp.Equal(now, after) && (err == nil || !cmp.Equal(now, before)) {
			t.Errorf("%v (-want +got)\n%s", err, cmp.Diff(after, now))
		}
		if errors.Is(err, transaction.ErrChanged) {
			t.Errorf("no other program changed anything, but %v", err)
		}
		noJournal(t, l)
	})
}

// randomChanges returns the files of a random tree, keyed by paths relative to r, and changes with paths relative to r.
func randomChanges(seed uint64) (files map[string]string, changes []transaction.Change) {
	r := rand.New(rand.NewPCG(seed, 1))
	files = map[string]string{"r/": "", "r/kept": "k"}
	for i := range r.IntN(8) + 1 {
		dir := []string{"", "d/", "d/e/", "x/y/z/"}[r.IntN(4)]
		path, old := fmt.Sprintf("%sf%d", dir, i), fmt.Sprint("old ", i)
		change := transaction.Change{Path: path, After: []byte(fmt.Sprint("new ", i))}
		if r.IntN(3) > 0 {
			files["r/"+path] = old
			change.Before = digest(old)
			change.Delete = r.IntN(3) == 0
		}
		changes = append(changes, change)
	}
	return files, changes
}

// expect applies a change with a relative path to files, a result of look.
func expect(files map[string]string, c transaction.Change) {
	if c.Delete {
		delete(files, c.Path)
		return
	}
	files[c.Path] = "644 " + string(c.After)
	for dir := filepath.Dir(c.Path); dir != "."; dir = filepath.Dir(dir) {
		files[dir+"/"] = ""
	}
}
