package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/demo"
)

func newDemo() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Build the plugins of a checkout and demonstrate them",
		Long: `Build the plugins of the checkout that contains the working directory, start this
program as an MCP server of all of them in a temporary home directory and project,
send requests as a client would, and compare every answer with the expected one. Your
own files are not changed.

Build progress goes to stderr; the conversation goes to stdout.`,
		Example: `  go run ./cmd/bulkhead demo`,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return demo.Run(c.Context(), c.OutOrStdout(), os.Stderr)
		},
	}
}
