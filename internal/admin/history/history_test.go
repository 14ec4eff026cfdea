package history

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

func TestHistoryEqualsScanOfLog(t *testing.T) {
	f := newFixture(t)
	for i := range 12 {
		f.write(400, "")
		if i%3 == 2 {
			f.rotate(100)
		}
		f.check(fmt.Sprint("update ", i), f.written, time.Time{})
	}
	for _, since := range []time.Duration{time.Hour, 95 * time.Hour, 98*time.Hour + 20*time.Minute} {
		f.check(since.String(), f.written, now.Add(-since))
	}
	if err := f.open().Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.check("made again", f.written, time.Time{})
}

func TestSmallStepsCountTheSame(t *testing.T) {
	f := newFixture(t)
	f.write(2000, "{damaged")
	h := f.open()
	h.step = 8000
	steps := 0
	if err := h.Update(t.Context(), func(Progress) { steps++ }); err != nil {
		t.Fatal(err)
	}
	if steps < 40 {
		t.Errorf("only %d steps", steps)
	}
	f.check("small steps", f.written, time.Time{})
	if s := f.summary(Query{}); s.Damaged == 0 {
		t.Error("damaged lines are not counted")
	}
}

func TestUpdateForEndsAndGoesOn(t *testing.T) {
	f := newFixture(t)
	f.write(1000, "")
	h := f.open()
	h.step = 8000
	p, err := h.UpdateFor(t.Context(), 0)
	if err != nil || p.Read == 0 || p.Unread == 0 {
		t.Fatalf("got %+v, %v", p, err)
	}
	if p, err = h.UpdateFor(t.Context(), time.Hour); err != nil || p.Unread != 0 {
		t.Fatalf("got %+v, %v", p, err)
	}
	f.check("all", f.written, time.Time{})
}

func TestRotatedRecordsStayInHistory(t *testing.T) {
	f := newFixture(t)
	for range 10 {
		f.write(300, "")
		f.check("before the rotation", f.written, time.Time{})
		f.rotate(2)
	}
}

func TestAllKnownFilesAreRotatedOut(t *testing.T) {
	f := newFixture(t)
	f.write(300, "")
	f.check("first", f.written, time.Time{})
	if err := os.Remove(f.log); err != nil {
		t.Fatal(err)
	}
	f.write(300, "")
	// The first of the new records may be earlier than the last known one by some seconds: the hour is then counted again.
	s := f.summary(Query{})
	if want, _ := scan(f.written, time.Time{}); s.Total.Calls > sum(want) || s.Total.Calls < sum(want)*2/3 {
		t.Errorf("%d calls, want %d", s.Total.Calls, sum(want))
	}
}

// TestCallThatOutlastsRotationKeepsCounts has a call that began before the latest counted one, and ended after the rotation.
func TestCallThatOutlastsRotationKeepsCounts(t *testing.T) {
	f := newFixture(t)
	f.write(300, "")
	f.check("before", f.written, time.Time{})
	if err := os.Remove(f.log); err != nil {
		t.Fatal(err)
	}
	last := f.written[len(f.written)-1]
	e := f.call(last.Time.Add(-5*time.Second), 6*time.Minute)
	f.check("after", f.written, time.Time{})
	if uses, err := f.open().LastUses(t.Context(), audit.Query{}); err != nil || !uses.From.Equal(e.Written()) {
		t.Errorf("the last uses are complete from %s, %v; want %s", uses.From, err, e.Written())
	}
}

