package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/codecache"
	"github.com/bulkhead-mcp/bulkhead/internal/base/progress"
)

func newWarm() *cobra.Command {
	var o options
	var asJSON bool
	c := &cobra.Command{
		Use:   "warm [PLUGIN...] [flags]",
		Args:  cobra.ArbitraryArgs,
		Short: "Compile modules ahead of their first call",
		Long: `Compile the module of each plugin that would be offered, or of the named ones, into the
cache that all servers of this user share, so that no first call waits for compilation.
Code that is already in the cache is checked and kept. All servers and this command
together run at most one compiler per processor core. Progress goes to stderr.

Exit codes: 0 all are compiled, or left out by the config; 1 a module cannot be
compiled; 2 usage error.`,
		Example: `  bulkhead warm
  bulkhead warm chant openspec
  bulkhead warm --config team.toml --json`,
		ValidArgsFunction: func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return o.completePlugins(c, args, "")
		},
		RunE: func(c *cobra.Command, args []string) error {
			o.Plugins = append(o.Plugins, args...)
			opened, err := o.complete()
			if err != nil {
				return err
			}
			tasks := tasksOn(c.ErrOrStderr(), asJSON)
			defer tasks.Close()
			all, err := codecache.Warm(c.Context(), opened, showWarming(tasks))
			tasks.Close()
			if err != nil {
				return err
			}
			failed := slices.ContainsFunc(all, func(p codecache.WarmResult) bool { return p.State == codecache.CompileFailed })
			err = printResult(c, asJSON, map[string]any{"ok": !failed, "plugins": all}, func(w page) { printWarmResults(w, all) })
			return resultError(err, !failed)
		},
	}
	// Logging is off, because the result contains what would be logged.
	o.add(c, "off")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON: {\"ok\", \"plugins\": [{\"plugin\", \"module\", \"state\", \"took_ns\", \"reason\"}]}")
	return c
}

// showWarming returns a function that shows when the compilation of a module begins, and when it is done.
func showWarming(tasks *progress.Set) func(codecache.WarmResult) {
	running := map[string]*progress.Task{}
	return func(p codecache.WarmResult) {
		switch task := running[p.Plugin]; p.State {
		case "":
			running[p.Plugin] = tasks.Add(p.Plugin)
			running[p.Plugin].Step("compiling")
		case codecache.Compiled:
			task.Done("compiled in %.1f s", p.Took.Seconds())
		default:
			task.Done("") // the result, which is printed later, contains the reason
		}
	}
}

func printWarmResults(w page, all []codecache.WarmResult) {
	for _, p := range all {
		fmt.Fprintf(w, "%s  %s", w.paint(fmt.Sprintf("%-8s", p.State)), oneLine(p.Plugin))
		if p.Reason != "" {
			fmt.Fprintf(w, ": %s", excerpt(p.Reason))
		}
		fmt.Fprintln(w)
	}
}
