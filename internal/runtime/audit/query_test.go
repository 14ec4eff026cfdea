//go:build unix

package audit_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

// found collects what a query finds.
type found struct {
	tools   []string
	damaged []string
}

func (f *found) yield(e audit.Entry) error {
	f.tools = append(f.tools, strings.TrimRight(e.Tool, "x")+map[bool]string{true: "gap"}[e.Kind == audit.KindGap])
	return nil
}

func (f *found) damage(d audit.Damage) {
	d.File = filepath.Base(d.File)
	f.damaged = append(f.damaged, d.String())
}

func query(t *testing.T, file string, q audit.Query) found {
	t.Helper()
	var f found
	if err := audit.Read(file, q, f.yield, f.damage); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestReadReturnsRotatedFilesInOrder(t *testing.T) {
	file := newFile(t)
	l := open(t, audit.Config{File: file, MaxSize: audit.MinMaxSize, Keep: 12, OnFailure: audit.FailClosed})
	var want []string
	for i := range 300 {
		want = append(want, fmt.Sprintf("%04d-", i))
		write(t, l, want[i]+filler)
	}
	rotated, _ := filepath.Glob(file + ".[0-9]*")
	if len(rotated) < 8 {
		t.Fatalf("only %q were rotated", rotated)
	}
	if diff := cmp.Diff(found{tools: want}, query(t, file, audit.Query{}), cmp.AllowUnexported(found{})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want[255:], query(t, file, audit.Query{Limit: 45}).tools); diff != "" {
		t.Error(diff)
	}
	for i := len(rotated); i >= 3; i-- { // as in the middle of a rotation
		if err := os.Rename(fmt.Sprintf("%s.%d", file, i), fmt.Sprintf("%s.%d", file, i+1)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, query(t, file, audit.Query{}).tools); diff != "" {
		t.Errorf("in the middle of a rotation: %s", diff)
	}
	if err := os.Rename(file, file+".removed"); err != nil { // as at the end of a rotation
		t.Fatal(err)
	}
	if got := query(t, file, audit.Query{}).tools; len(got) == 0 || got[0] != want[0] {
		t.Errorf("without the newest file: %q", got)
	}
}

func TestQuerySelects(t *testing.T) {
	file := newFile(t)
	putLines(t, file,
		`{"time":"2026-01-01T10:00:00Z","kind":"call","plugin":"a","tool":"a_get","outcome":"ok","principal":"token:7","client":"editor/1"}`,
		`{"time":"2026-01-01T11:00:00Z","kind":"refused","plugin":"a","tool":"a_put","outcome":"denied","code":"not_granted"}`,
		`{"time":"2026-01-01T12:00:00Z","kind":"gap","lost":3,"since":"2026-01-01T11:30:00Z","cause":"disk"}`,
		`{"time":"2026-01-01T13:00:00Z","kind":"call","plugin":"b","tool":"b_get","outcome":"failed","code":"timeout","a_later_field":[1]}`,
	)
	at := func(hour int) time.Time { return time.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC) }
	if f := query(t, file, audit.Query{Since: time.Now().Add(time.Hour)}); len(f.damaged) > 0 {
		t.Errorf("intact lines are reported as damaged: %q", f.damaged)
	}
	for name, c := range map[string]struct {
		query audit.Query
		want  string
	}{
		"all":                {audit.Query{}, "a_get a_put gap b_get"},
		"a plugin":           {audit.Query{Plugins: []string{"a"}}, "a_get a_put gap"},
		"two tools":          {audit.Query{Tools: []string{"a_put", "b_get"}}, "a_put gap b_get"},
		"a principal":        {audit.Query{Clients: []string{"token:7"}}, "a_get gap"},
		"principals":         {audit.Query{Clients: []string{"token:*", "x"}}, "a_get gap"},
		"a client":           {audit.Query{Clients: []string{"editor/*"}}, "a_get gap"},
		"no such client":     {audit.Query{Clients: []string{"token", "editor"}}, "gap"},
		"a prefix":           {audit.Query{Tools: []string{"a_*"}}, "a_get a_put gap"},
		"no wildcard":        {audit.Query{Tools: []string{"a_"}}, "gap"},
		"outcomes":           {audit.Query{Outcomes: []audit.Outcome{audit.Denied, audit.Failed}}, "a_put gap b_get"},
		"since":              {audit.Query{Since: at(11)}, "a_put gap b_get"},
		"since after a gap":  {audit.Query{Since: at(13)}, "b_get"},
		"the newest":         {audit.Query{Limit: 1}, "b_get"},
		"the newest of one":  {audit.Query{Limit: 1, Outcomes: []audit.Outcome{audit.OK}}, "gap"},
		"more than exist":    {audit.Query{Limit: 9}, "a_get a_put gap b_get"},
		"a file of the past": {audit.Query{Since: time.Now().Add(time.Hour)}, ""},
	} {
		if got := strings.Join(query(t, file, c.query).tools, " "); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestReadReportsAndSkipsDamagedLines(t *testing.T) {
	file := newFile(t)
	good := `{"time":"2026-01-01T10:00:00Z","kind":"call","tool":"good"}`
	putLines(t, file+".1", good, `{"time":"2026-01-01T10:00:00Z","ki`, good)
	long := `{"time":"2026-01-01T10:00:00Z","kind":"call","tool":"` + strings.Repeat("x", 3*audit.MaxLine) + `"}`
	putLines(t, file, long, "", `{"kind":"call"}`, `[]`, "\x00\x00\x00", good+"\n"+good[:20])
	f := query(t, file, audit.Query{})
	if diff := cmp.Diff([]string{"good", "good", "good"}, f.tools); diff != "" {
		t.Error(diff)
	}
	want := []string{"audit.jsonl.1:2: the line is not a record", "audit.jsonl:1: the line has more than 65536 bytes", "audit.jsonl:2: the line is empty",
		"audit.jsonl:3: the line is not a record: time or kind is missing", "audit.jsonl:4: the line is not a record", "audit.jsonl:5: the line is not a record"}
	for i, text := range want {
		if i >= len(f.damaged) || !strings.HasPrefix(f.damaged[i], text) {
			t.Fatalf("got %q, want %q", f.damaged, want)
		}
	}
	// The incomplete last line ends in a line feed, as if the next writer had terminated it.
	if last := f.damaged[len(f.damaged)-1]; len(f.damaged) != 7 || !strings.HasPrefix(last, "audit.jsonl:7: ") {
		t.Errorf("the last damaged line is %q", f.damaged)
	}
	if err := os.WriteFile(file, []byte(good+"\n"+good), 0o600); err != nil {
		t.Fatal(err)
	}
	if f := query(t, file, audit.Query{}); f.damaged[len(f.damaged)-1] != "audit.jsonl:2: the line is incomplete" {
		t.Errorf("the damaged lines are %q, want the incomplete one last", f.damaged)
	}
}

func TestReadOfAbsentOrUnsafeLog(t *testing.T) {
	file := newFile(t)
	var f found
	if err := audit.Read(file, audit.Query{}, f.yield, f.damage); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an absent log: %v", err)
	}
	if err := os.Symlink("/etc/passwd", file); err != nil {
		t.Fatal(err)
	}
	if err := audit.Read(file, audit.Query{}, f.yield, f.damage); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("a symbolic link: %v", err)
	}
	if len(f.tools)+len(f.damaged) > 0 {
		t.Errorf("an absent or unsafe log yields %+v", f)
	}
}

func TestReadStopsAtErrorOfYield(t *testing.T) {
	file := newFile(t)
	putLines(t, file, `{"time":"2026-01-01T10:00:00Z","kind":"call"}`)
	stop := errors.New("stop")
	if err := audit.Read(file, audit.Query{}, func(audit.Entry) error { return stop }, nil); err != stop {
		t.Errorf("got %v", err)
	}
}

// following runs Follow and returns a function that waits for the next entry or damage.
func following(t *testing.T, file string, q audit.Query) (next func() string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	events, ended := make(chan string), make(chan error, 1)
	send := func(text string) {
		select {
		case events <- text:
		case <-ctx.Done():
		}
	}
	go func() {
		ended <- audit.Follow(ctx, file, q, func(e audit.Entry) error { send(strings.TrimRight(e.Tool, "x")); return nil }, func(d audit.Damage) { send(d.What) })
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return func() string {
		select {
		case text := <-events:
			return text
		case <-time.After(30 * time.Second):
			t.Fatal("Follow reports no entry or damage")
			return ""
		}
	}
}

func TestFollowContinuesOverRotations(t *testing.T) {
	file := newFile(t)
	next := following(t, file, audit.Query{Tools: []string{"n*"}}) // the log does not exist yet
	l := open(t, audit.Config{File: file, MaxSize: audit.MinMaxSize, Keep: 20, OnFailure: audit.FailClosed})
	for round := range 3 {
		for i := range 100 { // several rotations between two reads
			write(t, l, fmt.Sprintf("n%d-%03d-%s", round, i, filler), "other")
		}
		for i := range 100 {
			if got, want := next(), fmt.Sprintf("n%d-%03d-", round, i); got != want {
				t.Fatalf("got %q, want %q", got, want)
			}
		}
	}
}

func TestFollowReadsIncompleteLineOnceComplete(t *testing.T) {
	file := newFile(t)
	line := `{"time":"2026-01-01T10:00:00Z","kind":"call","tool":"%s"}` + "\n"
	put := func(flag int, text string) {
		f, err := os.OpenFile(file, flag|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.WriteString(text)
		}
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	put(os.O_CREATE, fmt.Sprintf(line, "first")+line[:30])
	next := following(t, file, audit.Query{Limit: 10})
	expect := func(want string) {
		t.Helper()
		if got := next(); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
	expect("first")
	put(os.O_APPEND, fmt.Sprintf(line, "second")[30:])
	expect("second")
	put(os.O_TRUNC, fmt.Sprintf(line, "third"))
	expect("the file was truncated: records may be missing")
	expect("third")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	put(os.O_CREATE, fmt.Sprintf(line, "fourth"))
	expect("the file replaces a file that was removed: records may be missing")
	expect("fourth")
}

func putLines(t *testing.T, file string, lines ...string) {
	t.Helper()
	writeFile(t, file, strings.Join(lines, "\n")+"\n", 0o600)
}
