package main

import (
	"fmt"
	"io"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/client"
)

func newClientList() *cobra.Command {
	var o host.Options
	var asJSON bool
	c := &cobra.Command{
		Use:   "list [CLIENT…] [flags]",
		Short: "List the MCP clients, and which of them start the server or have its URL",
		Long: `List the MCP clients: whether they are installed, their configuration of the user and of
the project, and the entries there that start Bulkhead, with what is wrong with them: a
different program, or files that do not exist. Entries with a URL that are named bulkhead
or bulkhead-… are listed too; nothing connects to the URL.

Exit codes: 0 no problem was found; 1 an entry or a file has a problem.`,
		Example: `  bulkhead client list
  bulkhead client list codex --json`,
		Args:      knownClients,
		ValidArgs: client.IDs(),
		RunE: func(c *cobra.Command, ids []string) error {
			system, err := client.NewSystem(o, runtime.GOOS)
			if err != nil {
				return err
			}
			which, err := client.FindAll(ids)
			if err != nil {
				return err
			}
			list := client.List(system, which)
			healthy := true
			for _, s := range list {
				healthy = healthy && s.Healthy()
			}
			err = printResult(c, asJSON, map[string]any{"ok": healthy, "program": system.Program, "clients": list}, func(w page) { printClients(w, list) })
			return resultError(err, healthy)
		},
	}
	projectFlag(c, &o)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: {\"ok\", \"program\", \"clients\": [{\"client\", \"installed\", \"scope\", \"file\", \"entries\", …}]}")
	return c
}

func printClients(w io.Writer, list []client.Status) {
	last := ""
	for _, s := range list {
		if s.Client != last {
			installed := "installed"
			if !s.Installed {
				installed = "not found"
			}
			fmt.Fprintf(w, "%-14s  %s\n", s.Client, installed)
			last = s.Client
		}
		note := ""
		if !s.Exists {
			note = " (does not exist)"
		}
		fmt.Fprintf(w, "  %-7s  %s%s\n", s.Scope, oneLine(s.File), note)
		if s.Problem != "" {
			fmt.Fprintf(w, "           problem: %s\n", excerpt(s.Problem))
		}
		for _, e := range s.Entries {
			what := strings.Join(append([]string{e.Command}, e.Args...), " ")
			if e.URL != "" {
				what = e.URL
			}
			if e.TokenEnv != "" {
				what += ", with the token in $" + e.TokenEnv
			}
			fmt.Fprintf(w, "           %s: %s\n", oneLine(e.Name), excerpt(what))
			for _, p := range e.Problems {
				fmt.Fprintf(w, "             problem: %s\n", excerpt(p))
			}
		}
	}
}