func TestRecordsThatMayHaveBeenRotatedOutAreSaid(t *testing.T) {
	f := newFixture(t)
	first := f.call(now.Add(-5*time.Hour), time.Second)
	if gaps := f.summary(Query{}).Gaps(); len(gaps) > 0 {
		t.Errorf("before a rotation: %q", gaps)
	}
	f.rotate(1)
	f.call(now.Add(-4*time.Hour), time.Second)
	if gaps := f.summary(Query{}).Gaps(); len(gaps) > 0 {
		t.Errorf("the rotated file is still there: %q", gaps)
	}
	f.rotate(1)
	f.call(now.Add(-3*time.Hour), time.Second)
	f.rotate(1)
	second := f.call(now.Add(-2*time.Hour), time.Second)
	s := f.summary(Query{})
	if want := []Span{{now.Add(-4 * time.Hour).Add(time.Second), now.Add(-3 * time.Hour).Add(time.Second)}}; !slices.Equal(s.Missed, want) || len(s.Gaps()) != 1 {
		t.Errorf("missed %v, want %v: %q", s.Missed, want, s.Gaps())
	}
	if s := f.summary(Query{Select: audit.Query{Since: second.Time}}); len(s.Missed) > 0 {
		t.Errorf("since %s: missed %v", second.Time, s.Missed)
	}
	uses, err := f.open().LastUses(t.Context(), audit.Query{})
	if err != nil || !uses.From.After(first.Time) {
		t.Errorf("the last uses are complete from %s, %v", uses.From, err)
	}
	st := state{}
	for i := range 3 * maxMissed {
		st.miss(Span{now.Add(time.Duration(2*i) * time.Hour), now.Add(time.Duration(2*i+1) * time.Hour)})
	}
	if len(st.Missed) != maxMissed || !st.Missed[0].From.Equal(now) {
		t.Errorf("%d spans, the first from %s", len(st.Missed), st.Missed[0].From)
	}
}

func TestChangedLogIsCountedAgain(t *testing.T) {
	for name, change := range map[string]func(lines []string) []string{
		"shortened":          func(lines []string) []string { return lines[:500] },
		"first line removed": func(lines []string) []string { return lines[1:] },
		"last line removed":  func(lines []string) []string { return lines[:len(lines)-1] },
		"line removed near the end": func(lines []string) []string {
			return slices.Delete(slices.Clone(lines), len(lines)-3, len(lines)-2)
		},
		"replaced by two records": func(lines []string) []string { return lines[10:12] },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.T = t
			f.write(1000, "")
			f.check("before", f.written, time.Time{})
			text, err := os.ReadFile(f.log)
			if err != nil {
				t.Fatal(err)
			}
			lines := change(slices.Collect(strings.Lines(string(text))))
			if err := os.WriteFile(f.log, []byte(strings.Join(lines, "")), 0o600); err != nil {
				t.Fatal(err)
			}
			var left []audit.Entry
			for _, line := range lines {
				var e audit.Entry
				if err := json.Unmarshal([]byte(line), &e); err != nil {
					t.Fatal(err)
				}
				left = append(left, e)
			}
			f.check("after", left, left[0].Time) // hours before the first record remain as they were
			f.written = left
			f.write(100, "")
			f.check("later", f.written, left[0].Time)
		})
	}
}

func TestIncompleteLineCountsOnceItIsComplete(t *testing.T) {
	f := newFixture(t)
	f.write(10, "")
	e := f.entry()
	e.Kind, e.Outcome = audit.KindCall, audit.OK
	line, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	f.append(string(line[:40]))
	f.check("incomplete", f.written, time.Time{})
	f.append(string(line[40:]) + "\n")
	f.written = append(f.written, e)
	f.check("complete", f.written, time.Time{})
}

