package chart

import (
	"fmt"
	"strings"
)

// Comparison is a chart of horizontal bars with a line at a reference.
type Comparison struct {
	ID          string
	Title       string
	Description string
	Rows        []Bar
	Reference   float64 // 0: none
}

// Bar is a named value of a Comparison.
type Bar struct {
	Name  string
	Value float64
	Text  string // of the value
}

// Sizes of a Comparison.
const (
	rowHeight = 24
	nameWidth = 300
	barRight  = 90 // room for the text of the longest bar
)

// SVG returns the chart as an SVG element without styles.
func (c Comparison) SVG() string {
	var b strings.Builder
	height := rowHeight*len(c.Rows) + 16
	open(&b, c.ID, c.Title, c.Description, plotWidth, height)
	values := []float64{c.Reference}
	for _, row := range c.Rows {
		values = append(values, row.Value)
	}
	top := greatest(values)
	x := func(value float64) float64 { return nameWidth + share(value, top)*(plotWidth-nameWidth-barRight) }
	for i, row := range c.Rows {
		y := 8 + i*rowHeight
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text>`, nameWidth-8, y+16, escape(row.Name))
		fmt.Fprintf(&b, `<g class="series-0"><rect x="%d" y="%d" width="%s" height="%d" fill="currentColor" fill-opacity="%s"/></g>`, nameWidth, y+3, number(x(row.Value)-nameWidth), rowHeight-6, pale)
		fmt.Fprintf(&b, `<text x="%s" y="%d">%s</text>`, number(x(row.Value)+6), y+16, escape(row.Text))
	}
	if c.Reference > 0 {
		fmt.Fprintf(&b, `<line x1="%s" x2="%s" y1="2" y2="%d" stroke="currentColor" stroke-dasharray="4 3"/>`, number(x(c.Reference)), number(x(c.Reference)), height-2)
	}
	b.WriteString("</svg>")
	return b.String()
}

// Document adds a style to an SVG element, for a file of its own that a page shows as an image.
func Document(svg string) string {
	const style = `<style>svg{color:#1b1f24}text{fill:#1b1f24;font:13px system-ui,sans-serif}.series-0{color:#0b5394}.series-1{color:#b00020}.series-2{color:#9a3b00}` +
		`@media (prefers-color-scheme:dark){svg{color:#e6e9ec}text{fill:#e6e9ec}.series-0{color:#8cc4ff}.series-1{color:#ff8a94}.series-2{color:#ffb07a}}</style>`
	begin := strings.IndexByte(svg, '>') + 1
	return svg[:begin] + style + svg[begin:] + "\n"
}
