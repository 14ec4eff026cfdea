package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/install"
)

func newToken() *cobra.Command {
	c := &cobra.Command{
		Use:   "token",
		Short: "Make a bearer token for serve --http",
		Long: `Make a bearer token for bulkhead serve --http. Clients send it in the header
Authorization of each request. Without it they get status 401 and nothing else.`,
		Example: `  bulkhead token new ~/.config/bulkhead/token`,
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newTokenNew())
	return c
}

func newTokenNew() *cobra.Command {
	return &cobra.Command{
		Use:   "new [FILE]",
		Short: "Make a random bearer token",
		Long: `Make a random bearer token of 260 bits. It is written to a new file that only you can read,
or printed if no file is given. Name the file in token_file of [http], or pass it to
bulkhead serve --http ADDRESS --token-file FILE. To replace a token, delete the file, make
a new one, and restart the server.`,
		Example: `  bulkhead token new ~/.config/bulkhead/token
  BULKHEAD_TOKEN=$(bulkhead token new)`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				_, err := fmt.Fprintln(c.OutOrStdout(), install.NewToken())
				return err
			}
			if err := install.WriteToken(args[0]); err != nil {
				return err
			}
			_, err := fmt.Fprintf(c.ErrOrStderr(), "%s: written\n", oneLine(args[0]))
			return err
		},
	}
}
