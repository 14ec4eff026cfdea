package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/explain"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

func newPolicy() *cobra.Command {
	var o options
	var q explain.Question
	var asJSON bool
	c := &cobra.Command{
		Use:   "policy [PLUGIN] [flags]",
		Short: "Explain what plugins are granted, and why",
		Long: `Show which config is in force, the effective grant of each plugin, or of one, and for each
part the line of the config, the line of the manifest or the rule that decides. With --tool, --path, --origin
or --variable, explain why that one item is or is not allowed.

With --client, show what a client over HTTP is granted, the table of [[clients]] that
decides, and the principal that the audit log has: for the name of a token, or of a table of
[[clients]], for bearer (the token of token_file or token_env), for local (no token), or for a
file with the claims of a JWT. A token comes before a table of the same name.

This has no side effects, and does not show the values of variables.`,
		Example: `  bulkhead policy
  bulkhead policy chant --project ~/src/app
  bulkhead policy --tool chant_add
  bulkhead policy chant --path .git/config
  bulkhead policy --origin https://registry.example.com --json
  bulkhead policy --client ci-build --tool chant_add`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				q.Plugin = args[0]
			}
			opened, err := o.complete()
			if err != nil {
				return err
			}
			q.OfClient = c.Flags().Changed("client")
			found, err := explain.Grants(opened, q)
			if err != nil {
				return err
			}
			return printResult(c, asJSON, found, func(w page) { printPolicies(w, found) })
		},
	}
	// Logging is off, because the result contains what would be logged.
	o.add(c, "off")
	f := c.Flags()
	f.StringVar(&q.Tool, "tool", "", "why the tool `NAME` is or is not offered")
	f.StringVar(&q.Path, "path", "", "why the file or directory at `path` can or cannot be read and written")
	f.StringVar(&q.Origin, "origin", "", "why requests to the web server at `URL` are or are not allowed")
	f.StringVar(&q.Variable, "variable", "", "why the environment variable `NAME` is or is not visible")
	clientFlag(c, &q.Client)
	f.BoolVar(&asJSON, "json", false, "print JSON: {\"config\", \"config_by\", \"passed_over\", \"plugins\": […]} or\n{\"config\", …, \"answers\": [{\"plugin\", \"asked\", \"allowed\", \"why\"}]}")
	must(c.RegisterFlagCompletionFunc("tool", o.completeToolFlag))
	c.ValidArgsFunction = func(c *cobra.Command, args []string, text string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return o.completePlugins(c, args, text)
	}
	return c
}

// clientFlag defines --client on c.
func clientFlag(c *cobra.Command, client *string) {
	c.Flags().StringVar(client, "client", "", "what a `client` over HTTP gets: the name of a token or of a table of [[clients]]\n(table:NAME if both have it), bearer, local, or the path of a JSON file with the claims of a JWT")
}

func printPolicies(w page, found explain.Policies) {
	if len(found.Plugins) > 0 {
		printInForce(w, found.ConfigInForce, found.Client)
	} else if found.Client != nil {
		printClient(w, found.Client)
	}
	for _, a := range found.Answers {
		yes := "no:  "
		if a.Allowed {
			yes = "yes: "
		}
		what := oneLine(a.Asked)
		if a.Access != "" {
			what += " (" + a.Access + ")"
		}
		fmt.Fprintf(w, "%s  %s\n  %s%s\n", oneLine(a.Plugin), what, w.paint(yes), excerpt(a.Why))
	}
	for i, p := range found.Plugins {
		if i > 0 {
			fmt.Fprintln(w)
		}
		printPolicy(w, p)
	}
	printProjectSkills(w, found.Skills)
}

func printPolicy(w page, p explain.PluginPolicy) {
	pinned := "not pinned"
	if p.Pinned {
		pinned = "pinned"
	}
	if p.At != "" {
		pinned = p.At + ", " + pinned
	}
	fmt.Fprintf(w, "%s  %s  (%s)\n", w.style.Title(strings.TrimSpace(oneLine(p.Name)+" "+oneLine(p.Version))), oneLine(cmp.Or(p.From, p.Dir)), oneLine(pinned))
	if p.Problem != "" {
		fmt.Fprintf(w, "  %s %s\n", w.paint("left out:"), excerpt(p.Problem))
	}
	for _, warning := range p.Warnings {
		fmt.Fprintf(w, "  %s %s\n", w.paint("warning:"), excerpt(warning.String()))
	}
	if p.Policy == nil {
		return
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "  tools")
	for _, t := range p.Tools {
		kind := t.Access
		if !t.Offered {
			kind = "not offered"
		}
		fmt.Fprintf(table, "    %s\t%s\t%s\n", oneLine(t.Name), kind, excerpt(t.By))
		if t.Approval != "" {
			fmt.Fprintf(table, "    \tafter approval\t%s\n", excerpt(t.Approval))
		}
	}
	printGrants(table, "directories", p.Folders)
	printGrants(table, "hidden files", p.Hidden)
	printGrants(table, "repositories", p.Repositories)
	printGrants(table, "web servers", p.Origins)
	printGrants(table, "variables", p.Variables)
	printGrants(table, "questions to clients", p.Questions)
	for _, f := range p.Names {
		fmt.Fprintf(table, "  %s\n    %s\n", f.Of, visible.Text(formatFilter(f)))
	}
	if p.Approval != "" {
		fmt.Fprintf(table, "  each prompt and resource is read after approval\n    %s\n", excerpt(p.Approval))
	}
	fmt.Fprintln(table, "  limits")
	for _, l := range p.Limits {
		fmt.Fprintf(table, "    %s\t%s\t%s\n", l.Key, l.Value, oneLine(l.By))
	}
	fmt.Fprintf(table, "  isolation\n    %s\n", p.Isolation)
	_ = table.Flush() // printPage returns the error of w
}

// formatFilter describes a name filter. A nil allow list allows all names, an empty one none.
func formatFilter(f review.FilterRules) string {
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
		fmt.Fprintf(w, "    %s\t%s\t%s\n", oneLine(g.What), oneLine(access), excerpt(g.By))
		if arrow := g.Arrow(g.What); arrow != "" {
			fmt.Fprintf(w, "      %s\n", oneLine(strings.TrimLeft(arrow, ", ")))
		}
		if g.Refused != "" {
			fmt.Fprintf(w, "      refused: %s\n", oneLine(g.Refused))
		}
	}
}
