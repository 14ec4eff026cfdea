package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/client"
)

func newClientRemove() *cobra.Command {
	a := clientCommand{plan: client.Remove, none: "has no such entry"}
	c := &cobra.Command{
		Use:   "remove CLIENT… [flags]",
		Short: "Remove the server from MCP clients",
		Long: `Remove the entry that "bulkhead client add" has added from the configuration of MCP
clients. The lines are shown first. All else in the file is kept, and a copy of it is
saved in the state directory. An entry that starts a different program is refused.

With --all, the entries that are left are listed: those of other names and scopes, of
this project and of projects whose config is trusted.

Exit codes: 0 success; 1 no consent; 2 the entry cannot be removed, or consent cannot be
asked for.`,
		Example: `  bulkhead client remove cursor
  bulkhead client remove vscode --scope project --yes
  bulkhead client remove --all --dry-run`,
		Args:      knownClients,
		ValidArgs: client.IDs(),
		RunE:      func(c *cobra.Command, ids []string) error { return a.run(c, ids) },
	}
	a.flags(c)
	c.Flags().BoolVar(&a.all, "all", false, "all clients that are installed")
	return c
}

// printLeft prints the entries that remove leaves.
func printLeft(w io.Writer, left []client.Left) {
	for i, l := range left {
		if i == 0 {
			fmt.Fprintln(w, "\nThese entries are left:")
		}
		where := ""
		if l.Scope == client.LocalScope {
			where = ", run in " + oneLine(l.Project)
		}
		fmt.Fprintf(w, "  %s: %s in %s\n    remedy: %s%s\n", l.Title, oneLine(l.Name), oneLine(l.File), oneLine(l.RemoveLine()), where)
	}
}
