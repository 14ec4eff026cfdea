package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host/admin"
	"github.com/bulkhead-mcp/bulkhead/host/review"
	"github.com/bulkhead-mcp/bulkhead/host/visible"
)

func newPolicy() *cobra.Command {
	var o options
	var q admin.Question
	var asJSON bool
	c := &cobra.Command{
		Use:   "policy [PLUGIN] [flags]",
		Short: "Say what plugins are granted, and why",
		Long: `Show what each plugin is granted, or one, and for each thing the line of the config or
the rule that decides. With --tool, --path, --origin or --variable: whether that one thing
is allowed, and why it is or is not.

Nothing is opened, made or started, and no value of a variable is shown.`,
		Example: `  bulkhead policy
  bulkhead policy chant --project ~/src/app
  bulkhead policy --tool chant_add
  bulkhead policy chant --path .git/config
  bulkhead policy --origin https://registry.example.com --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				q.Plugin = args[0]
			}
			opened, err := o.complete()
			if err != nil {
				return err
			}
			found, err := admin.Explain(opened, q)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(c.OutOrStdout(), found)
			}
			return printPolicies(c.OutOrStdout(), found)
		},
	}
	// What the log would say is in the answer.
	o.add(c, "off")
	f := c.Flags()
	f.StringVar(&q.Tool, "tool", "", "why the tool with that `name` is offered, or is not")
	f.StringVar(&q.Path, "path", "", "why the file or folder at `path` can be read and written, or cannot")
	f.StringVar(&q.Origin, "origin", "", "why the web server at `URL` can be asked, or cannot")
	f.StringVar(&q.Variable, "variable", "", "why the environment variable `NAME` is seen, or is not")
	f.BoolVar(&asJSON, "json", false, "print JSON: {\"config\", \"plugins\": […]} or {\"config\", \"answers\": [{\"plugin\", \"asked\", \"allowed\", \"why\"}]}")
	c.ValidArgsFunction = func(c *cobra.Command, args []string, text string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return o.completePlugins(c, args, text)
	}
	return c
}

func printPolicies(to io.Writer, found admin.Policies) error {
	w := bufio.NewWriter(to)
	for _, a := range found.Answers {
		yes := "no:  "
		if a.Allowed {
			yes = "yes: "
		}
		what := line(a.Asked)
		if a.Access != "" {
			what += " (" + a.Access + ")"
		}
		fmt.Fprintf(w, "%s  %s\n  %s%s\n", line(a.Plugin), what, yes, shown(a.Why))
	}
	for i, p := range found.Plugins {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := printPolicy(w, p); err != nil {
			return err
		}
	}
	return w.Flush()
}

func printPolicy(w io.Writer, p admin.PluginPolicy) error {
	pinned := "not pinned"
	if p.Pinned {
		pinned = "pinned"
	}
	if p.At != "" {
		pinned = p.At + ", " + pinned
	}
	fmt.Fprintf(w, "%s  %s  (%s)\n", strings.TrimSpace(line(p.Name)+" "+line(p.Version)), line(p.Dir), line(pinned))
	if p.Problem != "" {
		fmt.Fprintf(w, "  left out: %s\n", shown(p.Problem))
	}
	for _, warning := range p.Warnings {
		fmt.Fprintf(w, "  warning: %s\n", shown(warning.String()))
	}
	if p.Policy == nil {
		return nil
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "  tools")
	for _, t := range p.Tools {
		kind := t.Access
		if !t.Offered {
			kind = "not offered"
		}
		fmt.Fprintf(table, "    %s\t%s\t%s\n", line(t.Name), kind, shown(t.By))
	}
	printGrants(table, "folders", p.Folders)
	printGrants(table, "hidden files", p.Hidden)
	printGrants(table, "repositories", p.Repositories)
	printGrants(table, "web servers", p.Origins)
	printGrants(table, "variables", p.Variables)
	for _, f := range p.Names {
		fmt.Fprintf(table, "  %s\n    %s\n", f.Of, visible.Text(filterWords(f)))
	}
	fmt.Fprintln(table, "  limits")
	for _, l := range p.Limits {
		fmt.Fprintf(table, "    %s\t%s\t%s\n", l.Key, l.Value, line(l.By))
	}
	fmt.Fprintf(table, "  isolation\n    %s\n", p.Isolation)
	return table.Flush()
}

// filterWords says which names are allowed: no list of them means all, and an empty one none.
func filterWords(f review.FilterRules) string {
	words := "all are allowed"
	switch {
	case f.Allow != nil && len(f.Allow) == 0:
		return "none are allowed"
	case f.Allow != nil:
		words = fmt.Sprintf("allowed: %q", f.Allow)
	}
	if len(f.Deny) > 0 {
		words += fmt.Sprintf(", denied: %q", f.Deny)
	}
	return words
}

func printGrants(w io.Writer, heading string, grants []review.Grant) {
	if len(grants) == 0 {
		fmt.Fprintf(w, "  %s\n    none\n", heading)
		return
	}
	fmt.Fprintf(w, "  %s\n", heading)
	for _, g := range grants {
		access := g.Access
		if len(g.Remotes) > 0 {
			access += ", remotes " + strings.Join(g.Remotes, " ")
		}
		if g.More != "" {
			access = g.More
		}
		fmt.Fprintf(w, "    %s\t%s\t%s\n", line(g.What), line(access), shown(g.By))
		if arrow := g.Arrow(g.What); arrow != "" {
			fmt.Fprintf(w, "      %s\n", line(strings.TrimLeft(arrow, ", ")))
		}
		if g.Refused != "" {
			fmt.Fprintf(w, "      refused: %s\n", line(g.Refused))
		}
	}
}
