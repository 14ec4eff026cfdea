package history

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

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
	for _, row := range s.Clients {
		if row.Plugin != Other && row.Calls > 1 {
			t.Errorf("%s has %d calls, of which those of other clients are some", row.Caller(), row.Calls)
		}
	}
	for _, row := range s.Tools {
		if len(row.Tool) > maxText {
			t.Errorf("a name has %d bytes", len(row.Tool))
		}
	}
}

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
		if diff := cmp.Diff(whole.summary(Query{}), parts.summary(Query{}), cmp.AllowUnexported(Row{})); diff != "" {
			t.Error(diff)
		}
	})
}

// TestMethodsOfRefusedRequestsAreBounded has requests without a token, each with another method of HTTP, and calls of one tool after them.
func TestMethodsOfRefusedRequestsAreBounded(t *testing.T) {
	f := newFixture(t)
	var text strings.Builder
	at := now.Add(-time.Hour).Format(time.RFC3339Nano)
	for i := range 2 * maxKeys {
		fmt.Fprintf(&text, `{"time":%q,"kind":"refused","id":"%d","method":"M%d","outcome":"denied","code":"http_token","reason":"the bearer token is missing"}`+"\n", at, i, i)
	}
	fmt.Fprintf(&text, `{"time":%q,"kind":"refused","id":"x","method":"DELETE","outcome":"denied","code":"http_token","reason":"the bearer token is missing"}`+"\n", at)
	fmt.Fprintf(&text, `{"time":%q,"kind":"call","id":"y","plugin":"p","method":"tools/call","tool":"t","outcome":"ok"}`+"\n", at)
	f.append(text.String())
	var got []string
	s := f.summary(Query{})
	for _, row := range s.Tools {
		got = append(got, row.Called())
	}
	slices.Sort(got)
	if want := []string{"(other)", "DELETE", "t"}; !slices.Equal(got, want) || s.Total.Refusals() != 2*maxKeys+1 {
		t.Errorf("got %q with %d refusals, want %q", got, s.Total.Refusals(), want)
	}
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
	last, err := h.LastUses(t.Context(), audit.Query{})
	uses, from := last.Uses, last.From
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

// TestCopyOfLogIsNotCounted has a copy of the log with the name of a rotated file, and more records in the log.
func TestCopyOfLogIsNotCounted(t *testing.T) {
	f := newFixture(t)
	f.write(200, "")
	text, err := os.ReadFile(f.log)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.log+".1", text, 0o600); err != nil {
		t.Fatal(err)
	}
	f.write(200, "")
	h := f.open()
	h.step = 8000
	for range 1000 {
		p, err := h.Step(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if p.Unread == 0 {
			f.check("with a copy", f.written, time.Time{})
			return
		}
	}
	t.Error("the update does not end")
}

// TestLogWithoutRecordsIsCountedInSteps has lines that are no records, and then one without a line feed.
func TestLogWithoutRecordsIsCountedInSteps(t *testing.T) {
	f := newFixture(t)
	f.append(strings.Repeat("no record\n", 50_000) + strings.Repeat("\x00", 500_000))
	h := f.open()
	h.step = 100_000
	ctx, stop := context.WithCancelCause(t.Context())
	steps, stopped := 0, errors.New("stopped")
	err := h.Update(ctx, func(p Progress) {
		if p.Read > h.step+audit.MaxLine {
			t.Errorf("a step has read %d bytes", p.Read)
		}
		if steps++; steps == 2 {
			stop(stopped)
		}
	})
	if err != stopped || steps != 2 { // not an error of the lock, which no other process has
		t.Fatalf("ended after %d steps with %v", steps, err)
	}
	f.update(h)
	if p, err := h.Step(t.Context()); err != nil || p.Read != 0 || p.Unread != 0 {
		t.Errorf("then read %+v, %v", p, err)
	}
	f.append("\n")
	f.write(3, "")
	if s := f.summary(Query{}); s.Total.Calls == 0 || s.Damaged != 50_001 {
		t.Errorf("%d calls, %d damaged lines", s.Total.Calls, s.Damaged)
	}
}
