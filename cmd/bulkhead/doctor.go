package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/doctor"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
)

func newDoctor() *cobra.Command {
	var o options
	var asJSON bool
	var ceiling string
	var urls []string
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

With --url, once for each server, ask servers over HTTP that should be equal, such as
replicas behind a balancer, whether they are ready, and compare the digests of their
config, ceiling, plugins and revocations. No token is needed; nothing else is checked.

Exit codes: 0 no check failed (warnings do not count); 1 at least one check failed,
a plugin would not be served, or servers differ or cannot be asked.`,
		Example: `  bulkhead doctor
  bulkhead doctor --config team.toml --json
  bulkhead doctor --ceiling new-ceiling.toml
  bulkhead doctor --url http://10.0.0.7:8808 --url http://10.0.0.8:8808`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			opened, err := o.complete()
			if err != nil {
				return err
			}
			var checks []doctor.Check
			switch {
			case len(urls) > 0 && ceiling != "":
				err = usage.Errorf("--ceiling conflicts with --url: keep one of the two")
			case len(urls) > 0:
				checks, err = doctor.CompareServers(c.Context(), urls)
			case ceiling != "":
				checks = doctor.TryCeiling(opened, ceiling)
			default:
				checks = doctor.Examine(c.Context(), opened)
			}
			if err != nil {
				return err
			}
			failed := slices.ContainsFunc(checks, func(c doctor.Check) bool { return c.Outcome == doctor.CheckFailed })
			err = printResult(c, asJSON, map[string]any{"ok": !failed, "checks": checks}, func(w page) { printChecks(w, checks) })
			return resultError(err, !failed)
		},
	}
	// Logging is off, because the result contains what would be logged.
	o.add(c, "off")
	c.Flags().StringVar(&ceiling, "ceiling", "", "show what would change if `file` were the ceiling of this machine")
	c.Flags().StringArrayVar(&urls, "url", nil, "compare the server at this `address` with those of the other flags --url")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: {\"ok\", \"checks\": [{\"name\", \"outcome\", \"detail\", \"remedy\", \"policy\"}]}")
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
