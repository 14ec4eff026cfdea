package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/tokens"
)

// addCost adds what the list of tools costs, and each tool in it.
func (r *toolsResult) addCost() {
	r.List = &tokens.List{}
	add := func(t *host.ToolInfo) {
		cost := r.List.Add(t.Name, t.Description, t.Input)
		t.Cost = &cost
	}
	for i := range r.Own {
		add(&r.Own[i])
	}
	for _, p := range r.Plugins {
		for i := range p.Tools {
			if p.Tools[i].Offered && (r.Own == nil || p.Listed) {
				add(&p.Tools[i])
			}
		}
	}
}

// printCost prints the cost of each listed tool, the most expensive first.
func (r toolsResult) printCost(w page) {
	type row struct {
		plugin string
		host.ToolInfo
	}
	var rows []row
	add := func(plugin string, tools []host.ToolInfo) {
		for _, t := range tools {
			if t.Cost != nil {
				rows = append(rows, row{plugin, t})
			}
		}
	}
	add("", r.Own)
	for _, p := range r.Plugins {
		add(p.Name, p.Tools)
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(b.Cost.Tokens, a.Cost.Tokens) })
	fmt.Fprintf(w, "%8s  %8s\n", "tokens", "bytes")
	for _, t := range rows {
		fmt.Fprintf(w, "%8d  %8d  %s\n", t.Cost.Tokens, t.Cost.Bytes, oneLine(t.Name))
	}
	of := map[string]*tokens.List{}
	for _, t := range rows {
		if of[t.plugin] == nil {
			of[t.plugin] = &tokens.List{}
		}
		of[t.plugin].Tools++
		of[t.plugin].Tokens += t.Cost.Tokens
		of[t.plugin].Bytes += t.Cost.Bytes
	}
	fmt.Fprintln(w)
	total := func(name string, l *tokens.List) {
		if l != nil {
			fmt.Fprintf(w, "%8d  %8d  %s, tools: %d\n", l.Tokens, l.Bytes, oneLine(name), l.Tools)
		}
	}
	total("the host itself", of[""])
	for _, p := range r.Plugins {
		total(p.Name, of[p.Name])
	}
	total(w.style.Title("all"), r.List)
}
