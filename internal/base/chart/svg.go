package chart

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

// Plot is a chart of values over steps, such as of time. Its text may be untrusted.
type Plot struct {
	ID          string // begins the ids of its elements, which are unique in a page
	Title       string
	Description string
	Labels      []string // of the steps
	Series      []Series // at most len(dashes)
	Bars        bool     // bars, the later series in front of the earlier ones, in place of lines
	Format      func(float64) string
}

// Series is a series of values, one for each step.
type Series struct {
	Name   string
	Values []float64 // NaN: there is none
}

// Sizes of a Plot in units of its view box.
const (
	plotWidth, plotHeight = 480, 200
	left, right           = 64, 12
	above, below          = 30, 24
)

// dashes tell lines apart without colours.
var dashes = []string{"", "7 3", "2 3", "9 3 2 3"}

// SVG returns the chart as an SVG element without styles: colours come from the classes series-0, series-1 and so on, and text
// from the style of the page. Its description names the series and their maxima; a table beside it must have the values.
func (p Plot) SVG() string {
	var b strings.Builder
	open(&b, p.ID, p.Title, p.Description, plotWidth, plotHeight)
	top := p.top()
	p.drawAxes(&b, top)
	for i, s := range p.Series {
		if p.Bars {
			p.drawBars(&b, i, s, top)
		} else {
			p.drawLine(&b, i, s, top)
		}
	}
	p.drawLegend(&b)
	b.WriteString("</svg>")
	return b.String()
}

// open begins an SVG element with its title and description.
func open(b *strings.Builder, id, title, description string, width, height int) {
	id = escape(id)
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 %d %d" width="%d" height="%d" aria-labelledby="%s-title %s-description">`,
		width, height, width, height, id, id)
	fmt.Fprintf(b, `<title id="%s-title">%s</title><desc id="%s-description">%s</desc>`, id, escape(title), id, escape(description))
}

// top returns the value at the upper end: the next of 1, 2 or 5 times a power of ten.
func (p Plot) top() float64 {
	var values []float64
	for _, s := range p.Series {
		values = append(values, s.Values...)
	}
	most := greatest(values)
	power := math.Pow(10, math.Floor(math.Log10(most)))
	for _, factor := range []float64{1, 2, 5} {
		if factor*power >= most {
			return factor * power
		}
	}
	return 10 * power
}

// greatest returns the greatest value, or 1 if none is above zero.
func greatest(values []float64) float64 {
	most := 0.0
	for _, v := range values {
		if v > most {
			most = v
		}
	}
	if most == 0 {
		return 1
	}
	return min(most, math.MaxFloat64/10)
}

// share returns value as a share of top.
func share(value, top float64) float64 {
	if value > 0 {
		return min(1, value/top)
	}
	return 0
}

// x returns the left edge of a step, of which there are n.
func (p Plot) x(step float64) float64 {
	return left + step*(plotWidth-left-right)/float64(max(1, len(p.Labels)))
}

func (p Plot) y(value, top float64) float64 {
	return plotHeight - below - share(value, top)*(plotHeight-above-below)
}

func (p Plot) drawAxes(b *strings.Builder, top float64) {
	for _, share := range []float64{0, 0.5, 1} {
		y := p.y(share*top, top)
		fmt.Fprintf(b, `<line class="grid" x1="%d" x2="%d" y1="%s" y2="%s" stroke="currentColor" stroke-opacity="%s"/>`, left, plotWidth-right, number(y), number(y),
			map[bool]string{true: "0.6", false: "0.2"}[share == 0])
		fmt.Fprintf(b, `<text x="%d" y="%s" text-anchor="end">%s</text>`, left-6, number(y+4), escape(p.Format(share*top)))
	}
	n := len(p.Labels)
	label := func(step int, x float64, anchor string) {
		fmt.Fprintf(b, `<text x="%s" y="%d" text-anchor="%s">%s</text>`, number(x), plotHeight-6, anchor, escape(p.Labels[step]))
	}
	if n > 0 {
		label(0, left, "start")
	}
	if n > 2 {
		label(n/2, p.x(float64(n/2)+0.5), "middle")
	}
	if n > 1 {
		label(n-1, plotWidth-right, "end")
	}
}

// pale is the opacity of bars that others are in front of. Less would have a contrast below 3:1 to the background of pages.
const pale = "0.6"

// opacity returns that of the bars of a series.
func opacity(series int) string {
	if series == 0 {
		return pale
	}
	return "1"
}

func (p Plot) drawBars(b *strings.Builder, i int, s Series, top float64) {
	width := (p.x(1) - p.x(0)) * 0.8
	fmt.Fprintf(b, `<g class="series-%d" fill="currentColor" fill-opacity="%s">`, i, opacity(i))
	for step, v := range s.Values {
		if y := p.y(v, top); v > 0 {
			y = min(y, plotHeight-below-1)
			fmt.Fprintf(b, `<rect x="%s" y="%s" width="%s" height="%s"/>`, number(p.x(float64(step)+0.1)), number(y), number(width), number(plotHeight-below-y))
		}
	}
	b.WriteString("</g>")
}

// drawLine draws a line that is interrupted where there is no value, and a dot for each value without neighbours.
func (p Plot) drawLine(b *strings.Builder, i int, s Series, top float64) {
	fmt.Fprintf(b, `<g class="series-%d" color="currentColor">`, i)
	var path strings.Builder
	known := func(step int) bool { return step >= 0 && step < len(s.Values) && !math.IsNaN(s.Values[step]) }
	for step, v := range s.Values {
		if !known(step) {
			continue
		}
		x, y := number(p.x(float64(step)+0.5)), number(p.y(v, top))
		switch {
		case known(step - 1):
			fmt.Fprintf(&path, "L%s %s", x, y)
		case known(step + 1):
			fmt.Fprintf(&path, "M%s %s", x, y)
		default:
			fmt.Fprintf(b, `<circle cx="%s" cy="%s" r="3" fill="currentColor"/>`, x, y)
		}
	}
	fmt.Fprintf(b, `<path d="%s" fill="none" stroke="currentColor" stroke-width="2" stroke-dasharray="%s"/></g>`, path.String(), dashes[i%len(dashes)])
}

func (p Plot) drawLegend(b *strings.Builder) {
	for i, s := range p.Series {
		x := left + i*150
		fmt.Fprintf(b, `<g class="series-%d">`, i)
		if p.Bars {
			fmt.Fprintf(b, `<rect x="%d" y="7" width="22" height="10" fill="currentColor" fill-opacity="%s"/>`, x, opacity(i))
		} else {
			fmt.Fprintf(b, `<line x1="%d" x2="%d" y1="12" y2="12" stroke="currentColor" stroke-width="2" stroke-dasharray="%s"/>`, x, x+22, dashes[i%len(dashes)])
		}
		fmt.Fprintf(b, `</g><text x="%d" y="16">%s</text>`, x+28, escape(s.Name))
	}
}

// escape makes text safe in an element or attribute.
func escape(text string) string { return html.EscapeString(visible.Text(text)) }

// number formats a coordinate.
func number(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }
