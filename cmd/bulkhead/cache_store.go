package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/install"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
)

func newCacheExport() *cobra.Command {
	var o host.Options
	var dir string
	var asJSON bool
	c := &cobra.Command{
		Use:   "export [NAME…] -o DIR [flags]",
		Short: "Write fetched plugins to a directory, for machines without a network",
		Long: `Write the archives of the fetched plugins that the config in force pins, or all versions
of the named ones, to DIR, each with a record of its origin. bulkhead cache import DIR
puts them into the store of another machine.

Exit codes: 0 success; 1 a plugin is damaged; 2 usage error, or nothing to export.`,
		Example: `  bulkhead cache export -o /media/usb/plugins
  bulkhead cache export chant -o plugins`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, names []string) error {
			if dir == "" {
				return usage.Errorf("name the directory with --out DIR")
			}
			exported, err := install.ExportStore(o, names, dir)
			if err != nil {
				return err
			}
			return printExported(c, asJSON, "exported", exported)
		},
	}
	configFlag(c, &o)
	c.Flags().StringVarP(&dir, "out", "o", "", "`directory`, which is created if it does not exist")
	c.Flags().BoolVar(&asJSON, "json", false, exportedUsage)
	return c
}

func newCacheImport() *cobra.Command {
	var o host.Options
	var asJSON bool
	c := &cobra.Command{
		Use:   "import PATH… [flags]",
		Short: "Put archives of plugins into the store",
		Long: `Check archives of plugins, and put them into the store of fetched plugins. PATH is an
archive, or a directory that bulkhead cache export has written. No config is changed: what
is served is what a config pins.

Exit codes: 0 success; 1 an archive cannot be imported; 2 usage error.`,
		Example: `  bulkhead cache import /media/usb/plugins
  bulkhead cache import chant-1.2.0.plugin.tar --json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, paths []string) error {
			imported, err := install.ImportStore(c.Context(), o, paths)
			if err != nil {
				return err
			}
			return printExported(c, asJSON, "imported", imported)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, exportedUsage)
	return c
}

const exportedUsage = "print JSON: {\"ok\", \"plugins\": [{\"plugin\", \"version\", \"sha256\", \"file\", \"problem\"}]}"

func printExported(c *cobra.Command, asJSON bool, verb string, all []install.Exported) error {
	ok := !slices.ContainsFunc(all, func(e install.Exported) bool { return e.Problem != "" })
	err := printResult(c, asJSON, map[string]any{"ok": ok, "plugins": all}, func(w page) {
		for _, e := range all {
			if e.Problem != "" {
				fmt.Fprintf(w, "%s  %s  %s\n", w.paint("failed  "), oneLine(e.Plugin+" "+e.Version+" "+e.File), excerpt(e.Problem))
				continue
			}
			fmt.Fprintf(w, "%s  %s %s  %s\n", verb, oneLine(e.Plugin), oneLine(e.Version), oneLine(e.File))
		}
		if len(all) == 0 {
			fmt.Fprintln(w, "The config pins no plugin that is in the store.")
		}
	})
	return resultError(err, ok)
}

func printStore(w io.Writer, c *install.StoreContent) {
	var total int64
	for _, p := range c.Plugins {
		use := "not pinned by the config in force"
		switch {
		case p.Problem != "":
			use = excerpt(p.Problem)
		case p.Revoked != "":
			use = excerpt(p.Revoked)
		case p.Pinned:
			use = "pinned"
		}
		fmt.Fprintf(w, "%s  %s\n", storedPlugin(p), use)
		total += p.Size
	}
	fmt.Fprintf(w, "%s: %.1f MB\n", oneLine(c.Dir), float64(total)/1e6)
}

// storedPlugin formats a plugin of the store, as cacheItem does an item of the cache.
func storedPlugin(p install.StoredPlugin) string {
	name := "-"
	if p.Plugin != "" {
		name = oneLine(p.Plugin + " " + p.Version)
	}
	return fmt.Sprintf("%-7s  %-20s  %.16s  %6.1f MB", "plugin", name, p.Digest, float64(p.Size)/1e6)
}

func printClearedStore(w io.Writer, done *install.ClearedStore) {
	for _, p := range done.Removed {
		fmt.Fprintf(w, "removed  %s\n", storedPlugin(p))
	}
	for _, p := range done.Kept {
		fmt.Fprintf(w, "kept     %s: the config in force pins it\n", storedPlugin(p))
	}
	if len(done.Removed)+len(done.Kept) == 0 {
		fmt.Fprintln(w, "There is nothing to remove.")
	}
}
