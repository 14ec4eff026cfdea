package live

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

// stateOf returns a State with a worker and a config.
func stateOf() *State {
	return New("stdio", func(s *Snapshot) {
		s.Config, s.Workers, s.Memory = "/c.toml", []Worker{{Plugin: "a", Count: 1}}, Memory{Budget: 2, Credit: 1}
	})
}

func TestSnapshotHasCallsUntilTheyEnd(t *testing.T) {
	s, times := stateOf(), &call.Times{}
	c := s.Begin(&audit.Record{ID: "1", Plugin: "a", Method: "tools/call", Tool: "a_read", Principal: "local", Time: time.Now()}, times)
	for phase, want := range []string{"checked", "queued", "starting", "running"} {
		times.Reach(int32(phase))
		if got := s.Snapshot(); len(got.Calls) != 1 || got.Calls[0].Phase != want || got.Calls[0].Tool != "a_read" || got.Config != "/c.toml" || got.Memory.Budget != 2 || len(got.Workers) != 1 {
			t.Errorf("phase %d: %+v, want %s", phase, got, want)
		}
	}
	s.End(c)
	if got := s.Snapshot(); len(got.Calls) != 0 {
		t.Errorf("after its end: %+v", got.Calls)
	}
}

func TestRecordsAreSortedByWhatTheyAreAbout(t *testing.T) {
	s := stateOf()
	for i, r := range []audit.Record{
		{Kind: audit.KindCall, Outcome: audit.OK},
		{Kind: audit.KindCall, Outcome: audit.Failed, Code: "timeout"},
		{Kind: audit.KindCall, Outcome: audit.Failed, Code: "trap"},
		{Kind: audit.KindCall, Outcome: audit.Denied, Code: "approval_declined"},
		{Kind: audit.KindCall, Outcome: audit.Asked, Code: "approve"},
		{Kind: audit.KindRefused, Outcome: audit.Denied, Code: "denied", Project: "docs", Operations: []audit.Operation{{Op: "file/open", Target: "/etc/passwd"}}},
		{Kind: audit.KindRefused, Outcome: audit.Denied, Code: "http_token", Reason: "no token"},
		{Kind: audit.KindPolicy}, {Kind: audit.KindServer}, {Kind: audit.KindTask},
	} {
		r.ID = fmt.Sprint(i)
		s.Record(&r)
	}
	ids := func(events []Event) (all string) {
		for _, e := range events {
			all += e.ID
		}
		return all
	}
	got := s.Snapshot()
	for name, c := range map[string][2]string{
		"ended": {ids(got.Ended), "43210"}, "refused": {ids(got.Refused), "653"}, "limits": {ids(got.Limits), "1"}, "asked": {ids(got.Asked), "4"},
	} {
		if c[0] != c[1] {
			t.Errorf("%s: got %s, want %s", name, c[0], c[1])
		}
	}
	if e := got.Refused[1]; e.Op != "file/open" || e.Target != "/etc/passwd" || e.Project != "docs" || e.Time.IsZero() {
		t.Errorf("%+v", e)
	}
}

// TestSnapshotIsBounded has more calls and events than a Snapshot has room for, with names as long as a client likes.
func TestSnapshotIsBounded(t *testing.T) {
	s, long := stateOf(), strings.Repeat("\x01<", 1<<16)
	for i := range 3 * maxCalls {
		r := audit.Record{
			Kind: audit.KindCall, Outcome: audit.Failed, Code: "timeout", ID: fmt.Sprint(i), Plugin: long, Method: long, Tool: long, Principal: long, Client: long, Project: long, Reason: long,
			Time: time.Unix(int64(i), 0), Arguments: []byte("secret of the arguments"),
		}
		s.Begin(&r, &call.Times{})
		s.Record(&r)
		r.Kind, r.Operations = audit.KindRefused, []audit.Operation{{Op: long, Target: long}}
		s.Record(&r)
		r.Kind, r.Outcome = audit.KindCall, audit.Asked
		s.Record(&r)
	}
	got := s.Snapshot()
	if len(got.Calls) != maxCalls || got.MoreCalls != 2*maxCalls || got.Calls[0].ID != "0" {
		t.Errorf("%d calls, and %d more", len(got.Calls), got.MoreCalls)
	}
	for _, list := range [][]Event{got.Ended, got.Refused, got.Limits, got.Asked} {
		if len(list) != maxEvents || list[0].ID != fmt.Sprint(3*maxCalls-1) || !slices.IsSortedFunc(list, func(a, b Event) int { return b.Time.Compare(a.Time) }) {
			t.Errorf("%d events, the first %q", len(list), list[0].ID)
		}
	}
	line, err := json.Marshal(got)
	if err != nil || len(line) >= maxSnapshot || strings.Contains(string(line), "secret") {
		t.Errorf("%d bytes, %v", len(line), err)
	}
}
