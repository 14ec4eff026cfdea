package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/install"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
	"github.com/bulkhead-mcp/bulkhead/internal/base/term"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

// oneLine is visible.Line, which nearly all output of commands passes through.
func oneLine(text string) string { return visible.Line(text) }

// maxExcerpt is the maximum length of an excerpt, in code points.
const maxExcerpt = 400

// excerpt is oneLine with a maximum length. The complete text is available with --json.
func excerpt(text string) string {
	return shortened(text, maxExcerpt, ": see them with --json")
}

// shortened makes a text one line without invisible characters. If it has more than limit code points, it is cut, and hint follows
// what says so.
func shortened(text string, limit int, hint string) string {
	runes := []rune(oneLine(text))
	if len(runes) <= limit {
		return string(runes)
	}
	return fmt.Sprintf("%s… (and %d more characters%s)", string(runes[:limit]), len(runes)-limit, hint)
}

// printProposal prints what a plugin asks for, and the table that Write will add to the config.
func printProposal(to io.Writer, p *install.Proposal) {
	w, style := bufio.NewWriter(to), term.StyleOf(to)
	defer w.Flush()
	r := p.Plugin
	fmt.Fprintf(w, "%s: %s\n", style.Title(r.Name+" "+oneLine(r.Version)), excerpt(r.Description))
	if s := p.Source; s != nil {
		fmt.Fprintf(w, "  from       %s\n  archive    %s, %.1f MB\n", oneLine(s.From), s.Archive, float64(s.Size)/1e6)
		fmt.Fprintf(w, "  signer     %s\n", signerText(s))
		if s.Catalogue != "" {
			fmt.Fprintf(w, "  catalogue  %s\n", oneLine(s.Catalogue))
		}
	} else {
		fmt.Fprintf(w, "  directory  %s\n", oneLine(r.Dir))
	}
	fmt.Fprintf(w, "  module     %s\n", r.ModuleDigest)
	if r.License != "" {
		fmt.Fprintf(w, "  licence    %s\n", oneLine(r.License))
	}
	if r.Listed > 0 {
		fmt.Fprintf(w, "  listing    %d bytes, about %d tokens of each conversation\n", r.Listed, r.Listed/review.BytesPerToken)
	}
	printRequests(w, style, r.Items)
	printReviewedTools(w, style, r.Tools)
	if p.Revision != nil {
		printRevision(w, style, p.Revision)
	}
	printWarnings(w, style, p.Warnings)
	if p.Manifest != "" {
		fmt.Fprintf(w, "\nIts manifest:\n\n")
		for row := range strings.Lines(p.Manifest) {
			fmt.Fprintf(w, "  %s\n", visible.Text(strings.TrimRight(row, "\r\n")))
		}
	}
	if p.Table != "" {
		creates := ""
		if p.Creates {
			creates = ", which is created, and from then on determines which plugins are offered"
		}
		fmt.Fprintf(w, "\nThis is added to %s%s:\n\n", oneLine(p.Config), creates)
		if p.Audit != "" {
			fmt.Fprintf(w, "  # because %s requires an audit log\n", oneLine(p.AuditRequiredBy))
		}
		for row := range strings.Lines(p.Audit + p.Table) {
			fmt.Fprintf(w, "  %s\n", strings.TrimRight(visible.Text(row), "\n"))
		}
	}
}

func printWarnings(w io.Writer, style term.Style, warnings tomlfile.Problems) {
	for _, warning := range warnings {
		fmt.Fprintf(w, "\n%s %s: %s\n", paint(style, "warning:"), oneLine(warning.Key), excerpt(warning.What))
		if warning.Remedy != "" {
			fmt.Fprintf(w, "  remedy: %s\n", excerpt(warning.Remedy))
		}
	}
}

// printRevision prints what changes in comparison with the pinned version: what the plugin asks for, and what it is granted.
func printRevision(w io.Writer, style term.Style, r *install.Revision) {
	if r.Unknown != "" {
		fmt.Fprintf(w, "\nNo comparison: %s.\n", excerpt(r.Unknown))
		return
	}
	fmt.Fprintf(w, "\nCompared with %s:\n\n", oneLine(r.Old))
	printManifestChanges(w, style, *r.Difference)
	if r.Grants == nil {
		fmt.Fprintf(w, "\nThe pinned version was left out, so what it was granted is unknown.\n")
		return
	}
	fmt.Fprintf(w, "\nThe config grants, before and after:\n\n")
	for _, l := range r.Grants {
		mark := map[string]string{review.Added: "+", review.Removed: "-", "": " "}[l.Change]
		fmt.Fprintln(w, strings.TrimRight(paintChange(style, fmt.Sprintf("%s %-12s  %s", mark, l.Kind, excerpt(l.What))), " "))
	}
}

func printRequests(w io.Writer, style term.Style, items []review.Item) {
	if len(items) == 0 {
		fmt.Fprintf(w, "\nIt asks for nothing but its own state directory.\n")
		return
	}
	fmt.Fprintf(w, "\nIt asks to:\n")
	for _, item := range items {
		fmt.Fprintf(w, "  - %s\n", excerpt(item.Words))
		if item.Why != "" {
			fmt.Fprintf(w, "      its author says why: %s\n", excerpt(item.Why))
		}
		if item.Optional {
			fmt.Fprintf(w, "      the plugin works without this\n")
		}
		if item.Caution != "" {
			fmt.Fprintf(w, "      %s %s\n", paint(style, "note:"), excerpt(item.Caution))
		}
		if item.NotGiven != "" {
			fmt.Fprintf(w, "      %s %s\n", paint(style, "not granted:"), excerpt(item.NotGiven))
		}
	}
}

func printReviewedTools(w io.Writer, style term.Style, tools []review.Tool) {
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
		fmt.Fprintf(w, "  %s  %s: %s\n", paint(style, kind), oneLine(t.Name), excerpt(t.Description))
		if t.WhyNot != "" {
			fmt.Fprintf(w, "            not offered: %s\n", excerpt(t.WhyNot))
		}
	}
}

// signerText says who signed a plugin that was fetched.
func signerText(s *install.Source) string {
	switch {
	case s.Signer == "":
		return "none: the archive is not signed"
	case s.Catalogue != "":
		return s.Signer + ", as the catalogue says"
	case s.SignerKnown:
		return s.Signer
	}
	return s.Signer + ", first use: nothing but the archive says whose key this is"
}
