package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/host/visible"
)

func newTools() *cobra.Command {
	var o options
	var asJSON bool
	c := &cobra.Command{
		Use:   "tools [flags]",
		Short: "List the tools that would be offered, and why others are not",
		Example: `  bulkhead tools
  bulkhead tools --plugin chant --json
  bulkhead tools --config team.toml --allow-write`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			h, err := o.open()
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(c.OutOrStdout(), map[string]any{"plugins": h.Plugins()})
			}
			return printTools(c.OutOrStdout(), h.Plugins())
		},
	}
	// What the log would say is in the list.
	o.add(c, "off")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: {\"plugins\": [{\"name\", \"dir\", \"problem\", \"tools\": […]}]}")
	return c
}

func printTools(to io.Writer, plugins []host.PluginInfo) error {
	w := bufio.NewWriter(to)
	for i, p := range plugins {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s  %s\n", strings.TrimSpace(line(p.Name+" "+p.Version)), line(p.Dir))
		if p.Problem != "" {
			fmt.Fprintf(w, "  left out: %s\n", visible.Text(indented(p.Problem)))
		}
		for _, warning := range p.Warnings {
			fmt.Fprintf(w, "  warning: %s\n", visible.Text(indented(warning.String())))
		}
		if p.Problem != "" {
			continue
		}
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, t := range p.Tools {
			note := firstLine(t.Description)
			if !t.Offered {
				note = "not offered: " + t.Why
			}
			fmt.Fprintf(table, "  %s\t%s\t%s\n", line(t.Name), t.Access, line(note))
		}
		if err := table.Flush(); err != nil {
			return err
		}
		printLeads(w, p.Grants)
		printClaim(w, "prompts", p.Prompts)
		printClaim(w, "resources", p.Resources)
	}
	return w.Flush()
}

// printLeads says which granted paths lead elsewhere, or to everything, or are refused for that.
func printLeads(w io.Writer, grants []host.GrantInfo) {
	for _, g := range grants {
		switch {
		case g.Refused != "":
			fmt.Fprintf(w, "  refused: %s\n", line(g.Refused))
		case g.Resolved != g.Path || g.Broad:
			fmt.Fprintf(w, "  granted: %s (%s) → %s, %s\n", line(g.Path), g.Access, line(g.Resolved), g.Breadth)
		}
	}
}

// printClaim says what a plugin offers beside tools, if anything.
func printClaim(w io.Writer, what string, names []string) {
	switch {
	case slices.Contains(names, "*"):
		fmt.Fprintf(w, "  %s: those that it has at call time\n", what)
	case len(names) > 0:
		fmt.Fprintf(w, "  %s: %s\n", what, line(strings.Join(names, ", ")))
	}
}

// indented keeps further lines under the first.
func indented(text string) string { return strings.ReplaceAll(text, "\n", "\n    ") }

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// verdict is the error of a command that has printed its answer, or could not: err, or exitNo for a no.
func verdict(err error, yes bool) error {
	if err == nil && !yes {
		return silent(exitNo)
	}
	return err
}

// printJSON writes v as JSON that a terminal can show: what would steer one is escaped, and means the same.
func printJSON(w io.Writer, v any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(escaped(text.Bytes()))
	return err
}

// escaped writes the characters of JSON that a terminal would not show as such in its escapes. They stand in
// strings only.
func escaped(text []byte) []byte {
	if !bytes.ContainsFunc(text, steers) {
		return text
	}
	out := make([]byte, 0, len(text)+64)
	for _, r := range string(text) {
		switch {
		case !steers(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

func steers(r rune) bool { return r >= 0x7f && !visible.Rune(r) }
