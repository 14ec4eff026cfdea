package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/codecache"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/install"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
)

func newCache() *cobra.Command {
	var o host.Options
	var asJSON bool
	c := &cobra.Command{
		Use:   "cache [flags]",
		Short: "List the cache and the fetched plugins, or clear them",
		Long: `List what the cache of this user holds: the compiled code of modules, and derived data,
which plugins have computed from files. Each line has kind, plugin, the beginning of the
module's SHA-256, size, and the time of the last use. Code of a module that no plugin here
has is listed without a name. The store of fetched plugins follows, with the beginning of
the SHA-256 of each plugin.toml, and whether the config in force pins it.`,
		Example: `  bulkhead cache
  bulkhead cache --json
  bulkhead cache clear
  bulkhead cache clear --plugin chant --derived
  bulkhead cache clear --store
  bulkhead cache export -o /media/usb/plugins`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runCacheList(c, o, asJSON) },
	}
	cacheFlags(c, &o)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: {\"dir\", \"items\": [{\"kind\", \"plugin\", \"module\", \"path\", \"size\", \"used\"}],\n\"store\": {\"dir\", \"plugins\": [{\"plugin\", \"version\", \"sha256\", \"from\", \"pinned\", …}]}}")
	list := &cobra.Command{
		Use: "list [flags]", Short: "List the cache and the fetched plugins", Long: c.Long, Args: cobra.NoArgs,
		Example: "  bulkhead cache list --json", RunE: c.RunE,
	}
	list.Flags().AddFlagSet(c.Flags())
	c.AddCommand(list, newCacheClear(), newCacheExport(), newCacheImport())
	return c
}

func runCacheList(c *cobra.Command, o host.Options, asJSON bool) error {
	list, err := codecache.List(o)
	if err != nil {
		return err
	}
	store, err := install.ListStore(o)
	if err != nil {
		return err
	}
	return printResult(c, asJSON, struct {
		*codecache.Content
		Store *install.StoreContent `json:"store"`
	}{list, store}, func(w page) {
		printCache(w, list)
		printStore(w, store)
	})
}

func newCacheClear() *cobra.Command {
	var o host.Options
	var plugin string
	var onlyCode, onlyDerived, onlyStore, asJSON bool
	c := &cobra.Command{
		Use:   "clear [flags]",
		Short: "Remove compiled code and derived data, or fetched plugins",
		Long: `Remove compiled code and derived data of all plugins, or of one, from the cache. Servers
may be running: they compile modules and derive data again when they need them.

With --store, remove fetched plugins instead: those that the config in force does not pin,
or all versions of one with --plugin. Other configs may pin them: bulkhead update --pinned
fetches them again.

Exit codes: 0 everything was removed; 1 code was kept, because its module is being
compiled; 2 usage error, or the cache cannot be used.`,
		Example: `  bulkhead cache clear
  bulkhead cache clear --derived
  bulkhead cache clear --plugin chant --derived --json
  bulkhead cache clear --store`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			s := codecache.Selection{Plugin: plugin}
			switch {
			case c.Flags().Changed("plugin") && plugin == "":
				return usage.Errorf("--plugin: the name is empty")
			case onlyStore && (onlyCode || onlyDerived):
				return usage.Errorf("--store contradicts --code and --derived: keep one of them")
			case onlyStore:
				done, err := install.ClearStore(c.Context(), o, plugin)
				if err != nil {
					return err
				}
				return printResult(c, asJSON, done, func(w page) { printClearedStore(w, done) })
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
	f.BoolVar(&onlyStore, "store", false, "remove fetched plugins that the config in force does not pin, or those of --plugin")
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
