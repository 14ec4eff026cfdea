package main

import (
	"bufio"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host/admin"
)

func newWarm() *cobra.Command {
	var o options
	var asJSON bool
	c := &cobra.Command{
		Use:   "warm [PLUGIN...] [flags]",
		Args:  cobra.ArbitraryArgs,
		Short: "Compile modules ahead of their first call",
		Long: `Compile the module of each plugin that would be offered, or of the named ones, into the
cache that servers of this user share, so that no first call has to wait for it. What is
there already is checked and kept. All servers and this command together run as many
compilers at a time as the machine has cores. Progress goes to standard error.

Exit codes: 0 all are compiled, or left out by the config; 1 one cannot be; 2 wrong usage.`,
		Example: `  bulkhead warm
  bulkhead warm chant notes
  bulkhead warm --config /etc/bulkhead/bulkhead.toml --json`,
		ValidArgsFunction: func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return o.completePlugins(c, args, "")
		},
		RunE: func(c *cobra.Command, args []string) error {
			o.Plugins = append(o.Plugins, args...)
			opened, err := o.complete()
			if err != nil {
				return err
			}
			all, err := admin.Warm(c.Context(), opened, func(p admin.Warmed) { printProgress(c.ErrOrStderr(), p) })
			if err != nil {
				return err
			}
			failed := slices.ContainsFunc(all, func(p admin.Warmed) bool { return p.State == admin.Failing })
			if asJSON {
				err = printJSON(c.OutOrStdout(), map[string]any{"ok": !failed, "plugins": all})
			} else {
				err = printWarmed(c.OutOrStdout(), all)
			}
			return verdict(err, !failed)
		},
	}
	// What the log would say is in the result.
	o.add(c, "off")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: {\"ok\", \"plugins\": [{\"plugin\", \"module\", \"state\", \"took_ns\", \"reason\"}]}")
	return c
}

// printProgress tells of a plugin whose module is not compiled yet, and when it is.
func printProgress(to io.Writer, p admin.Warmed) {
	switch p.State {
	case "":
		fmt.Fprintf(to, "%s: compiling\n", line(p.Plugin))
	case admin.Compiled:
		fmt.Fprintf(to, "%s: compiled in %.1f s\n", line(p.Plugin), p.Took.Seconds())
	}
}

func printWarmed(to io.Writer, all []admin.Warmed) error {
	w := bufio.NewWriter(to)
	for _, p := range all {
		fmt.Fprintf(w, "%-8s  %s", p.State, line(p.Plugin))
		if p.Reason != "" {
			fmt.Fprintf(w, ": %s", shown(p.Reason))
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}
