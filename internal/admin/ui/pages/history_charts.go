package pages

import (
	"html/template"
	"math"
	"strconv"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/history"
	"github.com/bulkhead-mcp/bulkhead/internal/base/chart"
)

// figure is a chart of the page History.
type figure struct {
	Title string
	SVG   template.HTML
}

// drawCalls draws the calls of steps, each of which takes the time step.
func drawCalls(steps []timeStep, step time.Duration) []figure {
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
	plots := []chart.Plot{
		{ID: "calls", Title: "Calls", Bars: true, Format: formatCount, Series: []chart.Series{
			values("calls", func(f history.Figures) float64 { return float64(f.Calls) }), values("errors", func(f history.Figures) float64 { return float64(f.Errors) }),
		}},
		{ID: "refused", Title: "Refused calls, requests and operations", Bars: true, Format: formatCount, Series: []chart.Series{
			values("refused", func(f history.Figures) float64 { return float64(f.Refused) }),
		}},
		{ID: "durations", Title: "Durations of calls", Format: formatMicroseconds, Series: []chart.Series{
			percentile("p50", func(f history.Figures) int64 { return f.P50 }), percentile("p95", func(f history.Figures) int64 { return f.P95 }),
			percentile("p99", func(f history.Figures) int64 { return f.P99 }),
		}},
		{ID: "bytes", Title: "Bytes of results and arguments", Bars: true, Format: func(v float64) string { return chart.Bytes(int64(v)) }, Series: []chart.Series{
			values("results", func(f history.Figures) float64 { return float64(f.BytesOut) }), values("arguments", func(f history.Figures) float64 { return float64(f.BytesIn) }),
		}},
		{ID: "tokens", Title: "Tokens, estimated", Bars: true, Format: formatCount, Series: []chart.Series{
			values("tokens", func(f history.Figures) float64 { return float64(f.Tokens) }),
		}},
		{ID: "fuel", Title: "Fuel", Bars: true, Format: formatCount, Series: []chart.Series{values("fuel", func(f history.Figures) float64 { return float64(f.Fuel) })}},
	}
	figures := make([]figure, len(plots))
	for i, p := range plots {
		p.ID, p.Labels = "chart-"+p.ID, labels
		p.Description = "The table of the steps has the same numbers."
		figures[i] = figure{p.Title, template.HTML(p.SVG())} // SVG escapes all text
	}
	return figures
}

func formatCount(v float64) string {
	if v < 10 { // half of an odd number
		return strconv.FormatFloat(v, 'g', 2, 64)
	}
	return chart.Count(int64(v))
}

func formatMicroseconds(v float64) string {
	if v == 0 {
		return "0s"
	}
	return chart.Microseconds(int64(v))
}
