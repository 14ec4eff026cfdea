package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/build"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/scenario"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// pluginTest contains the flags of `bulkhead plugin test`.
type pluginTest struct {
	run     string
	out     string
	plugins string // directory of built plugins; empty: the plugin is built
	asJSON  bool
	network string
	recording
}

func newPluginTest() *cobra.Command {
	var o pluginTest
	c := &cobra.Command{
		Use:   "test DIR… [flags]",
		Short: "Run the scenario files of plugins",
		Long: `Run the scenario files tests/*.toml beside the manifest of each plugin. Each scenario has a
project of its own in a temporary directory, and a host that serves the plugin as the server
does: in a worker process, with the grants of the scenario, by default those directories and
repositories that the manifest requests in the project or home directory. docs/testing.md
describes the files. They come with the source, so they grant no access to the network
without --network, and then none that the ceiling of this machine does not allow.

The plugin is built first, as by plugin build: always if it is written in Go, otherwise if a
source is newer than the module. Builds run as you and outside any sandbox. --plugins runs
the scenarios with a plugin built before.

--record FILE makes the requests of --call, --prompt and --resource, and writes them to FILE
as a scenario, with their results and the files that they changed. --arg adds an argument to
the request before it.

Exit codes: 0 all scenarios passed; 1 at least one failed; 2 a plugin or a scenario file is
invalid, or a plugin has none; 3 the host failed.`,
		Example: `  bulkhead plugin test plugins/hello
  bulkhead plugin test plugins/hello --run greets --json
  bulkhead plugin test plugins/hello --record tests/greet.toml --call hello_greet --arg name=Ada`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, dirs []string) error {
			if o.file != "" {
				return o.record(c, dirs)
			}
			if err := o.recording.unused(); err != nil {
				return err
			}
			return o.test(c, dirs)
		},
	}
	f := c.Flags()
	f.StringVar(&o.run, "run", "", "run only the scenarios whose names match a regular `expression`")
	f.StringVarP(&o.out, "out", "o", "", "output `directory` of builds (default: dist/plugins)")
	f.StringVar(&o.plugins, "plugins", "", "`directory` with a subdirectory for each plugin, built before: nothing is built")
	f.BoolVar(&o.asJSON, "json", false, "print JSON: {\"ok\", \"scenarios\": [{\"file\", \"line\", \"name\", \"passed\", \"took_ns\",\n\"failures\": [{\"line\", \"key\", \"problem\", \"diff\"}], \"log\"}]}")
	f.StringVar(&o.network, "network", "", "let scenarios reach the origins and remotes that they grant: `public`, or private\nfor those of this machine and its network too (default: none)")
	must(c.RegisterFlagCompletionFunc("network", cobra.FixedCompletions([]string{string(scenario.PublicNetwork), string(scenario.PrivateNetwork)}, cobra.ShellCompDirectiveNoFileComp)))
	o.recording.add(c)
	completeDirs(c)
	return c
}

// test runs the scenarios of all plugins.
func (o *pluginTest) test(c *cobra.Command, dirs []string) error {
	name, err := regexp.Compile(o.run)
	if err != nil {
		return usage.Errorf("--run: %w", err)
	}
	files := make([][]scenario.File, len(dirs))
	selected := 0
	for i, dir := range dirs {
		all, err := scenario.Load(dir)
		if err != nil {
			return err
		}
		files[i] = scenario.Select(all, name)
		for _, f := range files[i] {
			selected += len(f.Scenarios)
		}
	}
	if selected == 0 {
		return usage.Errorf("--run %s: no scenario has such a name", tomlfile.Quote(o.run))
	}
	results := []scenario.Result{}
	for i, dir := range dirs {
		if len(files[i]) == 0 {
			continue
		}
		plugin, err := o.plugin(c.Context(), dir)
		if err != nil {
			return err
		}
		of, err := scenario.Run(c.Context(), plugin, files[i])
		if err != nil {
			return err
		}
		results = append(results, of...)
	}
	failed := 0
	for _, r := range results {
		if !r.Passed {
			failed++
		}
	}
	err = printResult(c, o.asJSON, map[string]any{"ok": failed == 0, "scenarios": results}, func(w page) { printScenarios(w, results, failed) })
	return resultError(err, failed == 0)
}

// plugin returns the built plugin whose sources are in dir. It builds the plugin unless --plugins is set.
func (o *pluginTest) plugin(ctx context.Context, dir string) (scenario.Plugin, error) {
	network := scenario.Network(o.network)
	if network != scenario.NoNetwork && network != scenario.PublicNetwork && network != scenario.PrivateNetwork {
		return scenario.Plugin{}, usage.Errorf("--network %s: is neither public nor private", tomlfile.Quote(o.network))
	}
	ceiling, err := discovery.FindCeiling(discovery.System{})
	if err != nil {
		return scenario.Plugin{}, err
	}
	options := buildOptions()
	built := ""
	if o.plugins != "" {
		m, problems := manifest.Load(dir)
		if m == nil {
			return scenario.Plugin{}, problems
		}
		built = filepath.Join(o.plugins, m.Name)
		if err := build.Check(ctx, built, options).Err(); err != nil { // Check also compiles the module, so that no call waits for that
			return scenario.Plugin{}, err
		}
	} else {
		options.Out, options.Progress = o.out, tasksOn(os.Stderr, o.asJSON)
		built, err = build.Current(ctx, dir, options)
		options.Progress.Close()
		if err != nil && ctx.Err() == nil {
			return scenario.Plugin{}, &usage.Error{Err: err}
		}
		if err != nil {
			return scenario.Plugin{}, err
		}
	}
	m, problems := manifest.Load(built)
	if err := problems.Err(); err != nil {
		return scenario.Plugin{}, err
	}
	return scenario.Plugin{Dir: m.Dir, Manifest: m, Compiled: options.CacheDir, Network: network, Ceiling: ceiling}, nil
}

func printScenarios(w page, results []scenario.Result, failed int) {
	for _, r := range results {
		fmt.Fprintf(w, "%s  %s:%d: %s (%s)\n", paintPassed(w.style, r.Passed), oneLine(r.File), r.Line, oneLine(r.Name), r.Took.Round(time.Millisecond))
		for _, f := range r.Failures {
			fmt.Fprintf(w, "         %s:%d: %s: %s\n", oneLine(r.File), f.Line, oneLine(f.Key), oneLine(f.Problem))
			for _, line := range f.Diff {
				fmt.Fprintf(w, "           %s\n", paintChange(w.style, visible.Text(line)))
			}
		}
		for _, line := range r.Log {
			fmt.Fprintf(w, "         log: %s\n", oneLine(line))
		}
	}
	fmt.Fprintf(w, "%d passed, %d failed\n", len(results)-failed, failed)
}
