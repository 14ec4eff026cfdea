package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/doctor"
)

func newDoctor() *cobra.Command {
	var o options
	var asJSON bool
	var ceiling string
	c := &cobra.Command{
		Use:   "doctor [flags]",
		Short: "Check the installation: directories, config, and every plugin",
		Long: `Check the host's environment: platform, project, the organisation's ceiling if there is
one, config, confinement, the cache of compiled modules, state directory, audit log,
credentials, and the skills of projects, if the config offers them. Load the module of
each plugin and ask it for its handlers. Each check prints a line, with a remedy if there
is a problem.

With --ceiling, show instead what would change on this machine if FILE were its ceiling
(/etc/bulkhead/bulkhead.toml), before it is rolled out: for the config in force, your own
and those that you trust, which plugins would not be served and what they would not be
granted any more. Nothing is run or changed.

Exit codes: 0 no check failed (warnings do not count); 1 at least one check failed, or
a plugin would not be served.`,
		Example: `  bulkhead doctor
  bulkhead doctor --config team.toml --json
  bulkhead doctor --ceiling new-ceiling.toml`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			opened, err := o.complete()
			if err != nil {
				return err
			}
			var checks []doctor.Check
			if ceiling != "" {
				checks = doctor.TryCeiling(opened, ceiling)
			} else {
				checks = doctor.Examine(c.Context(), opened)
			}
			failed := slices.ContainsFunc(checks, func(c doctor.Check) bool { return c.Outcome == doctor.CheckFailed })
			err = printResult(c, asJSON, map[string]any{"ok": !failed, "checks": checks}, func(w page) { printChecks(w, checks) })
			return resultError(err, !failed)
		},
	}
	// Logging is off, because the result contains what would be logged.
	o.add(c, "off")
	c.Flags().StringVar(&ceiling, "ceiling", "", "show what would change if `file` were the ceiling of this machine")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: {\"ok\", \"checks\": [{\"name\", \"outcome\", \"detail\", \"remedy\"}]}")
	return c
}

func printChecks(w page, checks []doctor.Check) {
	for _, c := range checks {
		fmt.Fprintf(w, "%s  %s: %s", w.paint(fmt.Sprintf("%-7s", c.Outcome)), oneLine(c.Name), excerpt(c.Detail))
		if c.Remedy != "" {
			fmt.Fprintf(w, " (remedy: %s)", excerpt(c.Remedy))
		}
		fmt.Fprintln(w)
	}
}
