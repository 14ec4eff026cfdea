package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/host/admin"
	"github.com/bulkhead-mcp/bulkhead/host/review"
	"github.com/bulkhead-mcp/bulkhead/host/visible"
)

// line is untrusted text on one line. White space that is not visible as such is replaced, not joined: two
// paths that differ in it look different.
func line(text string) string {
	return visible.Text(strings.Join(strings.FieldsFunc(text, isBreak), " "))
}

// isBreak tells whether r separates words or lines and may be shown as a space.
func isBreak(r rune) bool {
	switch r {
	case ' ', '\t', '\n', '\v', '\f', '\r', '\u0085', '\u2028', '\u2029':
		return true
	}
	return false
}

// maxShown bounds a description that is shown, in characters; --json has all of it.
const maxShown = 400

func shown(text string) string {
	runes := []rune(line(text))
	if len(runes) <= maxShown {
		return string(runes)
	}
	return fmt.Sprintf("%s… (and %d more characters: see them with --json)", string(runes[:maxShown]), len(runes)-maxShown)
}

// printProposal shows what a plugin asks for, and what is about to be written.
func printProposal(to io.Writer, p *admin.Proposal) {
	w := bufio.NewWriter(to)
	defer w.Flush()
	r := p.Plugin
	fmt.Fprintf(w, "%s %s: %s\n", r.Name, line(r.Version), shown(r.Description))
	fmt.Fprintf(w, "  folder  %s\n  module  %s\n", line(r.Dir), r.ModuleDigest)
	if r.License != "" {
		fmt.Fprintf(w, "  licence %s\n", line(r.License))
	}
	printAsked(w, r.Items)
	printReviewedTools(w, r.Tools)
	for _, warning := range p.Warnings {
		fmt.Fprintf(w, "\nwarning: %s: %s\n", line(warning.Key), shown(warning.What))
		if warning.Remedy != "" {
			fmt.Fprintf(w, "  remedy: %s\n", shown(warning.Remedy))
		}
	}
	if p.Table != "" {
		creates := ""
		if p.Creates {
			creates = ", which is made, and from then on says which plugins there are"
		}
		fmt.Fprintf(w, "\nThis is added to %s%s:\n\n", line(p.Config), creates)
		for row := range strings.Lines(p.Table) {
			fmt.Fprintf(w, "  %s\n", strings.TrimRight(visible.Text(row), "\n"))
		}
	}
}

func printAsked(w io.Writer, items []review.Item) {
	if len(items) == 0 {
		fmt.Fprintf(w, "\nIt asks for nothing but its own state folder.\n")
		return
	}
	fmt.Fprintf(w, "\nIt asks to:\n")
	for _, item := range items {
		fmt.Fprintf(w, "  - %s\n", shown(item.Words))
		if item.Why != "" {
			fmt.Fprintf(w, "      its author says why: %s\n", shown(item.Why))
		}
		if item.Optional {
			fmt.Fprintf(w, "      it works without\n")
		}
		if item.Caution != "" {
			fmt.Fprintf(w, "      note: %s\n", shown(item.Caution))
		}
		if item.NotGiven != "" {
			fmt.Fprintf(w, "      not granted: %s\n", shown(item.NotGiven))
		}
	}
}

func printReviewedTools(w io.Writer, tools []review.Tool) {
	writes := 0
	for _, t := range tools {
		if t.Writes {
			writes++
		}
	}
	fmt.Fprintf(w, "\nIts tools (%d, of which %d write, as its author says):\n", len(tools), writes)
	for _, t := range tools {
		kind := "reads   "
		switch {
		case t.Writes && t.Destructive:
			kind = "DESTROYS"
		case t.Writes:
			kind = "WRITES  "
		}
		fmt.Fprintf(w, "  %s  %s: %s\n", kind, line(t.Name), shown(t.Description))
		if t.WhyNot != "" {
			fmt.Fprintf(w, "            not offered: %s\n", shown(t.WhyNot))
		}
	}
}
