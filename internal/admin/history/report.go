package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/chart"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

// Figures are the numbers of Stats that people read.
type Figures struct {
	Calls    int64                   `json:"calls"`
	Errors   int64                   `json:"errors"`
	Refused  int64                   `json:"refused"` // calls, requests and operations
	Outcomes map[audit.Outcome]int64 `json:"outcomes,omitempty"`
	Codes    map[string]int64        `json:"codes,omitempty"` // of calls that failed
	P50      int64                   `json:"p50_us"`
	P95      int64                   `json:"p95_us"`
	P99      int64                   `json:"p99_us"`
	Longest  int64                   `json:"longest_us"`
	Fuel     uint64                  `json:"fuel"`
	BytesIn  int64                   `json:"bytes_in"`
	BytesOut int64                   `json:"bytes_out"`
	Tokens   int64                   `json:"tokens"` // estimate
}

// Figures returns the numbers of s.
func (s *Stats) Figures() Figures {
	// The middle of the bucket of the longest call can be longer than the call.
	percentile := func(p float64) int64 { return min(s.Durations.Percentile(p).Microseconds(), s.Longest) }
	return Figures{
		Calls: s.Calls, Errors: s.Errors(), Refused: s.Refusals(), Outcomes: s.Outcomes, Codes: s.Codes,
		P50: percentile(0.5), P95: percentile(0.95), P99: percentile(0.99), Longest: s.Longest,
		Fuel: s.Fuel, BytesIn: s.BytesIn, BytesOut: s.BytesOut, Tokens: s.Tokens(),
	}
}

// Gaps says what of the log is missing in the numbers.
func (s *Summary) Gaps() (all []string) {
	for _, gap := range []struct {
		n         int64
		one, many string
	}{
		{s.Lost, "record could not be written, and is missing", "records could not be written, and are missing"},
		{s.Damaged, "line of the log is no record, and is not counted", "lines of the log are no records, and are not counted"},
		{s.Outside, "record in the future or older than 400 days is not counted", "records in the future or older than 400 days are not counted"},
	} {
		if gap.n > 0 {
			all = append(all, chart.Counted(gap.n, gap.one, gap.many))
		}
	}
	if n := len(s.Missed); n > 0 {
		latest, others := s.Missed[n-1], ""
		if n > 1 {
			others = fmt.Sprintf(", and in %s before", chart.Counted(int64(n-1), "time", "times"))
		}
		all = append(all, fmt.Sprintf("records between %s and %s%s may have been rotated out of the log before they were counted",
			latest.From.Local().Format(time.DateTime), latest.To.Local().Format(time.DateTime), others))
	}
	return all
}

// fewCalls is the number of calls below which a percentile says more about one call than about the tool.
const fewCalls = 5

// Slowest returns the tools by their 95th percentile, the slowest first; those with fewer than fewCalls that have a duration come last.
func (s *Summary) Slowest() []Row {
	type timed struct {
		Row
		few int // 1: there are few calls
		p95 time.Duration
	}
	var all []timed
	for _, row := range s.Tools {
		calls := row.Durations.Calls()
		if calls == 0 {
			continue
		}
		t := timed{Row: row, p95: row.Durations.Percentile(0.95)}
		if calls < fewCalls {
			t.few = 1
		}
		all = append(all, t)
	}
	slices.SortStableFunc(all, func(a, b timed) int { return cmp.Or(a.few-b.few, cmp.Compare(b.p95, a.p95)) })
	rows := make([]Row, len(all))
	for i, t := range all {
		rows[i] = t.Row
	}
	return rows
}

// Refused is a Refusal of a tool, or of what no plugin has.
type Refused struct {
	Key
	Refusal
	Clients int `json:"clients,omitempty"` // that were refused it; 0: not known
}

// Refused returns what was refused, the most frequent first, and of these the latest.
func (s *Summary) Refused() []Refused {
	var all []Refused
	for _, row := range s.Tools {
		for i, r := range row.Stats.Refused {
			all = append(all, Refused{row.Key, r, len(row.callers[i])})
		}
	}
	slices.SortStableFunc(all, func(a, b Refused) int { return cmp.Or(cmp.Compare(b.Count, a.Count), b.Last.Compare(a.Last)) })
	return all
}

// Failed are the calls of a tool that ended with one code.
type Failed struct {
	Key
	Code  string `json:"code"` // of a failure; tool_error or rpc_error if the plugin answered with an error
	Count int64  `json:"count"`
}

// Failed returns why calls have ended with an error, the most frequent first: limits that were hit, crashes, and errors of plugins.
func (s *Summary) Failed() []Failed {
	var all []Failed
	for _, row := range s.Tools {
		for _, code := range slices.Sorted(maps.Keys(row.Codes)) {
			all = append(all, Failed{row.Key, code, row.Codes[code]})
		}
		for _, o := range []audit.Outcome{audit.ToolError, audit.RPCError} {
			if n := row.Outcomes[o]; n > 0 {
				all = append(all, Failed{row.Key, string(o), n})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Failed) int { return cmp.Compare(b.Count, a.Count) })
	return all
}
