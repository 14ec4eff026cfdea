package history

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

// now is the time of all tests.
var now = time.Date(2026, 11, 23, 12, 30, 0, 0, time.UTC)

// fixture is a log with its history.
type fixture struct {
	*testing.T
	log     string
	state   string
	written []audit.Entry // every record that was written, in order
	random  *rand.Rand
	next    int
}

func newFixture(t *testing.T) *fixture {
	dir := t.TempDir()
	return &fixture{T: t, log: filepath.Join(dir, "audit.jsonl"), state: filepath.Join(dir, "state"), random: rand.New(rand.NewPCG(1, 2))}
}

func (f *fixture) open() *History {
	f.Helper()
	h, err := Open(f.state, f.log)
	if err != nil {
		f.Fatal(err)
	}
	h.now = func() time.Time { return now }
	return h
}

func (f *fixture) update(h *History) {
	f.Helper()
	if err := h.Update(f.Context(), nil); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) summary(q Query) *Summary {
	f.Helper()
	h := f.open()
	f.update(h)
	s, err := h.Summary(f.Context(), q)
	if err != nil {
		f.Fatal(err)
	}
	return s
}

// entry returns a random record of some days.
func (f *fixture) entry() audit.Entry {
	r := f.random
	f.next++
	pick := func(all ...string) string { return all[r.IntN(len(all))] }
	e := audit.Entry{
		Time: now.Add(-100*time.Hour + time.Duration(f.next)*7*time.Second + time.Duration(r.IntN(20))*time.Second).Truncate(time.Microsecond),
		ID:   fmt.Sprintf("run-%d", f.next), Kind: audit.KindCall, Plugin: pick("notes", "git", "fetch"), Tool: pick("add", "list", "a\x1b[2J\u202e"),
		Method: "tools/call", Principal: pick("local", "token:a", "oauth:b", ""), Client: pick("x 1", "y 2"), Outcome: audit.Outcomes[r.IntN(len(audit.Outcomes))],
		Duration: int64(r.ExpFloat64() * 5000), Fuel: uint64(r.IntN(1000)), BytesIn: int64(r.IntN(500)), BytesOut: int64(r.IntN(5000)),
	}
	switch r.IntN(12) {
	case 0:
		e.Kind, e.Outcome, e.Code, e.Duration = audit.KindRefused, audit.Denied, pick("not_granted", "unknown"), 0
	case 1:
		e.Kind, e.Outcome, e.Duration, e.Code = audit.KindRefused, audit.Denied, 0, "denied"
		e.Operations = []audit.Operation{{Op: "fs/read", Target: "/etc/passwd", Outcome: audit.Denied, Code: "denied", Count: 1}}
	case 2:
		e.Kind = audit.KindServer
	case 3:
		e = audit.Entry{Time: e.Time, Kind: audit.KindGap, Lost: int64(1 + r.IntN(5)), Since: e.Time, Cause: "full"}
	}
	if e.Outcome == audit.Failed {
		e.Code = pick("timeout", "memory")
	}
	return e
}

// write appends records, and the line junk between them now and then.
func (f *fixture) write(n int, junk string) {
	f.Helper()
	var text bytes.Buffer
	for range n {
		e := f.entry()
		f.written = append(f.written, e)
		line, err := json.Marshal(e)
		if err != nil {
			f.Fatal(err)
		}
		text.Write(append(line, '\n'))
		if junk != "" && f.random.IntN(10) == 0 {
			text.WriteString(junk + "\n")
		}
	}
	f.append(text.String())
}