func TestLastUses(t *testing.T) {
	f := newFixture(t)
	f.write(500, "")
	h := f.open()
	f.update(h)
	f.write(500, "")
	f.update(h)
	want := map[Key]time.Time{}
	for _, e := range f.written {
		if k, _ := keyOf(&e); e.Kind == audit.KindCall && e.Outcome != audit.Denied && e.Time.After(want[k]) {
			want[k] = e.Time
		}
	}
	uses, err := h.LastUses(t.Context(), audit.Query{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[Key]time.Time{}
	for _, u := range uses.Uses {
		if u.Kind != "" { // a grant
			continue
		}
		got[u.Key] = u.Last
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	first := slices.MinFunc(f.written, func(a, b audit.Entry) int { return a.Time.Compare(b.Time) }).Time
	for _, e := range f.written {
		if e.Kind == audit.KindGap && e.Time.After(first) { // of the records that were lost before
			first = e.Time
		}
	}
	if uses.From.Before(first) || uses.From.After(first.Add(time.Minute)) {
		t.Errorf("complete since %s, the log since %s", uses.From, first)
	}
}

func TestUpdateReadsOnlyNewLines(t *testing.T) {
	f := newFixture(t)
	f.write(5000, "")
	h := f.open()
	f.update(h)
	f.write(1, "")
	p, err := h.Step(t.Context())
	if err != nil || p.Read > 1000 || p.Read == 0 {
		t.Errorf("read %d bytes, %v", p.Read, err)
	}
	before, _ := os.Stat(filepath.Join(h.store.dir, stateFile))
	f.update(h)
	if after, _ := os.Stat(filepath.Join(h.store.dir, stateFile)); !os.SameFile(before, after) {
		t.Error("the state is written although nothing is new")
	}
}

func TestWithoutLog(t *testing.T) {
	f := newFixture(t)
	h := f.open()
	if p, err := h.Step(t.Context()); err != nil || !p.NoLog {
		t.Errorf("got %v, %v", p, err)
	}
	s, err := h.Summary(t.Context(), Query{})
	if err != nil || !s.Since.IsZero() || len(s.Series) == 0 {
		t.Errorf("got %v, %v", s, err)
	}
	if _, err := Open("", f.log); err == nil || !strings.Contains(err.Error(), "XDG_STATE_HOME") {
		t.Errorf("got %v", err)
	}
}

// TestLastUsesOfGrants has calls of two plugins by two clients, which use directories.
func TestLastUsesOfGrants(t *testing.T) {
	f := newFixture(t)
	record := func(hour int, rest string) {
		f.append(fmt.Sprintf(`{"time":%q,"kind":"call","id":"%d","method":"tools/call","tool":"t","outcome":"ok",%s}`+"\n", now.Add(time.Duration(hour-20)*time.Hour).Format(time.RFC3339Nano), hour, rest))
	}
	at := func(hour int) time.Time { return now.Add(time.Duration(hour-20) * time.Hour) }
	record(1, `"plugin":"p","client":"a"`)
	record(2, `"plugin":"p","client":"a","grants":[{"kind":"directory","path":"/d","access":"rw"}]`)
	record(3, `"plugin":"p","client":"b","grants":[{"kind":"directory","path":"/d","access":"r"},{"kind":"repository","path":"/d","access":"r"}]`)
	record(4, `"plugin":"q","client":"b","grants":[{"kind":"repository","path":"/r","access":"w"}],"grants_left_out":1`)
	record(5, `"plugin":"s","client":"b","code":"worker_lost"`)
	h := f.open()
	f.update(h)
	last, err := h.LastUses(t.Context(), audit.Query{})
	if err != nil || !last.From.Equal(at(1)) || !last.GrantsFrom.Equal(at(2)) {
		t.Errorf("complete since %s and %s, %v", last.From, last.GrantsFrom, err)
	}
	used, unknown := LastGrantUses(last.Uses)
	want := map[Grant]GrantUse{
		{"p", "directory", "/d"}: {at(3), at(2)}, {"p", "repository", "/d"}: {at(3), time.Time{}}, {"q", "repository", "/r"}: {at(4), at(4)},
	}
	if diff := cmp.Diff(want, used); diff != "" {
		t.Errorf("(want -, got +)\n%s", diff)
	}
	if diff := cmp.Diff(map[string]time.Time{"q": at(4), "s": at(5)}, unknown); diff != "" {
		t.Errorf("unknown: (want -, got +)\n%s", diff)
	}
	if got := LastCalls(last.Uses)[Tool{"p", "t"}]; !got.Equal(at(3)) {
		t.Errorf("the tool was used at %s", got)
	}
	if last, err := f.open().LastUses(t.Context(), audit.Query{Clients: []string{"b"}}); err != nil || len(last.Uses) != 3 {
		t.Errorf("of one client: %+v, %v", last.Uses, err)
	}
}
