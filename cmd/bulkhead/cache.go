package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/codecache"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
)

func newCache() *cobra.Command {
	var o host.Options
	var asJSON bool
	c := &cobra.Command{
		Use:   "cache [flags]",
		Short: "List the cache, or clear it",
		Long: `List what the cache of this user holds: the compiled code of modules, and derived data,
which plugins have computed from files. Each line has kind, plugin, the beginning of the
module's SHA-256, size, and the time of the last use. Code of a module that no plugin here
has is listed without a name.`,
		Example: `  bulkhead cache
  bulkhead cache --json
  bulkhead cache clear
  bulkhead cache clear --plugin chant --derived`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			list, err := codecache.List(o)
			if err != nil {
				return err
			}
			return printResult(c, asJSON, list, func(w page) { printCache(w, list) })
		},
	}
	cacheFlags(c, &o)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: {\"dir\", \"items\": [{\"kind\", \"plugin\", \"module\", \"path\", \"size\", \"used\"}]}")
	c.AddCommand(newCacheClear())
	return c
}

func newCacheClear() *cobra.Command {
	var o host.Options
	var plugin string
	var onlyCode, onlyDerived, asJSON bool
	c := &cobra.Command{
		Use:   "clear [flags]",
		Short: "Remove compiled code and derived data from the cache",
		Long: `Remove compiled code and derived data of all plugins, or of one, from the cache. Servers
may be running: they compile modules and derive data again when they need them.

Exit codes: 0 everything was removed; 1 code was kept, because its module is being
compiled; 2 usage error, or the cache cannot be used.`,
		Example: `  bulkhead cache clear
  bulkhead cache clear --derived
  bulkhead cache clear --plugin chant --derived --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			s := codecache.Selection{Plugin: plugin}
			switch {
			case c.Flags().Changed("plugin") && plugin == "":
				return usage.Errorf("--plugin: the name is empty")
			case onlyCode && !onlyDerived:
				s.Kind = codecache.Code
			case onlyDerived && !onlyCode:
				s.Kind = codecache.Derived
			}
			done, err := codecache.Clear(o, s)
			if done == nil {
				return err
			}
			if perr := printResult(c, asJSON, done, func(w page) { printCleared(w, done) }); err == nil {
				err = perr
			}
			return resultError(err, len(done.Kept) == 0)
		},
	}
	cacheFlags(c, &o)
	f := c.Flags()
	f.StringVar(&plugin, "plugin", "", "`name` of the plugin (default: all, and code of modules that no plugin here has)")
	f.BoolVar(&onlyCode, "code", false, "remove compiled code only")
	f.BoolVar(&onlyDerived, "derived", false, "remove derived data only")
	f.BoolVar(&asJSON, "json", false, "print JSON: {\"dir\", \"removed\": […], \"kept\": […]} with the items of bulkhead cache --json")
	names := options{}
	must(c.RegisterFlagCompletionFunc("plugin", func(c *cobra.Command, args []string, text string) ([]string, cobra.ShellCompDirective) {
		names.Options = o
		return names.completePlugins(c, args, text)
	}))
	return c
}

// cacheFlags defines the flags that select the plugins to which code is attributed.
func cacheFlags(c *cobra.Command, o *host.Options) {
	configFlag(c, o)
	projectFlag(c, o)
	c.Flags().BoolVar(&o.NoConfig, "no-config", false, "ignore discovered configs")
	c.Flags().StringVar(&o.PluginsDir, "plugins", "", "`directory` of plugins, used if there is no config")
}

func printCache(w io.Writer, list *codecache.Content) {
	var total int64
	for _, item := range list.Items {
		fmt.Fprintf(w, "%s  %s\n", cacheItem(item), item.Used.UTC().Format("2006-01-02 15:04 MST"))
		total += item.Size
	}
	fmt.Fprintf(w, "%s: %.1f MB\n", oneLine(list.Dir), float64(total)/1e6)
}

func printCleared(w io.Writer, done *codecache.Cleared) {
	for _, item := range done.Removed {
		fmt.Fprintf(w, "removed  %s\n", cacheItem(item))
	}
	for _, item := range done.Kept {
		fmt.Fprintf(w, "kept     %s: its module is being compiled\n", cacheItem(item))
	}
	if len(done.Removed)+len(done.Kept) == 0 {
		fmt.Fprintln(w, "There is nothing to remove.")
	}
}

// cacheItem formats an item without its time.
func cacheItem(item codecache.Item) string {
	plugin, module := item.Plugin, item.Module
	if plugin == "" {
		plugin, module = "-", "-"
	}
	return fmt.Sprintf("%-7s  %-20s  %-16s  %6.1f MB", item.Kind, oneLine(plugin), module, float64(item.Size)/1e6)
}
