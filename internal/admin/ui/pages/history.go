package pages

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/history"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/remedy"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/ui"
	"github.com/bulkhead-mcp/bulkhead/internal/base/chart"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

// Bounds of the page History.
const (
	maxCallRows = 50
	sparkSteps  = 20
)

// historyModel is the content of the page.
type historyModel struct {
	*selection
	Log         string // empty: none is in force
	Config      string // where [audit] belongs without a log; empty: there is no config
	NoConfig    bool   // whether no config is used, by --no-config
	Unread      string // what of the log is not counted yet; empty: all is
	From, To    time.Time
	Begins      time.Time
	Step        time.Duration
	Total       history.Figures
	Slowest     string   // tool with the highest p95, that, and of how many calls
	Gaps        []string // what is missing in the figures
	Charts      []figure
	Steps       []timeStep
	Tables      []callTable
	Refused     []refusedRow
	MoreRefused int
	Failed      []history.Failed
	MoreFailed  int
}

// timeStep is the calls of one step.
type timeStep struct {
	Begin time.Time
	history.Figures
}

// callTable is calls by tool, plugin or client.
type callTable struct {
	Title, What string
	Rows        []callRow
	More        int // rows that are left out
}

type callRow struct {
	link
	history.Figures
	Spark string
	Table string // of [[clients]] that decides for a client; empty: it is not known
}

// refusedRow is what was refused, with what decides about it now.
type refusedRow struct {
	history.Refused
	Remedy remedy.Remedy // by the config that is in force now
	Who    string        // who was refused the latest
}

// historyPage shows the calls that the audit log has over time.
func historyPage(o discovery.Options) ui.Page {
	return ui.Page{Path: "/history", Title: "History", Template: historyTemplate + parts, Model: func(ctx context.Context, q url.Values) (any, error) {
		selected, err := parseSelection(o, q)
		if err != nil {
			return nil, err
		}
		m := &historyModel{selection: selected}
		log := discovery.FindAudit(o)
		if log == nil {
			view, err := catalog.Look(o)
			if view == nil { // such as a config that is not trusted or cannot be read, which may have a log
				return nil, err
			}
			m.Config, m.NoConfig = view.Config, o.NoConfig
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
		finder, _ := remedy.Look(o) // the page Doctor has its problems
		selected.query.Select.Clients = finder.Selectors(selected.query.Select.Clients)
		s, err := h.Summary(ctx, selected.query)
		if err != nil {
			return nil, err
		}
		m.fill(s, finder)
		return m, nil
	}}
}

// fill sets what the summary has.
func (m *historyModel) fill(s *history.Summary, finder *remedy.Finder) {
	m.From, m.To, m.Step, m.Total, m.Gaps = s.From, s.To, s.Step, s.Total.Figures(), s.Gaps()
	if s.Since.After(s.From) {
		m.Begins = s.Since
	}
	for i := range s.Series {
		m.Steps = append(m.Steps, timeStep{s.From.Add(time.Duration(i) * s.Step), s.Series[i].Figures()})
	}
	m.Charts = drawCalls(m.Steps, s.Step)
	if slowest := s.Slowest(); len(slowest) > 0 {
		tool := slowest[0]
		m.Slowest = fmt.Sprintf("%s, p95 %s of %s", tool.Called(), chart.Microseconds(tool.Figures().P95), chart.Counted(tool.Durations.Calls(), "call", "calls"))
	}
	m.Failed, m.MoreFailed = firstRows(s.Failed())
	refused, more := firstRows(s.Refused())
	for _, r := range refused {
		m.Refused = append(m.Refused, refusedRow{r, finder.OfHistory(r), finder.Who(r.LastPrincipal, r.LastClient)})
	}
	m.MoreRefused = more
	m.Tables = []callTable{
		m.table("Tools", "tool", s.Tools, func(r *history.Row) callRow {
			name := r.Called()
			if r.Tool == "" && r.Plugin != history.Other {
				name += ", no tool"
			}
			return callRow{link: m.rowLink(name, "tool", r.Tool)}
		}),
		m.table("Plugins", "plugin", s.Plugins, func(r *history.Row) callRow {
			return callRow{link: m.rowLink(cmp.Or(r.Plugin, "no plugin: the host"), "plugin", r.Plugin)}
		}),
		m.table("Clients", "client", s.Clients, func(r *history.Row) callRow {
			name := r.Caller()
			if r.Plugin != history.Other {
				name = finder.Who(r.Principal, r.Client)
			}
			return callRow{link: m.rowLink(name, "client", r.Selector()), Table: cmp.Or(r.Stats.Table, finder.Table(r.Principal))}
		}),
	}
}

// table returns a table of rows. named returns a callRow with what the summary does not count.
func (m *historyModel) table(title, what string, rows []history.Row, named func(*history.Row) callRow) callTable {
	rows, more := firstRows(rows)
	t := callTable{Title: title, What: what, More: more}
	for i := range rows {
		row := named(&rows[i])
		row.Figures, row.Spark = rows[i].Figures(), chart.Blocks.Sparkline(chart.Sum(rows[i].Series, sparkSteps))
		t.Rows = append(t.Rows, row)
	}
	return t
}

// firstRows returns at most maxCallRows rows, and how many there are beyond them.
func firstRows[T any](rows []T) (first []T, more int) {
	first = rows[:min(len(rows), maxCallRows)]
	return first, len(rows) - len(first)
}
