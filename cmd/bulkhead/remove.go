package main

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/install"
)

func newRemove() *cobra.Command {
	var o host.Options
	var asJSON bool
	c := &cobra.Command{
		Use:   "remove NAME|DIR [flags]",
		Short: "Remove a plugin from the config",
		Long: `Remove the table of the plugin with that name, or in that directory, from bulkhead.toml,
with the comment lines directly above it. The rest of the file, the plugin's directory
and its state do not change.`,
		Example: `  bulkhead remove chant
  bulkhead remove dist/plugins/chant --config team.toml`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			gone, err := install.Remove(o, args[0])
			if err != nil {
				return err
			}
			printUnrecorded(gone.Unrecorded)
			if asJSON {
				return printJSON(c.OutOrStdout(), gone)
			}
			w := c.OutOrStdout()
			fmt.Fprintf(w, "Removed %s (%s) from %s.\n", oneLine(gone.Name), oneLine(cmp.Or(gone.From, gone.Dir)), oneLine(gone.Config))
			if gone.State != "" {
				fmt.Fprintf(w, "Its state, if any, is still in %s.\n", oneLine(gone.State))
			}
			if gone.Left == 0 {
				fmt.Fprintf(w, "The config names no plugin now, so a server with this config offers nothing.\n")
			}
			printConfigTrust(w, o, gone.Trust)
			return nil
		},
	}
	configFlag(c, &o)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: {\"config\", \"name\", \"dir\", \"from\", \"state\", \"left\", \"trust\"}")
	return c
}
