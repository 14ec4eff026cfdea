package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/history"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/remedy"
	"github.com/bulkhead-mcp/bulkhead/internal/base/chart"
	"github.com/bulkhead-mcp/bulkhead/internal/base/term"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

// auditSummary is the result of audit --summary.
type auditSummary struct {
	Log     string            `json:"log"`
	From    time.Time         `json:"from"`
	To      time.Time         `json:"to"`
	Begins  time.Time         `json:"history_begins,omitzero"`
	Step    int64             `json:"step_s"`
	Total   history.Figures   `json:"total"`
	Series  []history.Figures `json:"series"`
	Tools   []summaryRow      `json:"tools"`
	Plugins []summaryRow      `json:"plugins"`
	Clients []summaryRow      `json:"clients"`
	Failed  []history.Failed  `json:"failed"`
	Refused []refusedRow      `json:"refused"`
	Unused  *unusedTools      `json:"unused,omitempty"` // absent without a config, and for selected clients
	Lost    int64             `json:"lost"`             // records that could not be written
	Damaged int64             `json:"damaged"`          // lines that are no records
	Outside int64             `json:"outside"`          // records that were not counted for their time
	Missed  []history.Span    `json:"missed,omitempty"` // in which records may have been rotated out of the log before they were counted

	slowest []summaryRow
	gaps    []string
}

type summaryRow struct {
	history.Key
	history.Figures
	Series []int64 `json:"series"` // calls of each step
}

// refusedRow is what was refused.
type refusedRow struct {
	history.Refused
	Who string `json:"last_who,omitempty"` // who was refused the latest, for people
	Why string `json:"why,omitempty"`      // what decides now
}

// unusedTools are tools that are granted and were not used.
type unusedTools struct {
	Since time.Time        `json:"since"`
	Tools []history.Unused `json:"tools"`
}

// summarize prints what the history of the log at a path has.
func (a *auditCommand) summarize(ctx context.Context, file string, stdout, stderr io.Writer) error {
	h, err := history.Find(a.host, file)
	if err != nil {
		return err
	}
	noLog := false
	err = h.Update(ctx, func(p history.Progress) {
		noLog = p.NoLog
		if p.Unread > 0 && term.CanRedraw(stderr) {
			fmt.Fprintf(stderr, "\rreading %s: %.1f MB remain  ", oneLine(file), float64(p.Unread)/1e6)
		}
	})
	if ctx.Err() != nil {
		return errors.New("ended before all of the log was counted: what was counted is kept, and the next run goes on")
	}
	if err != nil {
		return err
	}
	if noLog {
		reportNoLog(stderr, file)
	}
	finder, invalid := remedy.New(a.host, nil), error(nil)
	if a.file == "" {
		finder, invalid = remedy.Look(a.host)
	}
	a.query.Clients = finder.Selectors(a.query.Clients)
	width, _ := term.Size(stdout)
	width = min(width, 160)
	s, err := h.Summary(ctx, history.Query{Select: a.query, Steps: max(10, width-30)})
	if err != nil {
		return err
	}
	r := newAuditSummary(file, s, finder)
	if a.file == "" && len(a.query.Clients) == 0 { // a client may be granted less, and tools that it does not use may be used by others
		if invalid != nil {
			return invalid
		}
		if r.Unused, err = a.unused(ctx, h, finder); err != nil {
			return err
		}
	}
	if a.asJSON {
		return printJSON(stdout, r)
	}
	glyphs := chart.ASCII
	if term.CanShowUnicode(stdout) {
		glyphs = chart.Blocks
	}
	return printPage(stdout, func(w page) {
		summaryPage{page: w, glyphs: glyphs, width: width, cut: term.IsTerminal(stdout), rows: cmp.Or(a.query.Limit, 10), name: func(k history.Key) string {
			if k.Plugin == history.Other {
				return k.Caller()
			}
			return finder.Who(k.Principal, k.Client)
		}}.print(r)
	})
}

func newAuditSummary(file string, s *history.Summary, finder *remedy.Finder) auditSummary {
	r := auditSummary{
		Log: file, From: s.From, To: s.To, Begins: s.Since, Step: int64(s.Step.Seconds()), Total: s.Total.Figures(), Failed: s.Failed(), Refused: []refusedRow{}, Lost: s.Lost, Damaged: s.Damaged, Outside: s.Outside, Missed: s.Missed,
		Tools: summaryRows(s.Tools), Plugins: summaryRows(s.Plugins), Clients: summaryRows(s.Clients), slowest: summaryRows(s.Slowest()), gaps: s.Gaps(),
	}
	for i := range s.Series {
		r.Series = append(r.Series, s.Series[i].Figures())
	}
	for _, refused := range s.Refused() {
		r.Refused = append(r.Refused, refusedRow{refused, finder.Who(refused.LastPrincipal, refused.LastClient), finder.OfHistory(refused).Why})
	}
	return r
}

