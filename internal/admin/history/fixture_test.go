package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
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

// call appends the record of a call.
func (f *fixture) call(at time.Time, took time.Duration) *audit.Entry {
	f.Helper()
	e := audit.Entry{Time: at, ID: fmt.Sprint(at), Kind: audit.KindCall, Plugin: "notes", Tool: "add", Method: "tools/call", Principal: "local", Outcome: audit.OK, Duration: took.Microseconds()}
	line, err := json.Marshal(e)
	if err != nil {
		f.Fatal(err)
	}
	f.append(string(line) + "\n")
	f.written = append(f.written, e)
	return &e
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

func sum(all map[string]totals) int64 {
	n := int64(0)
	for _, s := range all {
		n += s.Calls
	}
	return n
}
