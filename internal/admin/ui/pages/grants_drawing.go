package pages

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/grants"
	"github.com/bulkhead-mcp/bulkhead/internal/base/chart"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
)

// drawing is a picture of what one client is granted: the client, its plugins, their tools that read and those that write, and what all tools of
// a plugin reach.
type drawing struct {
	Width, Height int
	Nodes         []node
	Edges         []edge
	Brackets      []bracket
	LeftOut       int // plugins and edges that are not drawn, since there are too many

	things map[string]int // rows of what is reached
}

type node struct {
	X, Y, Width  int
	Text, Detail string
	Href, Words  string // of a node that leads to a table of the page
}

// edge is drawn from (X1, Y1) to (X2, Y2).
type edge struct {
	X1, Y1, X2, Y2 int
	Write          bool
	Words          string
	At             []config.Position
}

// Mid returns where the curve of an edge bends.
func (e edge) Mid() int { return (e.X1 + e.X2) / 2 }

// bracket joins the nodes of the tools of a plugin, at their right.
type bracket struct{ X, Y1, Y2 int }

// The layout of a drawing, in units of SVG.
const (
	nodeHeight   = 44
	rowHeight    = 54
	columnWidth  = 190
	columnGap    = 72
	pluginX      = columnWidth + columnGap
	toolX        = pluginX + columnWidth + columnGap/2
	thingX       = toolX + columnWidth + columnGap
	bracketWidth = 10 // from the nodes that a bracket joins
	maxRows      = 40
	maxText      = 22  // characters of a name
	maxDetail    = 24  // characters of the line below it
	maxWords     = 400 // characters of names of tools that are read out
)

// pen ends the text of tools that write.
const pen = " ✎"

func drawGrants(c grants.Client) drawing {
	d := drawing{Width: thingX + columnWidth, things: map[string]int{}}
	row := 0
	for _, p := range c.Plugins {
		if p.Problem != "" {
			continue
		}
		tools := toolNodes(&p)
		rows := max(1, len(tools))
		if row+rows > maxRows {
			d.LeftOut++
			continue
		}
		d.plugin(c, &p, tools, row)
		row += rows
	}
	detail := "clients without a table"
	if len(c.At) > 0 {
		detail = "table of [[clients]]"
	}
	d.Nodes = append(d.Nodes, node{Width: columnWidth, Text: short(c.Name, maxText), Detail: detail})
	d.Height = max(row, len(d.things), 1) * rowHeight
	return d
}

// plugin draws a plugin with its tools in the rows from row on.
func (d *drawing) plugin(c grants.Client, p *grants.Plugin, tools []node, row int) {
	own := []config.Position(nil)
	if p.InConfig {
		own = []config.Position{p.Position}
	}
	middle := func(y int) int { return y + nodeHeight/2 }
	first, last := row*rowHeight, (row+max(0, len(tools)-1))*rowHeight
	y := (first + last) / 2
	d.Nodes = append(d.Nodes, node{X: pluginX, Y: y, Width: columnWidth, Text: short(p.Name, maxText), Detail: fmt.Sprintf("%s, %d write", chart.Counted(p.Breadth.Tools, "tool", "tools"), p.Breadth.Writing)})
	at := c.At
	if len(at) == 0 {
		at = own
	}
	d.Edges = append(d.Edges, edge{columnWidth, middle(0), pluginX, middle(y), p.Breadth.Writes(), c.Name + " may use " + p.Name, at})
	from := pluginX + columnWidth
	for i, n := range tools {
		n.X, n.Y, n.Width = toolX, first+i*rowHeight, columnWidth
		d.Nodes = append(d.Nodes, n)
		d.Edges = append(d.Edges, edge{pluginX + columnWidth, middle(y), toolX, middle(n.Y), strings.HasSuffix(n.Text, pen), n.Words, own})
		from = toolX + columnWidth
	}
	reached := slices.DeleteFunc(slices.Clone(p.Grants), func(g grants.Grant) bool { return g.State || g.Refused != "" })
	if len(tools) > 1 && len(reached) > 0 {
		d.Brackets = append(d.Brackets, bracket{from, middle(first), middle(last)})
		from += bracketWidth
	}
	for _, g := range reached {
		at, drawn := d.things[g.Kind+" "+g.What]
		if !drawn {
			if len(d.things) == maxRows {
				d.LeftOut++
				continue
			}
			at = len(d.things)
			d.things[g.Kind+" "+g.What] = at
			d.Nodes = append(d.Nodes, node{X: thingX, Y: at * rowHeight, Width: columnWidth, Text: shortPath(g.What), Detail: g.Kind})
		}
		d.Edges = append(d.Edges, edge{from, middle(y), thingX, middle(at * rowHeight), g.Write, p.Name + access(g.Write) + g.What, g.At})
	}
}

// toolNodes returns a node for the tools that a plugin offers and that read, and one for those that write.
func toolNodes(p *grants.Plugin) (nodes []node) {
	names := map[string][]string{}
	for _, t := range p.Tools {
		if t.Offered {
			names[t.Access] = append(names[t.Access], t.Name)
		}
	}
	for _, access := range []string{"read", "write"} {
		all := names[access]
		if len(all) == 0 {
			continue
		}
		text := chart.Counted(len(all), "tool "+access+"s", "tools "+access)
		list := strings.Join(all, ", ")
		n := node{Text: text, Detail: short(list, maxDetail), Href: "#tools-" + p.Name, Words: p.Name + ": " + text + ": " + short(list, maxWords)}
		if access == "write" {
			n.Text += pen
		}
		nodes = append(nodes, n)
	}
	return nodes
}

func access(write bool) string {
	if write {
		return " reads and writes "
	}
	return " reads "
}

func short(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// shortPath keeps the end of a long text, which distinguishes paths.
func shortPath(text string) string {
	if runes := []rune(text); len(runes) > maxText {
		return "…" + string(runes[len(runes)-maxText+1:])
	}
	return text
}
