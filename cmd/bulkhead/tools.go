package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/explain"
	"github.com/bulkhead-mcp/bulkhead/internal/base/term"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

func newTools() *cobra.Command {
	var o options
	var asJSON bool
	c := &cobra.Command{
		Use:   "tools [flags]",
		Short: "List the tools that would be offered, and why others would not",
		Long: `List the tools that would be offered, and why others would not. The first lines name
the config in force, and those that it takes precedence over.

The exit code is 1 if a plugin is left out.`,
		Example: `  bulkhead tools
  bulkhead tools --plugin chant --json
  bulkhead tools --config team.toml --allow-write`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			h, err := o.open()
			if err != nil {
				return err
			}
			plugins := h.Plugins()
			config, err := explain.FindConfigInForce(o.Options)
			if err != nil {
				return err
			}
			if asJSON {
				err = printJSON(c.OutOrStdout(), struct {
					explain.ConfigInForce
					Plugins []host.PluginInfo `json:"plugins"`
				}{config, plugins})
			} else {
				err = printTools(c.OutOrStdout(), config, plugins)
			}
			return resultError(err, !slices.ContainsFunc(plugins, func(p host.PluginInfo) bool { return p.Problem != "" }))
		},
	}
	// Logging is off, because the result contains what would be logged.
	o.add(c, "off")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: {\"config\", \"config_by\", \"passed_over\",\n\"plugins\": [{\"name\", \"dir\", \"problem\", \"tools\": […]}]}")
	return c
}

func printTools(to io.Writer, config explain.ConfigInForce, plugins []host.PluginInfo) error {
	w, style := bufio.NewWriter(to), term.StyleOf(to)
	printInForce(w, config)
	for i, p := range plugins {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s  %s\n", style.Title(strings.TrimSpace(oneLine(p.Name+" "+p.Version))), oneLine(p.Dir))
		if p.Problem != "" {
			fmt.Fprintf(w, "  %s %s\n", paint(style, "left out:"), visible.Text(indented(p.Problem)))
		}
		for _, warning := range p.Warnings {
			fmt.Fprintf(w, "  %s %s\n", paint(style, "warning:"), visible.Text(indented(warning.String())))
		}
		if p.Problem != "" {
			continue
		}
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, t := range p.Tools {
			note := oneLine(firstLine(t.Description))
			if !t.Offered {
				note = paint(style, "not offered:") + " " + oneLine(t.Why)
			}
			fmt.Fprintf(table, "  %s\t%s\t%s\n", oneLine(t.Name), t.Access, note)
		}
		if err := table.Flush(); err != nil {
			return err
		}
		printResolvedGrants(w, p.Grants)
		printOffers(w, "prompts", p.Prompts)
		printOffers(w, "resources", p.Resources)
	}
	return w.Flush()
}

// printResolvedGrants prints the granted paths that are refused, too broad, or resolve to a different path.
func printResolvedGrants(w io.Writer, grants []host.GrantInfo) {
	for _, g := range grants {
		switch {
		case g.Refused != "":
			fmt.Fprintf(w, "  refused: %s\n", oneLine(g.Refused))
		case g.Resolved != g.Path || g.Broad:
			fmt.Fprintf(w, "  granted: %s (%s) → %s, %s\n", oneLine(g.Path), g.Access, oneLine(g.Resolved), g.Breadth)
		}
	}
}

// printOffers prints the prompts or resources that a plugin offers. It prints nothing if there are none.
func printOffers(w io.Writer, what string, names []string) {
	switch {
	case slices.Contains(names, "*"):
		fmt.Fprintf(w, "  %s: listed by the plugin at run time\n", what)
	case len(names) > 0:
		fmt.Fprintf(w, "  %s: %s\n", what, oneLine(strings.Join(names, ", ")))
	}
}

// indented indents all lines but the first.
func indented(text string) string { return strings.ReplaceAll(text, "\n", "\n    ") }

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// resultError returns err, or exitNo for a negative result that has been printed.
func resultError(err error, ok bool) error {
	if err == nil && !ok {
		return exitStatus(exitNo)
	}
	return err
}

// printJSON prints v as JSON that is safe on a terminal: invisible and control characters are escaped.
func printJSON(w io.Writer, v any) error {
	text, err := rawjson.MarshalIndent(v, "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", escapeInvisible(text))
	return err
}

// escapeInvisible replaces characters that are not visible on a terminal by \u escapes. In valid JSON they occur only
// in strings, so the value is the same.
func escapeInvisible(text []byte) []byte {
	if !bytes.ContainsFunc(text, needsEscape) {
		return text
	}
	out := make([]byte, 0, len(text)+64)
	for _, r := range string(text) {
		switch {
		case !needsEscape(r):
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

func needsEscape(r rune) bool { return r >= 0x7f && !visible.Rune(r) }
