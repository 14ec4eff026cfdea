package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/host/admin"
)

func newRemove() *cobra.Command {
	var o host.Options
	var asJSON bool
	c := &cobra.Command{
		Use:   "remove NAME|DIR [flags]",
		Short: "Take a plugin out of the config",
		Long: `Take the table of the plugin with that name, or in that folder, out of bulkhead.toml,
with the comment lines directly above it. Everything else in the file stays as it is, and
so do the plugin's folder and its state.`,
		Example: `  bulkhead remove chant
  bulkhead remove dist/plugins/chant --config team.toml`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			gone, err := admin.Remove(o, args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(c.OutOrStdout(), gone)
			}
			w := c.OutOrStdout()
			fmt.Fprintf(w, "Removed %s (%s) from %s.\n", line(gone.Name), line(gone.Dir), line(gone.Config))
			if gone.State != "" {
				fmt.Fprintf(w, "What it kept, if it kept anything, is in %s.\n", line(gone.State))
			}
			if gone.Left == 0 {
				fmt.Fprintf(w, "The config names no plugin now, and the host does not start with it.\n")
			}
			printConfigTrust(w, o, gone.Trust)
			return nil
		},
	}
	configFlag(c, &o)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: {\"config\", \"name\", \"dir\", \"state\", \"left\", \"trust\"}")
	return c
}