func summaryRows(rows []history.Row) []summaryRow {
	all := make([]summaryRow, len(rows))
	for i := range rows {
		all[i] = summaryRow{rows[i].Key, rows[i].Figures(), rows[i].Series}
	}
	return all
}

// unused returns the granted tools that were not used in the selected time, or since the history began.
func (a *auditCommand) unused(ctx context.Context, h *history.History, finder *remedy.Finder) (*unusedTools, error) {
	used, err := h.LastUses(ctx, a.query)
	if err != nil {
		return nil, err
	}
	policies, err := finder.Policies()
	if err != nil {
		return nil, err
	}
	granted, last := history.Granted(policies.Plugins, a.query), history.LastCalls(append(used.Uses, history.Running(ctx, a.host, policies.File)...))
	since := a.query.Since
	if used.From.After(since) {
		since = used.From
	}
	return &unusedTools{since, history.FindUnused(granted, last, since)}, nil
}

// summaryPage prints an auditSummary.
type summaryPage struct {
	page
	glyphs chart.Glyphs
	width  int
	cut    bool                     // whether names are cut to the width
	rows   int                      // of each table
	name   func(history.Key) string // of a client
}

// fit cuts a text to what the width leaves beside other columns, but for a number of bytes.
func (p summaryPage) fit(text string, others, least int) string {
	if !p.cut {
		return text
	}
	return visible.Truncate(text, max(least, p.width-others))
}

// column is a column of numbers.
type column struct {
	heading string
	value   func(history.Figures) string
}

var (
	callsColumn   = column{"calls", func(f history.Figures) string { return chart.Count(f.Calls) }}
	errorsColumn  = column{"errors", func(f history.Figures) string { return chart.Count(f.Errors) }}
	refusedColumn = column{"refused", func(f history.Figures) string { return chart.Count(f.Refused) }}
	durations     = []column{
		{"p50", func(f history.Figures) string { return chart.Microseconds(f.P50) }},
		{"p95", func(f history.Figures) string { return chart.Microseconds(f.P95) }},
		{"p99", func(f history.Figures) string { return chart.Microseconds(f.P99) }},
	}
	tokensColumn = column{"tokens", func(f history.Figures) string { return "~" + chart.Count(f.Tokens) }}
)

func (p summaryPage) print(r auditSummary) {
	fmt.Fprintf(p, "%s  %s to %s\n", p.style.Title("calls"), r.From.Local().Format("2006-01-02 15:04"), r.To.Local().Format("2006-01-02 15:04"))
	if r.Begins.After(r.From) {
		fmt.Fprintf(p, "       the log begins at %s\n", r.Begins.Local().Format(time.DateTime))
	}
	t := r.Total
	fmt.Fprintf(p, "%s, %s, %s refused; p50 %s, p95 %s, p99 %s, longest %s\n",
		chart.Counted(t.Calls, "call", "calls"), chart.Counted(t.Errors, "error", "errors"), chart.Count(t.Refused), chart.Microseconds(t.P50), chart.Microseconds(t.P95), chart.Microseconds(t.P99), chart.Microseconds(t.Longest))
	fmt.Fprintf(p, "%s in, %s out, about %s tokens; fuel %s\n", chart.Bytes(t.BytesIn), chart.Bytes(t.BytesOut), chart.Count(t.Tokens), chart.Count(t.Fuel))
	for _, gap := range r.gaps {
		fmt.Fprintf(p, "%s %s\n", p.paint("warning:"), gap)
	}
	p.series(r)
	p.table("tools", "calls", r.Tools, []column{callsColumn, errorsColumn, refusedColumn, durations[0], durations[1], durations[2], tokensColumn}, history.Key.Called)
	p.table("slowest", "p95", r.slowest, []column{durations[0], durations[1], durations[2], callsColumn}, history.Key.Called)
	p.table("clients", "calls", r.Clients, []column{callsColumn, errorsColumn, refusedColumn, tokensColumn}, p.name)
	p.failed(r.Failed)
	p.refused(r.Refused)
	p.unused(r.Unused)
}

