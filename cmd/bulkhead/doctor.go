package main

import (
	"bufio"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host/admin"
)

func newDoctor() *cobra.Command {
	var o options
	var asJSON bool
	c := &cobra.Command{
		Use:   "doctor [flags]",
		Short: "Examine the installation: folders, config, and every plugin",
		Long: `Look at all that the host needs: platform, project, config, the cache of compiled modules,
state folder, audit log, credentials; and load the module of each plugin and ask it what it
has handlers for. Each check is a line, with what to do where something is wrong.

Exit codes: 0 nothing failed (warnings do not count); 1 something did.`,
		Example: `  bulkhead doctor
  bulkhead doctor --config team.toml --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			opened, err := o.complete()
			if err != nil {
				return err
			}
			checks := admin.Examine(c.Context(), opened)
			failed := slices.ContainsFunc(checks, func(c admin.Check) bool { return c.Outcome == admin.Failed })
			if asJSON {
				err = printJSON(c.OutOrStdout(), map[string]any{"ok": !failed, "checks": checks})
			} else {
				err = printChecks(c.OutOrStdout(), checks)
			}
			return verdict(err, !failed)
		},
	}
	// What the log would say is in the checks.
	o.add(c, "off")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: {\"ok\", \"checks\": [{\"name\", \"outcome\", \"detail\", \"remedy\"}]}")
	return c
}

func printChecks(to io.Writer, checks []admin.Check) error {
	w := bufio.NewWriter(to)
	for _, c := range checks {
		fmt.Fprintf(w, "%-7s  %s: %s", c.Outcome, line(c.Name), shown(c.Detail))
		if c.Remedy != "" {
			fmt.Fprintf(w, " (remedy: %s)", shown(c.Remedy))
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}
