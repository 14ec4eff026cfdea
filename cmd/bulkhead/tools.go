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
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/tokens"
)

func newTools() *cobra.Command {
	var o options
	var asJSON, withTokens bool
	var client string
	c := &cobra.Command{
		Use:   "tools [flags]",
		Short: "List the tools that would be offered, and why others would not",
		Long: `List the tools that would be offered, and why others would not. The first lines name
the config in force, and those that it takes precedence over; the last ones the skills of
the project, if the config offers them. With --client, list what a client over HTTP would
be offered.

With --tokens, list what each tool of the list costs a model: its name, description and
schema in bytes and in tokens, which are estimated as docs/context.md describes.

The exit code is 1 if a plugin is left out.`,
		Example: `  bulkhead tools
  bulkhead tools --plugin chant --json
  bulkhead tools --config team.toml --allow-write
  bulkhead tools --tokens --tools search
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
			var skills *explain.ProjectSkills
			if names, problems := h.ProjectSkills(); names != nil {
				skills = &explain.ProjectSkills{Names: names, Problems: problems}
			}
			if c.Flags().Changed("client") {
				found, err := o.forClient(client)
				if err != nil {
					return err
				}
				offered, decided, skills = clientPlugins(found, plugins), found.Client, found.Skills
			}
			r := toolsResult{ConfigInForce: config, Client: decided, Plugins: offered, Skills: skills, mode: h.ToolMode(), Own: h.OwnTools(offered)}
			if withTokens {
				r.addCost()
			}
			err = printResult(c, asJSON, r, r.print)
			return resultError(err, !slices.ContainsFunc(plugins, func(p host.PluginInfo) bool { return p.Problem != "" }))
		},
	}
	// Logging is off, because the result contains what would be logged.
	o.add(c, "off")
	clientFlag(c, &client)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: {\"config\", \"config_by\", \"passed_over\",\n\"plugins\": [{\"name\", \"dir\", \"problem\", \"tools\": […]}]}")
	c.Flags().BoolVar(&withTokens, "tokens", false, "list what the tools cost a model; with --json in \"list\", and in \"cost\" of each listed tool")
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

// toolsResult is the result of the command.
type toolsResult struct {
	explain.ConfigInForce
	Client  *explain.Client        `json:"client,omitempty"`
	Own     []host.ToolInfo        `json:"host_tools,omitempty"` // tools of the host itself, by which clients find and call the others
	List    *tokens.List           `json:"list,omitempty"`       // with --tokens: what the list of tools costs
	Plugins []host.PluginInfo      `json:"plugins"`
	Skills  *explain.ProjectSkills `json:"project_skills,omitempty"` // nil: the config offers no skills of the project

	mode string
}

func (r toolsResult) print(w page) {
	printInForce(w, r.ConfigInForce, r.Client)
	if r.Own != nil {
		fmt.Fprintf(w, "%s  clients list these tools of the host, and find the others by them\n", w.style.Title("tools = "+r.mode))
		printOwn(w, r.Own)
	}
	if r.List != nil {
		r.printCost(w)
		return
	}
	printTools(w, r.Plugins)
	printProjectSkills(w, r.Skills)
}

// printProjectSkills prints the skills of the project, and the problems of others.
func printProjectSkills(w page, s *explain.ProjectSkills) {
	if s == nil {
		return
	}
	fmt.Fprintf(w, "\n%s  %s\n", w.style.Title("skills of the project"), cmp.Or(strings.Join(s.Names, ", "), "none"))
	for _, p := range s.Problems {
		fmt.Fprintf(w, "  %s %s\n", w.paint("warning:"), visible.Text(indented(p.String())))
	}
}

// printOwn prints the tools of the host itself.
func printOwn(w page, own []host.ToolInfo) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, t := range own {
		fmt.Fprintf(table, "  %s\t%s\t%s\n", t.Name, t.Access, oneLine(t.Description))
	}
	_ = table.Flush() // printPage returns the error of w
	fmt.Fprintln(w)
}

func printTools(w page, plugins []host.PluginInfo) {
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
		printOffers(w, "skills", p.Skills)
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
