package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/cmd/bulkhead/demo"
)

func newDemo() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Build the plugins of a checkout and show them at work",
		Long: `Build the plugins of the checkout around the working directory, start this program
as an MCP server of all of them on a home folder and a project in a temporary place,
talk to it as a client would, and compare every answer with what it should be. Your
own files are not touched.

Building reports its progress on stderr; the conversation is printed on stdout.`,
		Example: `  go run ./cmd/bulkhead demo`,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return demo.Run(c.Context(), c.OutOrStdout(), os.Stderr)
		},
	}
}
