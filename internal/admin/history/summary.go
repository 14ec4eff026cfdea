package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/filelock"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

// Query selects calls. Select is as for the log, except that outcomes and the limit do not count, and that times are rounded to hours.
type Query struct {
	Select audit.Query
	Until  time.Time // zero: now
	Steps  int       // at most this number of steps of Series; 0: defaultSteps
}

const defaultSteps = 60

// maxRows bounds the rows of each kind in a Summary.
const maxRows = 1000

// Summary is what calls of a time have in common.
type Summary struct {
	From, To time.Time     // a full hour, and the end of the query, whose hour is counted as a whole
	Since    time.Time     // of the first record of the history; zero: there is none
	Step     time.Duration // of the series
	Series   []Stats       // the calls of each step, the first of which begins at From
	Total    Stats
	Tools    []Row // by plugin, method and tool, the most frequent first
	Plugins  []Row
	Clients  []Row
	Lost     int64  // records that could not be written
	Damaged  int64  // lines of the whole log that are no records
	Outside  int64  // records of the whole log that were not counted for their time
	Missed   []Span // the earliest first
}

// Row is the calls with one Key, of which only those fields are set that the row is about.
type Row struct {
	Key
	Stats
	Series []int64 // calls of each step

	callers map[int]map[Key]bool // who was refused what, of a tool, by the index of the refusal
}

// steps are the durations of steps.
var steps = []time.Duration{time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 28 * 24 * time.Hour}

// stepOf returns the shortest step of which at most n cover a time.
func stepOf(d time.Duration, n int) time.Duration {
	for _, step := range steps {
		if int64((d+step-1)/step) <= int64(n) {
			return step
		}
	}
	return d
}

// Summary returns what was counted. It does not read the log: call Update first.
func (h *History) Summary(ctx context.Context, q Query) (*Summary, error) {
	var s *Summary
	err := h.readStored(ctx, func(st *state) (err error) {
		s, err = h.summary(ctx, st, q)
		return err
	})
	return s, err
}

// readStored calls read with the state. If a part is damaged, it counts the log again, and calls read once more.
func (h *History) readStored(ctx context.Context, read func(*state) error) error {
	locked := func() error {
		unlock, err := h.lock(ctx, filelock.Shared)
		if err != nil {
			return err
		}
		defer unlock()
		st, err := h.store.load(h.log)
		if err != nil {
			return err
		}
		return read(st)
	}
	err := locked()
	if damaged := (*damagedError)(nil); errors.As(err, &damaged) {
		if err := h.repair(ctx, damaged.part); err != nil {
			return err
		}
		return locked()
	}
	return err
}