func (f *fixture) append(text string) {
	f.Helper()
	file, err := os.OpenFile(f.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		f.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString(text); err != nil {
		f.Fatal(err)
	}
}

// rotate renames the files of the log, of which keep rotated ones remain.
func (f *fixture) rotate(keep int) {
	f.Helper()
	for i := keep - 1; i >= 0; i-- {
		from := f.log
		if i > 0 {
			from = fmt.Sprintf("%s.%d", f.log, i)
		}
		if err := os.Rename(from, fmt.Sprintf("%s.%d", f.log, i+1)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			f.Fatal(err)
		}
	}
}

// totals are what a scan of all records finds for one key.
type totals struct {
	Calls, Errors, Refused, BytesIn, BytesOut int64
	Fuel                                      uint64
	P50, P99                                  time.Duration
}

// scan counts records without the code under test, by plugin and tool, in the hours from a time.
func scan(all []audit.Entry, from time.Time) (map[string]totals, int64) {
	sums, durations, lost := map[string]totals{}, map[string][]int64{}, int64(0)
	for _, e := range all {
		if e.Time.Before(from.Truncate(time.Hour)) {
			continue
		}
		name := e.Plugin + "/" + e.Tool
		s := sums[name]
		switch e.Kind {
		case audit.KindGap:
			lost += e.Lost
			continue
		case audit.KindServer:
			continue
		case audit.KindRefused:
			s.Refused++
		case audit.KindCall:
			s.Calls++
			s.BytesIn, s.BytesOut, s.Fuel = s.BytesIn+e.BytesIn, s.BytesOut+e.BytesOut, s.Fuel+e.Fuel
			switch e.Outcome {
			case audit.Failed, audit.ToolError, audit.RPCError:
				s.Errors++
			case audit.Denied:
				s.Refused++
			}
			if e.Outcome != audit.Denied && e.Outcome != audit.Asked {
				durations[name] = append(durations[name], e.Duration)
			}
		}
		sums[name] = s
	}
	for name, all := range durations {
		slices.Sort(all)
		s := sums[name]
		s.P50, s.P99 = exact(all, 0.5), exact(all, 0.99)
		sums[name] = s
	}
	return sums, lost
}

func exact(sorted []int64, p float64) time.Duration {
	return time.Duration(sorted[min(int(p*float64(len(sorted))), len(sorted)-1)]) * time.Microsecond
}

// check compares the history with a scan of records.
func (f *fixture) check(what string, written []audit.Entry, from time.Time) {
	f.Helper()
	s := f.summary(Query{Select: audit.Query{Since: from}})
	want, lost := scan(written, from)
	got := map[string]totals{}
	for _, row := range s.Tools {
		got[row.Plugin+"/"+row.Tool] = totals{row.Calls, row.Errors(), row.Refusals(), row.BytesIn, row.BytesOut, row.Fuel, row.Durations.Percentile(0.5), row.Durations.Percentile(0.99)}
	}
	near := cmp.Comparer(func(a, b time.Duration) bool { return (a - b).Abs() <= max(a, b)/30+time.Microsecond })
	if diff := cmp.Diff(want, got, near); diff != "" {
		f.Errorf("%s: the history differs from the log: %s", what, diff)
	}
	if s.Lost != lost {
		f.Errorf("%s: %d records are lost, want %d", what, s.Lost, lost)
	}
	calls := int64(0)
	for _, step := range s.Series {
		calls += step.Calls
	}
	if calls != s.Total.Calls {
		f.Errorf("%s: the steps have %d calls, all %d", what, calls, s.Total.Calls)
	}
}

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

func sum(all map[string]totals) int64 {
	n := int64(0)
	for _, s := range all {
		n += s.Calls
	}
	return n
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

// TestKillAtEachStep ends an update before each write.
func TestKillAtEachStep(t *testing.T) {
	f := newFixture(t)
	killed := errors.New("killed")
	for round := range 5 {
		f.write(300, "")
		for kill := 0; ; kill++ {
			h, steps := f.open(), 0
			h.step = 40_000
			h.store.step = func(string) error {
				if steps++; steps > kill {
					return killed
				}
				return nil
			}
			err := h.Update(t.Context(), nil)
			if err == nil {
				break
			}
			if !errors.Is(err, killed) || kill > 200 {
				t.Fatal(err)
			}
		}
		f.check(fmt.Sprint("round ", round), f.written, time.Time{})
	}
}

func TestDamagedPartIsCountedAgain(t *testing.T) {
	for _, damage := range []func(string) error{
		os.Remove,
		func(path string) error { return os.Truncate(path, 10) },
		func(path string) error { return os.WriteFile(path, []byte("{}"), 0o600) },
	} {
		f := newFixture(t)
		f.write(2000, "")
		h := f.open()
		f.update(h)
		parts, err := filepath.Glob(filepath.Join(h.store.dir, "*.*.json"))
		if err != nil || len(parts) < 2 {
			t.Fatalf("%q, %v", parts, err)
		}
		for _, path := range append(parts, filepath.Join(h.store.dir, stateFile)) {
			if _, err := os.Lstat(path); err != nil {
				continue // a repair has replaced it
			}
			if err := damage(path); err != nil {
				t.Fatal(err)
			}
			f.check(filepath.Base(path), f.written, time.Time{})
			if uses, _, err := f.open().LastUses(t.Context(), audit.Query{}); err != nil || len(uses) < 10 {
				t.Fatalf("%s: %d uses, %v", filepath.Base(path), len(uses), err)
			}
		}
	}
}

func TestTwoProcessesCountOnce(t *testing.T) {
	f := newFixture(t)
	f.write(3000, "")
	done := make(chan error)
	for range 4 {
		h := f.open()
		h.step = 20_000
		go func() { done <- h.Update(context.Background(), nil) }()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	f.check("together", f.written, time.Time{})
}

func TestClockJumpsDoNotGrowHistory(t *testing.T) {
	f := newFixture(t)
	for i, at := range []time.Time{now.AddDate(30, 0, 0), now.AddDate(-3, 0, 0), {}, now.Add(-time.Hour), now.Add(-50 * time.Hour)} {
		f.append(fmt.Sprintf(`{"time":%q,"kind":"call","id":"%d","plugin":"p","tool":"t","outcome":"ok"}`+"\n", at.Format(time.RFC3339Nano), i))
	}
	s := f.summary(Query{})
	if s.Total.Calls != 2 || s.Outside != 2 || s.Damaged != 1 {
		t.Errorf("got %d calls, %d outside, %d damaged", s.Total.Calls, s.Outside, s.Damaged)
	}
}

func TestNamesOfClientsAreBounded(t *testing.T) {
	f := newFixture(t)
	var text strings.Builder
	const calls = 5000
	for i := range calls {
		fmt.Fprintf(&text, `{"time":%q,"kind":"call","id":"%d","plugin":"p","tool":"t%d%s","client":"c%d","outcome":"o%d","code":"c%d"}`+"\n",
			now.Add(-time.Hour).Format(time.RFC3339Nano), i, i, strings.Repeat("\u202e", 600), i, i, i)
		fmt.Fprintf(&text, `{"time":%q,"kind":"refused","id":"%d","tool":"guess%d","principal":"token:x","outcome":"denied","code":"unknown"}`+"\n",
			now.Add(-time.Hour).Format(time.RFC3339Nano), i, i)
	}
	f.append(text.String())
	s := f.summary(Query{})
	if s.Total.Calls != calls || s.Total.Refusals() != calls {
		t.Errorf("%d calls, %d refusals", s.Total.Calls, s.Total.Refusals())
	}
	if len(s.Tools) > maxKeys+2 || len(s.Clients) > maxKeys+2 || len(s.Total.Outcomes) > 1 {
		t.Errorf("%d tools, %d clients, %d outcomes", len(s.Tools), len(s.Clients), len(s.Total.Outcomes))
	}
	for _, row := range s.Tools {
		if len(row.Tool) > maxText {
			t.Errorf("a name has %d bytes", len(row.Tool))
		}
	}
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
	uses, from, err := h.LastUses(t.Context(), audit.Query{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[Key]time.Time{}
	for _, u := range uses {
		got[u.Key] = u.Last
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	first := slices.MinFunc(f.written, func(a, b audit.Entry) int { return a.Time.Compare(b.Time) }).Time
	if from.Before(first) || from.After(first.Add(time.Minute)) {
		t.Errorf("complete since %s, the log since %s", from, first)
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

func TestDurations(t *testing.T) {
	for _, µs := range []int64{0, 1, 15, 16, 17, 31, 32, 33, 1000, 123_456, 1 << 40, 1<<63 - 1} {
		b := bucketOf(µs)
		if got := int64(middle(b) / time.Microsecond); µs < 1<<40 && abs(got-µs)*32 > µs+32 {
			t.Errorf("%d µs is in the bucket of %d", µs, got)
		}
		if b < 0 || b > maxBucket || middle(b) < 0 {
			t.Errorf("%d µs is in the bucket %d", µs, b)
		}
	}
	for text, want := range map[string]Durations{`[]`: {}, `[3,4,959,1]`: {3: 4, 959: 1}, `[1]`: nil, `[-1,2]`: nil, `[960,1]`: nil, `[1,0]`: nil, `{}`: nil} {
		var d Durations
		if err := json.Unmarshal([]byte(text), &d); (err == nil) != (want != nil) || want != nil && !maps.Equal(d, want) {
			t.Errorf("%s: %v, %v", text, d, err)
		}
	}
}

func abs(n int64) int64 { return max(n, -n) }

// FuzzUpdate checks that a log with any lines is counted, and counted the same in two updates as in one.
func FuzzUpdate(f *testing.F) {
	f.Add([]byte(`{"time":"2026-11-23T10:00:00Z","kind":"call","plugin":"p","duration_us":-5,"bytes_in":-1,"outcome":"x"}`+"\n"), []byte("\x00\n{}\n"))
	f.Add([]byte(`{"time":"2026-11-23T10:00:00Z","kind":"gap","lost":-9}`+"\n"+`{"time":"2026-11-23T10:00:00Z","kind":"refused","further":-7,"operations":[{"op":"x"}]}`), []byte("\n"))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		parts, whole := newFixture(t), newFixture(t)
		parts.append(string(first))
		parts.summary(Query{})
		parts.append(string(second))
		whole.append(string(first) + string(second))
		if diff := cmp.Diff(whole.summary(Query{}), parts.summary(Query{})); diff != "" {
			t.Error(diff)
		}
	})
}

func TestLastUsesAreBoundedAndSaySinceWhen(t *testing.T) {
	f := newFixture(t)
	var text strings.Builder
	begin := now.Add(-20 * time.Hour)
	const calls = maxUses + 10
	for i := range calls {
		fmt.Fprintf(&text, `{"time":%q,"kind":"call","id":"%d","plugin":"p","tool":"t","client":"c%d","outcome":"ok"}`+"\n", begin.Add(time.Duration(i)*time.Second).Format(time.RFC3339Nano), i, i)
	}
	f.append(text.String())
	h := f.open()
	f.update(h)
	uses, from, err := h.LastUses(t.Context(), audit.Query{})
	if err != nil || len(uses) > maxUses || len(uses) < maxUses/2 {
		t.Fatalf("%d uses, %v", len(uses), err)
	}
	if first := uses[0].Last; from.Before(begin.Add(time.Second)) || !from.Before(first) {
		t.Errorf("complete since %s, the first use is at %s", from, first)
	}
	if last := uses[len(uses)-1]; last.Client != fmt.Sprint("c", calls-1) {
		t.Errorf("the last use is %v", last)
	}
}
