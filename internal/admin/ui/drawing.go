package ui

import (
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/grants"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
)

// drawing is a picture of what one client is granted: the client, its plugins, and what these reach.
type drawing struct {
	Width, Height int
	Nodes         []node
	Edges         []edge
	LeftOut       int // edges that are not drawn, since there are too many
}

type node struct {
	X, Y, Width  int
	Text, Detail string
}

// edge is drawn from (X1, Y1) to (X2, Y2).
type edge struct {
	X1, Y1, X2, Y2 int
	Write          bool
	Words          string
	At             []config.Position
}

// The layout of a drawing, in units of SVG.
const (
	nodeHeight  = 44
	rowHeight   = 54
	columnWidth = 250
	columnGap   = 130
	maxRows     = 40
	maxText     = 30 // characters of a name
)

// Mid returns where the curve of an edge bends.
func (e edge) Mid() int { return (e.X1 + e.X2) / 2 }

func draw(c grants.Client) drawing {
	const pluginX, thingX = columnWidth + columnGap, 2 * (columnWidth + columnGap)
	d := drawing{Width: thingX + columnWidth}
	things := map[string]int{} // the rows of what is reached
	row := 0
	for _, p := range c.Plugins {
		if p.Problem != "" {
			continue
		}
		if row == maxRows {
			d.LeftOut++
			continue
		}
		y := row * rowHeight
		row++
		d.Nodes = append(d.Nodes, node{pluginX, y, columnWidth, short(p.Name), fmt.Sprintf("%d tools, %d write", p.Breadth.Tools, p.Breadth.Writing)})
		d.Edges = append(d.Edges, edge{columnWidth, nodeHeight / 2, pluginX, y + nodeHeight/2, p.Breadth.Writes(), c.Name + " may use " + p.Name, c.At})
		for _, g := range p.Grants {
			if g.State {
				continue
			}
			at, drawn := things[g.Kind+" "+g.What]
			if !drawn {
				if len(things) == maxRows {
					d.LeftOut++
					continue
				}
				at = len(things)
				things[g.Kind+" "+g.What] = at
				d.Nodes = append(d.Nodes, node{thingX, at * rowHeight, columnWidth, shortPath(g.What), g.Kind})
			}
			d.Edges = append(d.Edges, edge{pluginX + columnWidth, y + nodeHeight/2, thingX, at*rowHeight + nodeHeight/2, g.Write, p.Name + access(g.Write) + g.What, g.At})
		}
	}
	d.Nodes = append(d.Nodes, node{0, 0, columnWidth, short(c.Name), "client"})
	d.Height = max(row, len(things), 1) * rowHeight
	return d
}

func access(write bool) string {
	if write {
		return " reads and writes "
	}
	return " reads "
}

func short(text string) string {
	if runes := []rune(text); len(runes) > maxText {
		return string(runes[:maxText-1]) + "…"
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