func (h *History) summary(ctx context.Context, st *state, q Query) (*Summary, error) {
	sum := newSummarizing(st, q, h.now())
	for _, name := range slices.Sorted(maps.Keys(st.Parts)) {
		if name == usesPart || name < dayOf(sum.From) || name > dayOf(sum.To) {
			continue
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		date, err := time.Parse(time.DateOnly, name)
		if err != nil {
			return nil, &damagedError{name}
		}
		d := &day{}
		if err := h.store.part(st, name, d); err != nil {
			return nil, err
		}
		for _, i := range slices.Sorted(maps.Keys(d.Hours)) {
			sum.add(date.Add(time.Duration(i)*time.Hour), d.Hours[i])
		}
	}
	return sum.result(), nil
}

// repair removes a damaged part, and counts the log again.
func (h *History) repair(ctx context.Context, part string) error {
	unlock, err := h.lock(ctx, filelock.Exclusive)
	if err != nil {
		return err
	}
	err = h.recount(part)
	unlock()
	if err != nil {
		return fmt.Errorf("cannot repair the history of calls: %w", err)
	}
	return h.Update(ctx, nil)
}

// summarizing is a Summary that is being made.
type summarizing struct {
	Summary
	query audit.Query
	until time.Time
	rows  [3]map[Key]*Row // of tools, plugins and clients
}

func newSummarizing(st *state, q Query, now time.Time) *summarizing {
	s := &summarizing{query: q.Select}
	s.query.Outcomes = nil
	s.Since, s.Damaged, s.Outside = st.Since, st.Damaged, st.Outside
	s.To = now
	if !q.Until.IsZero() {
		s.To = q.Until
	}
	s.until = s.To
	if to := s.To.Truncate(time.Hour); to.Before(s.To) {
		s.To = to.Add(time.Hour)
	}
	s.From = q.Select.Since
	if oldest := s.To.Add(-Retention); s.From.Before(oldest) {
		s.From = oldest
	}
	if s.From.Before(st.Since) {
		s.From = st.Since
	}
	if s.From.After(s.To) || st.Since.IsZero() && q.Select.Since.IsZero() {
		s.From = s.To.Add(-time.Hour)
	}
	s.From = s.From.Truncate(time.Hour)
	for _, m := range st.Missed {
		if m.To.After(s.From) && m.From.Before(s.To) {
			s.Missed = append(s.Missed, m)
		}
	}
	s.Step = stepOf(s.To.Sub(s.From), cmp.Or(q.Steps, defaultSteps))
	s.Series = make([]Stats, max(1, (s.To.Sub(s.From)+s.Step-1)/s.Step))
	for i := range s.rows {
		s.rows[i] = map[Key]*Row{}
	}
	return s
}

// add adds the calls of the hour that begins at a time.
func (s *summarizing) add(begin time.Time, h *hour) {
	if begin.Before(s.From) || !begin.Before(s.To) {
		return
	}
	s.Lost += h.Lost
	step := int(begin.Sub(s.From) / s.Step)
	for _, c := range h.Cells {
		if !c.Key.matches(s.query) {
			continue
		}
		for i := range c.Refused {
			c.Refused[i].LastPrincipal, c.Refused[i].LastClient = c.Principal, c.Client
		}
		s.Total.merge(&c.Stats)
		s.Series[step].merge(&c.Stats)
		for i, k := range []Key{
			{Plugin: c.Plugin, Method: c.Method, Tool: c.Tool}, {Plugin: c.Plugin}, c.caller(),
		} {
			row := s.row(i, k)
			row.merge(&c.Stats)
			row.Series[step] += c.Calls
			if i == 0 {
				row.noteCallers(c)
			}
		}
	}
}

// caller returns the key of who called.
func (k Key) caller() Key {
	if k.Plugin == Other {
		return k
	}
	return Key{Principal: k.Principal, Client: k.Client}
}

// noteCallers adds who was refused something in c, which was merged already.
func (r *Row) noteCallers(c *cell) {
	for _, refused := range c.Refused {
		i, _ := r.find(refused)
		if r.callers == nil {
			r.callers = map[int]map[Key]bool{}
		}
		if r.callers[i] == nil {
			r.callers[i] = map[Key]bool{}
		}
		r.callers[i][Key{Principal: c.Principal, Client: c.Client}] = true
	}
}

// matches reports whether q selects k, whatever its times and outcomes.
func (k Key) matches(q audit.Query) bool {
	return q.Matches(audit.Entry{Time: q.Since, Plugin: k.Plugin, Tool: k.Tool, Principal: k.Principal, Client: k.Client})
}

func (s *summarizing) row(kind int, k Key) *Row {
	if s.rows[kind][k] == nil && len(s.rows[kind]) >= maxRows {
		k = Key{Plugin: Other}
	}
	if s.rows[kind][k] == nil {
		s.rows[kind][k] = &Row{Key: k, Series: make([]int64, len(s.Series))}
	}
	return s.rows[kind][k]
}

func (s *summarizing) result() *Summary {
	for i, rows := range []*[]Row{&s.Tools, &s.Plugins, &s.Clients} {
		for _, row := range s.rows[i] {
			*rows = append(*rows, *row)
		}
		slices.SortFunc(*rows, func(a, b Row) int {
			return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(b.Refusals(), a.Refusals()), a.compare(b.Key))
		})
	}
	s.To = s.until
	return &s.Summary
}

// LastUses is when tools and grants were used last, the earliest first.
type LastUses struct {
	Uses       []Use
	From       time.Time // from when on no use of a tool is missing
	GrantsFrom time.Time // from when on no use of a grant is missing; the zero value: the log has none
}

// LastUses returns the selected last uses by each client. It does not read the log: call Update first.
func (h *History) LastUses(ctx context.Context, q audit.Query) (last LastUses, err error) {
	err = h.readStored(ctx, func(st *state) error {
		if last.From = st.Since; st.UsesFrom.After(last.From) {
			last.From = st.UsesFrom
		}
		if last.GrantsFrom = st.GrantsFrom; !last.GrantsFrom.IsZero() && last.From.After(last.GrantsFrom) {
			last.GrantsFrom = last.From
		}
		return h.store.part(st, usesPart, &last.Uses)
	})
	q.Outcomes = nil
	last.Uses = slices.DeleteFunc(last.Uses, func(u Use) bool { return !u.matches(q) })
	return last, err
}
