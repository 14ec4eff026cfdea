package ui

import (
	"cmp"
	"context"
	"html/template"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/history"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/remedy"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/terminal"
	"github.com/bulkhead-mcp/bulkhead/internal/base/chart"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

// historyModel is the content of the page with the calls over time.
type historyModel struct {
	Log         string // empty: none is in force
	Config      string // where [audit] belongs without a log; empty: there is no config
	Unread      string // what of the log is not counted yet; empty: all is
	Ranges      []historyLink
	Filters     []historyFilter
	Command     string // that shows the same in a terminal
	From, To    time.Time
	Begins      time.Time
	Step        time.Duration
	Total       history.Figures
	Slowest     string // tool with the highest p95, that, and of how many calls
	Lost        int64
	Damaged     int64
	Outside     int64
	Charts      []historyChart
	Steps       []historyStep
	Tables      []historyTable
	Refused     []historyRefused
	MoreRefused int
	Failed      []history.Failed
	MoreFailed  int
}

// historyLink is a link to the page with another range, or other calls. Href is empty if no query selects them.
type historyLink struct {
	Name, Href string
	Current    bool
}

// historyFilter is a selection in force. Href is the page without it.
type historyFilter struct{ What, Name, Href string }

type historyChart struct {
	Title string
	SVG   template.HTML
}

type historyStep struct {
	Begin time.Time
	history.Figures
}

// historyTable is calls by tool, plugin or client.
type historyTable struct {
	Title, What string
	Rows        []historyRow
	More        int // rows that are left out
}

type historyRow struct {
	historyLink
	history.Figures
	Spark string
	Table string // of [[clients]] that decides for a client; empty: it is not known
}

// historyRefused is what was refused, with what decides about it now.
type historyRefused struct {
	history.Refused
	Remedy remedy.Remedy
	Who    string // who was refused the latest
}

// historyRanges are the ranges of time that the page offers.
var historyRanges = []struct {
	name, since string
	span        time.Duration
}{
	{"day", "1d", 24 * time.Hour}, {"week", "7d", 7 * 24 * time.Hour}, {"month", "30d", 30 * 24 * time.Hour}, {"quarter", "91d", 91 * 24 * time.Hour}, {"year", "365d", 365 * 24 * time.Hour},
}

// Bounds of the page.
const (
	maxHistoryRows = 50
	historySteps   = 60
	historySpark   = 20
)

// historyPage shows the calls that the audit log has over time.
func historyPage(o discovery.Options) Page {
	return Page{Path: "/history", Title: "History", Template: "history.html", Model: func(ctx context.Context, query url.Values) (any, error) {
		q, m, err := parseHistoryQuery(o, query)
		if err != nil {
			return nil, err
		}
		log := discovery.FindAudit(o)
		if log == nil {
			if source, err := discovery.FindConfig(o); err == nil && source.By != discovery.ByNothing {
				m.Config = source.File
			}
			return m, nil
		}
		h, err := history.Find(o, log.File)
		if err != nil {
			return nil, err
		}
		m.Log = log.File
		p, err := h.UpdateFor(ctx, history.PageTime)
		if err != nil {
			return nil, err
		}
		if p.Unread > 0 {
			m.Unread = chart.Bytes(p.Unread)
		}
		s, err := h.Summary(ctx, q)
		if err != nil {
			return nil, err
		}
		view, _ := catalog.Look(o) // the page Doctor has its problems
		finder := remedy.New(o, view)
		m.fill(s, query, finder)
		if view != nil {
			m.explain(finder)
		}
		return m, nil
	}}
}

// parseHistoryQuery reads the range and the selection of a query. The model has the links to others.
func parseHistoryQuery(o discovery.Options, query url.Values) (history.Query, *historyModel, error) {
	m, words := &historyModel{}, []string{"audit", "--summary"}
	q := history.Query{Steps: historySteps}
	name := cmp.Or(query.Get("range"), "week")
	for _, r := range historyRanges {
		m.Ranges = append(m.Ranges, historyLink{r.name, historyHref(query, "range", r.name), r.name == name})
		if r.name == name {
			q.Select.Since = time.Now().Add(-r.span)
			words = append(words, "--since", r.since)
		}
	}
	if q.Select.Since.IsZero() {
		return q, nil, usage.Errorf("there is no range %q: use day, week, month, quarter or year", name)
	}
	for _, f := range []struct {
		what string
		to   *[]string
	}{{"plugin", &q.Select.Plugins}, {"tool", &q.Select.Tools}, {"client", &q.Select.Clients}} {
		if value := query.Get(f.what); value != "" {
			*f.to = []string{value}
			m.Filters = append(m.Filters, historyFilter{f.what, value, historyHref(query, f.what, "")})
			words = append(words, "--"+f.what, value)
		}
	}
	m.Command = terminal.Command(o, words...)
	return q, m, nil
}

// historyHref returns a link to the page with one parameter changed; an empty value removes it.
func historyHref(query url.Values, name, value string) string {
	changed := url.Values{}
	for _, known := range []string{"range", "plugin", "tool", "client"} {
		if v := query.Get(known); v != "" {
			changed.Set(known, v)
		}
	}
	if changed.Set(name, value); value == "" {
		changed.Del(name)
	}
	if len(changed) == 0 {
		return "./history"
	}
	return "./history?" + changed.Encode()
}

// historyRowHref returns a link to the page with the calls of one tool, plugin or client; empty if no query selects them: a * at the end selects
// every name with that prefix, and an empty name everything.
func historyRowHref(query url.Values, what, name string) string {
	if name == "" || strings.HasSuffix(name, "*") {
		return ""
	}
	return historyHref(query, what, name)
}

// fill sets what the summary has.
func (m *historyModel) fill(s *history.Summary, query url.Values, finder *remedy.Finder) {
	m.From, m.To, m.Step, m.Total, m.Lost, m.Damaged, m.Outside = s.From, s.To, s.Step, s.Total.Figures(), s.Lost, s.Damaged, s.Outside
	if s.Since.After(s.From) {
		m.Begins = s.Since
	}
	for i := range s.Series {
		m.Steps = append(m.Steps, historyStep{s.From.Add(time.Duration(i) * s.Step), s.Series[i].Figures()})
	}
	if slowest := s.Slowest(); len(slowest) > 0 {
		m.Slowest = slowest[0].Called() + ", p95 " + chart.Duration(time.Duration(slowest[0].Figures().P95)*time.Microsecond) + " of " + chart.Counted(slowest[0].Durations.Calls(), "call", "calls")
	}
	m.Charts = historyCharts(m.Steps, s.Step)
	refused, more := firstRows(s.Refused())
	for _, r := range refused {
		m.Refused = append(m.Refused, historyRefused{Refused: r, Who: finder.Who(r.LastPrincipal, r.LastClient)})
	}
	m.MoreRefused = more
	m.Failed, m.MoreFailed = firstRows(s.Failed())
	m.table("Tools", "tool", s.Tools, func(k history.Key) (string, string) { return k.Called(), historyRowHref(query, "tool", k.Tool) })
	m.table("Plugins", "plugin", s.Plugins, func(k history.Key) (string, string) {
		return cmp.Or(k.Plugin, "the host itself"), historyRowHref(query, "plugin", k.Plugin)
	})
	m.table("Clients", "client", s.Clients, func(k history.Key) (string, string) {
		name := k.Caller()
		if k.Plugin != history.Other {
			name = finder.Who(k.Principal, k.Client)
		}
		return name, historyRowHref(query, "client", k.Selector())
	})
	clients := m.Tables[len(m.Tables)-1].Rows
	for i := range clients {
		clients[i].Table = cmp.Or(s.Clients[i].Stats.Table, finder.Table(s.Clients[i].Principal))
	}
}

// explain adds what decides about the refusals, by the config that is in force now.
func (m *historyModel) explain(finder *remedy.Finder) {
	for i := range m.Refused {
		r := &m.Refused[i]
		r.Remedy = finder.Find(remedy.Refusal{
			Plugin: r.Plugin, Method: r.Method, Tool: cmp.Or(r.Tool, r.Example), Principal: r.LastPrincipal, Op: r.Op, Target: r.Example, Code: r.Code,
		})
	}
}

// firstRows returns at most maxHistoryRows rows, and how many there are beyond them.
func firstRows[T any](rows []T) (first []T, more int) {
	first = rows[:min(len(rows), maxHistoryRows)]
	return first, len(rows) - len(first)
}

func (m *historyModel) table(title, what string, rows []history.Row, link func(history.Key) (name, href string)) {
	rows, more := firstRows(rows)
	t := historyTable{Title: title, What: what, More: more}
	for _, row := range rows {
		name, href := link(row.Key)
		t.Rows = append(t.Rows, historyRow{historyLink: historyLink{Name: name, Href: href}, Figures: row.Figures(), Spark: chart.Blocks.Sparkline(chart.Sum(row.Series, historySpark))})
	}
	m.Tables = append(m.Tables, t)
}

// historyCharts draws the steps.
func historyCharts(steps []historyStep, step time.Duration) []historyChart {
	format := "2006-01-02"
	if step < 24*time.Hour {
		format = "01-02 15:04"
	}
	labels := make([]string, len(steps))
	for i, s := range steps {
		labels[i] = s.Begin.Local().Format(format)
	}
	values := func(name string, of func(history.Figures) float64) chart.Series {
		s := chart.Series{Name: name}
		for _, step := range steps {
			s.Values = append(s.Values, of(step.Figures))
		}
		return s
	}
	percentile := func(name string, of func(history.Figures) int64) chart.Series {
		return values(name, func(f history.Figures) float64 {
			if f.Longest == 0 {
				return math.NaN()
			}
			return float64(of(f))
		})
	}
	count := func(v float64) string {
		if v < 10 { // half of an odd number
			return strconv.FormatFloat(v, 'g', 2, 64)
		}
		return chart.Count(int64(v))
	}
	duration := func(v float64) string {
		if v == 0 {
			return "0s"
		}
		return chart.Duration(time.Duration(v) * time.Microsecond)
	}
	plots := []chart.Plot{
		{ID: "calls", Title: "Calls", Bars: true, Format: count, Series: []chart.Series{
			values("calls", func(f history.Figures) float64 { return float64(f.Calls) }), values("errors", func(f history.Figures) float64 { return float64(f.Errors) }),
		}},
		{ID: "refused", Title: "Refused calls, requests and operations", Bars: true, Format: count, Series: []chart.Series{
			values("refused", func(f history.Figures) float64 { return float64(f.Refused) }),
		}},
		{ID: "durations", Title: "Durations of calls", Format: duration, Series: []chart.Series{
			percentile("p50", func(f history.Figures) int64 { return f.P50 }), percentile("p95", func(f history.Figures) int64 { return f.P95 }),
			percentile("p99", func(f history.Figures) int64 { return f.P99 }),
		}},
		{ID: "bytes", Title: "Bytes of results and arguments", Bars: true, Format: func(v float64) string { return chart.Bytes(int64(v)) }, Series: []chart.Series{
			values("results", func(f history.Figures) float64 { return float64(f.BytesOut) }), values("arguments", func(f history.Figures) float64 { return float64(f.BytesIn) }),
		}},
		{ID: "tokens", Title: "Tokens of arguments and results, estimated", Bars: true, Format: count, Series: []chart.Series{
			values("tokens", func(f history.Figures) float64 { return float64(f.Tokens) }),
		}},
		{ID: "fuel", Title: "Fuel", Bars: true, Format: count, Series: []chart.Series{values("fuel", func(f history.Figures) float64 { return float64(f.Fuel) })}},
	}
	all := make([]historyChart, len(plots))
	for i, p := range plots {
		p.ID, p.Labels = "chart-"+p.ID, labels
		p.Description = "The table of the steps has the same numbers."
		all[i] = historyChart{p.Title, template.HTML(p.SVG())} // SVG escapes all text
	}
	return all
}
