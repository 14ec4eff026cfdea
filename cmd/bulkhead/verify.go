package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/install"
)

func newVerify() *cobra.Command {
	var o host.Options
	var asJSON bool
	c := &cobra.Command{
		Use:   "verify [flags]",
		Short: "Verify that no pinned plugin has changed",
		Long: `Compare the plugin.toml of each plugin in the config with the SHA-256 there, and each
module with the SHA-256 in its plugin.toml. A file that is not pinned is reported, but is
not a failure. A plugin that a list of revoked plugins names is one.

Exit codes: 0 all pinned files match; 1 a pinned file differs or is missing, or a plugin is
revoked; 2 the config is invalid.`,
		Example: `  bulkhead verify
  bulkhead verify --config team.toml --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			pins, err := install.Verify(o)
			if err != nil {
				return err
			}
			broken := slices.ContainsFunc(pins, install.Pin.Broken)
			err = printResult(c, asJSON, map[string]any{"ok": !broken, "files": pins}, func(w page) { printPins(w, pins) })
			return resultError(err, !broken)
		},
	}
	configFlag(c, &o)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: {\"ok\", \"files\": [{\"plugin\", \"file\", \"state\", \"pinned\", \"found\", \"by\", \"reason\", \"remedy\"}]}")
	return c
}

func printPins(w page, pins []install.Pin) {
	for _, p := range pins {
		fmt.Fprintf(w, "%s  %s  %s\n", w.paint(fmt.Sprintf("%-10s", p.State)), oneLine(p.Plugin), oneLine(p.File))
		if p.State == install.Changed {
			fmt.Fprintf(w, "            it is %s, and %s says %s\n", p.Found, oneLine(p.By), p.Pinned)
		}
		if p.Reason != "" {
			fmt.Fprintf(w, "            %s\n", excerpt(p.Reason))
		}
		if p.Remedy != "" {
			fmt.Fprintf(w, "            remedy: %s\n", excerpt(p.Remedy))
		}
	}
	if len(pins) == 0 {
		fmt.Fprintln(w, "The config names no plugin.")
	}
}