// series prints the calls and errors of each step.
func (p summaryPage) series(r auditSummary) {
	step := time.Duration(r.Step) * time.Second
	fmt.Fprintf(p, "\n%s  %s for each character\n", p.style.Title("over time"), strings.TrimSuffix(strings.TrimSuffix(step.String(), "0s"), "0m"))
	for _, c := range []struct {
		name  string
		value func(history.Figures) int64
	}{
		{"calls", func(f history.Figures) int64 { return f.Calls }}, {"errors", func(f history.Figures) int64 { return f.Errors }},
		{"refused", func(f history.Figures) int64 { return f.Refused }}, {"p95", func(f history.Figures) int64 { return f.P95 }},
	} {
		values, top := make([]int64, len(r.Series)), int64(0)
		for i, f := range r.Series {
			values[i] = c.value(f)
			top = max(top, values[i])
		}
		most := chart.Count(top)
		if c.name == "p95" {
			most = chart.Microseconds(top)
		}
		fmt.Fprintf(p, "%-8s |%s|  at most %s\n", c.name, p.glyphs.Sparkline(values), most)
	}
}

// table prints rows with their columns, a bar of what they are sorted by, and their names.
func (p summaryPage) table(title, by string, rows []summaryRow, columns []column, name func(history.Key) string) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(p, "\n%s\n", p.style.Title(title))
	line := ""
	for _, c := range columns {
		line += fmt.Sprintf("%7s ", c.heading)
	}
	fmt.Fprintln(p, strings.TrimRight(line, " "))
	const bar = 7
	size := func(f history.Figures) int64 {
		if by == "p95" {
			return f.P95
		}
		return f.Calls
	}
	shown, most := rows[:min(p.rows, len(rows))], int64(0)
	for _, row := range shown {
		most = max(most, size(row.Figures))
	}
	for _, row := range shown {
		line := ""
		for _, c := range columns {
			line += fmt.Sprintf("%7s ", c.value(row.Figures))
		}
		drawn := p.glyphs.Bar(size(row.Figures), most, bar)
		fmt.Fprintf(p, "%s%s%s %s\n", line, drawn, strings.Repeat(" ", bar-utf8.RuneCountInString(drawn)), p.fit(oneLine(name(row.Key)), 8*len(columns)+bar+1, 16))
	}
	p.more(len(rows))
}

// more says that rows are left out.
func (p summaryPage) more(n int) {
	if n > p.rows {
		fmt.Fprintf(p, "and %d more: --limit %d\n", n-p.rows, n)
	}
}

func (p summaryPage) failed(all []history.Failed) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(p, "\n%s\n%7s\n", p.style.Title("errors"), "times")
	for _, f := range all[:min(p.rows, len(all))] {
		fmt.Fprintf(p, "%7s %s  %s\n", chart.Count(f.Count), p.style.Bad(oneLine(f.Code)), p.fit(oneLine(f.Called()), 30, 20))
	}
	p.more(len(all))
}

func (p summaryPage) refused(all []refusedRow) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(p, "\n%s\n%7s latest\n", p.style.Title("refused"), "times")
	for _, r := range all[:min(p.rows, len(all))] {
		what := oneLine(r.Called())
		if r.Op != "" {
			what += ": " + oneLine(r.Op)
		}
		if r.Example != "" {
			what += " " + oneLine(r.Example)
		}
		if r.Several {
			what += ", the latest of several"
		}
		why := oneLine(r.Code)
		if r.Reason != "" {
			why += ", " + oneLine(r.Reason)
		}
		fmt.Fprintf(p, "%7s %s  %s  %s\n", chart.Count(r.Count), r.Last.Local().Format(time.DateTime), p.style.Bad(why), p.fit(what, 32+utf8.RuneCountInString(why), 20))
		who := oneLine(r.Who)
		if r.Clients > 1 {
			who += fmt.Sprintf(", one of %d clients", r.Clients)
		}
		if r.Why != "" {
			who += ": " + oneLine(r.Why)
		}
		fmt.Fprintf(p, "%8s%s\n", "", p.fit(who, 8, 20))
	}
	p.more(len(all))
}

func (p summaryPage) unused(u *unusedTools) {
	if u == nil {
		return
	}
	fmt.Fprintf(p, "\n%s  granted, and not used since %s: %s\n", p.style.Title("unused"), u.Since.Local().Format("2006-01-02 15:04"), chart.Counted(len(u.Tools), "tool", "tools"))
	for _, t := range u.Tools[:min(p.rows, len(u.Tools))] {
		last := "no use recorded"
		if !t.Last.IsZero() {
			last = "last used " + t.Last.Local().Format(time.DateTime)
		}
		fmt.Fprintf(p, "  %s  %s\n", oneLine(t.Tool), last)
	}
	p.more(len(u.Tools))
}
