package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/host/build"
	"github.com/bulkhead-mcp/bulkhead/host/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/host/visible"
)

func newPlugin() *cobra.Command {
	c := &cobra.Command{
		Use:   "plugin",
		Short: "Build and check plugins",
		Example: `  bulkhead plugin check plugins/chant
  bulkhead plugin build plugins/chant`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newPluginBuild(), newPluginCheck())
	return c
}

func newPluginBuild() *cobra.Command {
	var out string
	var asJSON bool
	c := &cobra.Command{
		Use:   "build DIR… [flags]",
		Short: "Compile plugins and fill in their digests",
		Long: `Compile each plugin to dist/plugins/<name>: the module, and its manifest with the
module's SHA-256 filled in. A plugin whose handlers and manifest disagree is refused,
and what was built before stays.

The Go plugins need the go command; a plugin with [build] command runs that.`,
		Example: `  bulkhead plugin build plugins/chant
  bulkhead plugin build plugins/* -o /opt/bulkhead/plugins
  bulkhead plugin build . --json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, dirs []string) error {
			options := buildOptions()
			options.Out, options.Progress = out, progress
			results, err := build.All(c.Context(), dirs, options)
			for _, r := range results {
				printProblems(r.Warnings)
			}
			if asJSON {
				if results == nil {
					results = []build.Result{}
				}
				if perr := printJSON(c.OutOrStdout(), map[string]any{"plugins": results}); perr != nil {
					return perr
				}
			}
			if err != nil && c.Context().Err() == nil {
				return &host.UsageError{Err: err}
			}
			return err
		},
	}
	c.Flags().StringVarP(&out, "out", "o", "", "`folder` that gets a folder for each plugin (default: dist/plugins)")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: {\"plugins\": [{\"name\", \"dir\", \"module\", \"sha256\", \"size\", \"took_ns\"}]}")
	must(c.MarkFlagDirname("out"))
	completeDirs(c)
	return c
}

func newPluginCheck() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "check DIR…",
		Short: "Say all that is wrong with plugins",
		Long: `Check the manifest of each plugin, and its module if it is built: the digest, the ABI,
and whether the manifest and the module's handlers agree. Everything that is wrong is
said, each with its file, line, key and remedy.

Exit codes: 0 nothing is wrong (warnings do not count); 2 something is.`,
		Example: `  bulkhead plugin check plugins/chant
  bulkhead plugin check dist/plugins/* --json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, dirs []string) error {
			all := tomlfile.Problems{}
			for _, dir := range dirs {
				all = append(all, build.Check(c.Context(), dir, buildOptions())...)
				if err := context.Cause(c.Context()); err != nil {
					return err
				}
			}
			if asJSON {
				if err := printJSON(c.OutOrStdout(), map[string]any{"problems": all}); err != nil {
					return err
				}
			} else {
				printProblems(all)
			}
			if errs := all.Errors(); len(errs) > 0 {
				return silent(exitUsage)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: {\"problems\": [{\"file\", \"line\", \"key\", \"problem\", \"remedy\", \"warning\"}]}")
	completeDirs(c)
	return c
}

// buildOptions have modules compiled as the server does it, into the cache that it uses.
func buildOptions() build.Options {
	cache, err := host.CacheDir(host.System{})
	if err != nil {
		fmt.Fprintf(os.Stderr, "compiled modules are not kept: %v\n", err)
		cache = ""
	}
	return build.Options{CacheDir: cache}
}

func completeDirs(c *cobra.Command) {
	c.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
}

// printProblems prints to stderr, warnings as such.
func printProblems(ps tomlfile.Problems) {
	for _, p := range ps {
		kind := ""
		if p.Warning {
			kind = "warning: "
		}
		fmt.Fprintf(os.Stderr, "%s%s\n", kind, visible.Text(p.String()))
	}
}

func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
