package main

import (
	"fmt"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/install"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/source"
	"github.com/bulkhead-mcp/bulkhead/internal/base/progress"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
)

func newUpdate() *cobra.Command {
	var o host.Options
	var pinned, asJSON bool
	c := &cobra.Command{
		Use:   "update --pinned [flags]",
		Short: "Fetch the plugins that the config pins",
		Long: `With --pinned, fetch exactly what the config pins: each plugin with from and sha256 that
the store of the user does not have, or has damaged. Nothing is asked, and the config is
not changed: whoever wrote its digests has reviewed them.

Exit codes: 0 the store has all of them; 1 one cannot be fetched, or is no longer what the
config pins; 2 usage error, or the config is invalid or not trusted.`,
		Example: `  bulkhead update --pinned
  bulkhead update --pinned --config team.toml --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if !pinned {
				return usage.Errorf("pass --pinned to fetch what the config pins")
			}
			tasks := progress.To(os.Stderr)
			defer tasks.Close()
			stored, err := install.FetchPinned(c.Context(), o, func(reference string) *source.Fetcher {
				return &source.Fetcher{Task: tasks.Add(oneLine(reference))}
			})
			if err != nil {
				return err
			}
			tasks.Close()
			ok := !slices.ContainsFunc(stored, func(s install.Stored) bool { return s.State == install.Failed })
			err = printResult(c, asJSON, map[string]any{"ok": ok, "plugins": stored}, func(w page) { printStored(w, stored) })
			return resultError(err, ok)
		},
	}
	configFlag(c, &o)
	c.Flags().BoolVar(&pinned, "pinned", false, "fetch what the config pins, and change nothing")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: {\"ok\", \"plugins\": [{\"plugin\", \"version\", \"from\", \"sha256\", \"at\", \"state\", \"problem\"}]}")
	return c
}

func printStored(w page, stored []install.Stored) {
	for _, s := range stored {
		name := "?"
		if s.Plugin != "" {
			name = s.Plugin + " " + s.Version
		}
		fmt.Fprintf(w, "%s  %s  %s\n", w.paint(fmt.Sprintf("%-7s", s.State)), oneLine(name), oneLine(s.From))
		if s.Problem != "" {
			fmt.Fprintf(w, "         %s: %s\n", oneLine(s.At), excerpt(s.Problem))
		}
	}
	if len(stored) == 0 {
		fmt.Fprintln(w, "The config names no plugin that is fetched.")
	}
}
