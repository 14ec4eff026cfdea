package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/explain"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

func newTools() *cobra.Command {
	var o options
	var asJSON bool
	var client string
	c := &cobra.Command{
		Use:   "tools [flags]",
		Short: "List the tools that would be offered, and why others would not",
		Long: `List the tools that would be offered, and why others would not. The first lines name
the config in force, and those that it takes precedence over. With --client, list what
a client over HTTP would be offered.

The exit code is 1 if a plugin is left out.`,
		Example: `  bulkhead tools
  bulkhead tools --plugin chant --json
  bulkhead tools --config team.toml --allow-write
  bulkhead tools --config team.toml --client ci-build`,
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
			offered := plugins
			var decided *explain.Client
			if c.Flags().Changed("client") {
				found, err := o.forClient(client)
				if err != nil {
					return err
				}
				offered, decided = clientPlugins(found, plugins), found.Client
			}
			err = printResult(c, asJSON, struct {
				explain.ConfigInForce
				Client  *explain.Client   `json:"client,omitempty"`
				Plugins []host.PluginInfo `json:"plugins"`
			}{config, decided, offered}, func(w page) { printTools(w, config, decided, offered) })
			return resultError(err, !slices.ContainsFunc(plugins, func(p host.PluginInfo) bool { return p.Problem != "" }))
		},
	}
	// Logging is off, because the result contains what would be logged.
	o.add(c, "off")
	clientFlag(c, &client)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: {\"config\", \"config_by\", \"passed_over\",\n\"plugins\": [{\"name\", \"dir\", \"problem\", \"tools\": […]}]}")
	return c
}

// forClient returns the grants of a client over HTTP.
func (o *options) forClient(client string) (explain.Policies, error) {
	opened, err := o.complete()
	if err != nil {
		return explain.Policies{}, err
	}
	return explain.Grants(opened, explain.Question{Client: client, OfClient: true})
}

func printTools(w page, config explain.ConfigInForce, client *explain.Client, plugins []host.PluginInfo) {
	printInForce(w, config, client)
	for i, p := range plugins {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s  %s\n", w.style.Title(strings.TrimSpace(oneLine(p.Name+" "+p.Version))), oneLine(cmp.Or(p.From, p.Dir)))
		if p.Problem != "" {
			fmt.Fprintf(w, "  %s %s\n", w.paint("left out:"), visible.Text(indented(p.Problem)))
		}
		for _, warning := range p.Warnings {
			fmt.Fprintf(w, "  %s %s\n", w.paint("warning:"), visible.Text(indented(warning.String())))
		}
		if p.Problem != "" {
			continue
		}
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		first := map[string]string{} // the first tool that is not offered, by the reason
		for _, t := range p.Tools {
			note := oneLine(firstLine(t.Description))
			if !t.Offered {
				why := t.Why
				if same := first[why]; same != "" {
					why = "as " + same
				} else {
					first[why] = t.Name
				}
				note = w.paint("not offered:") + " " + oneLine(why)
			}
			if t.Approval != "" {
				note = "(after approval: " + oneLine(t.Approval) + ") " + note
			}
			fmt.Fprintf(table, "  %s\t%s\t%s\n", oneLine(t.Name), t.Access, note)
		}
		_ = table.Flush() // printPage returns the error of w
		printResolvedGrants(w, p.Grants)
		printOffers(w, "prompts", p.Prompts)
		printOffers(w, "resources", p.Resources)
	}
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
