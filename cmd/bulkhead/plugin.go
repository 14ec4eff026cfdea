package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/build"
	"github.com/bulkhead-mcp/bulkhead/internal/base/term"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

func newPlugin() *cobra.Command {
	c := &cobra.Command{
		Use:   "plugin",
		Short: "Create, import, develop, build, check, inspect and publish plugins",
		Example: `  bulkhead plugin new notes
  bulkhead plugin dev notes
  bulkhead plugin check plugins/chant
  bulkhead plugin build plugins/chant
  bulkhead plugin inspect dist/plugins/chant/chant.wasm`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newPluginNew(), newPluginBuild(), newPluginDev(), newPluginCheck(), newPluginInspect(), newPluginSchema(), newPluginConform(), newPluginTest(), newPluginImport(), newPluginPush(), newPluginRevoke())
	return c
}

func newPluginBuild() *cobra.Command {
	var out string
	var asJSON bool
	c := &cobra.Command{
		Use:   "build DIR… [flags]",
		Short: "Compile plugins and record their digests",
		Long: `Compile each plugin to dist/plugins/<name>: the module, and the manifest with the
module's SHA-256. The build fails if the handlers do not match the manifest; the output
of the previous build is then preserved. Several plugins are built side by side; if one
fails, the others are built nevertheless, and the exit code is 2. If one of several
lacks the tools of its language, it is left out and named, which is no failure.

Go plugins require the go command; a plugin with [build] command runs that command,
one plugin's at a time, each for at most half an hour.`,
		Example: `  bulkhead plugin build plugins/chant
  bulkhead plugin build plugins/* -o /opt/bulkhead/plugins
  bulkhead plugin build . --json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, dirs []string) error {
			options := buildOptions()
			options.Out, options.Progress = out, tasksOn(os.Stderr, asJSON)
			leftOut := []build.UnavailableError{}
			options.LeftOut = func(e build.UnavailableError) { leftOut = append(leftOut, e) }
			results, err := build.All(c.Context(), dirs, options)
			options.Progress.Close()
			for _, r := range results {
				printProblems(r.Warnings)
			}
			if asJSON {
				if results == nil {
					results = []build.Result{}
				}
				if perr := printJSON(c.OutOrStdout(), map[string]any{"plugins": results, "left_out": leftOut}); perr != nil {
					return perr
				}
			}
			for _, e := range leftOut {
				if !asJSON {
					fmt.Fprintf(c.ErrOrStderr(), "left out: %s: %s\n", e.Name, e.Reason)
				}
			}
			if err != nil && c.Context().Err() == nil {
				return &usage.Error{Err: err}
			}
			return err
		},
	}
	c.Flags().StringVarP(&out, "out", "o", "", "output `directory`, with a subdirectory for each plugin (default: dist/plugins)")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: {\"plugins\": [{\"name\", \"dir\", \"module\", \"sha256\", \"size\", \"took_ns\"}],\n\"left_out\": [{\"name\", \"dir\", \"reason\"}]}")
	completeDirs(c)
	return c
}

func newPluginCheck() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "check DIR…",
		Short: "Report all problems of plugins",
		Long: `Check the manifest of each plugin, and its module if it is built: the digest, the ABI,
whether the handlers match the manifest, and whether tools are large for what they say.
Each problem is reported with its file, line, key and remedy.

Exit codes: 0 no problem (warnings do not count); 2 at least one problem.`,
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
				return exitStatus(exitUsage)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: {\"problems\": [{\"file\", \"line\", \"key\", \"problem\", \"remedy\", \"warning\"}]}")
	completeDirs(c)
	return c
}

// buildOptions selects the compilation cache of the server, so that it reuses what build and check compile.
func buildOptions() build.Options {
	cache, err := discovery.CacheDir(discovery.System{})
	if err != nil {
		fmt.Fprintf(os.Stderr, "compiled modules are not cached: %s\n", visible.Text(err.Error()))
		cache = ""
	}
	return build.Options{CacheDir: cache}
}

// printProblems prints problems to stderr, and marks warnings.
func printProblems(ps tomlfile.Problems) {
	for _, p := range ps {
		kind := ""
		if p.Warning {
			kind = paint(term.StyleOf(os.Stderr), "warning:") + " "
		}
		fmt.Fprintf(os.Stderr, "%s%s\n", kind, visible.Text(p.String()))
	}
}
