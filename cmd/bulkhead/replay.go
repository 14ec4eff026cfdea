package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/build"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/replay"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

// replayCommand contains the flags of replay.
type replayCommand struct {
	replay.Options
	plugins, plugin, since string
	config                 string
	noConfig, asJSON       bool
}

func newReplay() *cobra.Command {
	var o replayCommand
	c := &cobra.Command{
		Use:   "replay AUDIT_LOG --plugin NAME [flags]",
		Short: "Make the calls of an audit log again, and report other outcomes",
		Long: `Make the calls of a plugin in an audit log again, rotated files included, with the plugin of
that name that is installed: with a new version, for example. They run in a temporary
directory, in which the project is a copy of --project, or empty: neither the log nor the
project is changed. The plugin is granted there what the config grants it, so that what the
config denies is no difference; without a config, what its manifest requests. Origins and
variables are not granted.

An outcome differs if the call succeeds instead of failing or the other way round, fails with
another code, or if the plugin is denied other operations. With --sizes, a response of
another size differs too. The log has no responses.

Only calls whose arguments the log has can be made again: set arguments = "full" in [audit].
Calls that asked their client, were cancelled or are truncated are left out. How many were
left out is always reported.

Exit codes: 0 all outcomes are the same; 1 at least one differs, or no call could be made
again; 2 usage error, or an invalid plugin; 3 the host failed.`,
		Example: `  bulkhead replay ~/audit.jsonl --plugin chant --project .
  bulkhead replay ~/audit.jsonl --plugin chant --plugins dist/plugins --since 7d --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			o.Log = args[0]
			return o.run(c)
		},
	}
	f := c.Flags()
	f.StringVar(&o.plugin, "plugin", "", "`name` of the plugin, in the log and among the installed ones")
	f.StringVar(&o.plugins, "plugins", "", "`directory` of plugins (default: $BULKHEAD_PLUGINS, else plugins/ beside the executable)")
	f.StringVar(&o.Project, "project", "", "`directory` that is copied to be the project (default: an empty project)")
	f.StringVar(&o.config, "config", "", "config `file` whose table for the plugin applies (default: as in bulkhead serve)")
	f.BoolVar(&o.noConfig, "no-config", false, "use no config")
	f.StringVar(&o.Prefix, "prefix", "", "`prefix` of the plugin's tools in the config with which the log was written\n(default: that of the config)")
	f.StringArrayVar(&o.Query.Tools, "tool", nil, "`name` of a tool or prompt, or URI; * at the end stands for any rest; repeatable")
	f.StringVar(&o.since, "since", "", "earliest `time`, as in bulkhead audit")
	f.IntVar(&o.Query.Limit, "limit", 0, "at most the newest `n` records (default: all)")
	f.BoolVar(&o.Sizes, "sizes", false, "report responses whose size differs, too")
	f.BoolVar(&o.asJSON, "json", false, "print JSON: {\"ok\", \"plugin\", \"version\", \"replayed\", \"differing\", \"differences\": [{\"id\", \"time\", \"method\",\n\"tool\", \"was\", \"now\"}], \"left_out\"}")
	return c
}

func (o *replayCommand) run(c *cobra.Command) error {
	if err := o.prepare(c.Context()); err != nil {
		return err
	}
	tasks := tasksOn(c.ErrOrStderr(), o.asJSON)
	defer tasks.Close()
	task := tasks.Add("replay")
	o.Progress = func(calls int) { task.Step("%d calls", calls) }
	if !tasks.Redraws() {
		o.Progress = nil
	}
	o.Damaged = func(d audit.Damage) { fmt.Fprintf(tasks, "%s:%d: %s\n", oneLine(d.File), d.Line, oneLine(d.What)) }
	report, err := replay.Run(c.Context(), o.Options)
	task.Done("")
	tasks.Close()
	if errors.Is(err, fs.ErrNotExist) {
		return &usage.Error{Err: err}
	}
	if err != nil {
		return err
	}
	ok := report.Differing == 0 && report.Replayed > 0
	return resultError(printResult(c, o.asJSON, struct {
		OK      bool   `json:"ok"`
		Plugin  string `json:"plugin"`
		Version string `json:"version"`
		replay.Report
	}{ok, o.Plugin.Name, o.Plugin.Version, report}, func(w page) { o.print(w, report) }), ok)
}

// prepare checks the flags, and finds the plugin.
func (o *replayCommand) prepare(ctx context.Context) error {
	if _, err := os.Stat(o.Log); err != nil {
		return &usage.Error{Err: err}
	}
	if o.plugin == "" {
		return usage.Errorf("--plugin is missing: name the plugin whose calls are made again")
	}
	if o.Query.Limit < 0 {
		return usage.Errorf("--limit: %d is negative", o.Query.Limit)
	}
	o.Query.Plugins = []string{o.plugin}
	if o.since != "" {
		since, ok := parseTime(o.since, time.Now(), -1)
		if !ok {
			return usage.Errorf("--since: %q is not a time: see `bulkhead audit --help`", o.since)
		}
		o.Query.Since = since
	}
	if o.Project != "" {
		project, err := filepath.Abs(o.Project)
		if err == nil {
			project, err = filepath.EvalSymlinks(project)
		}
		if err != nil {
			return usage.Errorf("--project: %w", err)
		}
		o.Project = project
	}
	installed, dir, err := discovery.Installed(host.Options{PluginsDir: o.plugins})
	if err != nil {
		return &usage.Error{Err: err}
	}
	var names []string
	for _, candidate := range installed {
		names = append(names, candidate.Name())
		if candidate.Name() == o.plugin {
			return o.load(ctx, candidate.Entry.Path)
		}
	}
	return usage.Errorf("--plugin %s: there is no such plugin in %s: it has %s", o.plugin, dir, strings.Join(names, ", "))
}

// load checks the plugin in a directory, which compiles its module.
func (o *replayCommand) load(ctx context.Context, dir string) error {
	options := buildOptions()
	if err := build.Check(ctx, dir, options).Err(); err != nil {
		return err
	}
	m, problems := manifest.Load(dir)
	o.Plugin, o.Compiled = m, options.CacheDir
	if err := problems.Err(); err != nil {
		return err
	}
	var err error
	o.Policy, err = replay.FindPolicy(host.Options{ConfigFile: o.config, NoConfig: o.noConfig, PluginsDir: o.plugins, Project: o.Project}, m)
	return err
}

func (o *replayCommand) print(w page, r replay.Report) {
	for _, d := range r.Differences {
		fmt.Fprintf(w, "%s  %s  %s: was %s, is %s", w.paint("changed"), d.Time.Local().Format(time.DateTime), oneLine(d.Tool), oneLine(d.Was.String()), oneLine(d.Now.String()))
		if o.Sizes && d.Was.Size != d.Now.Size {
			fmt.Fprintf(w, "; was %d bytes, is %d bytes", d.Was.Size, d.Now.Size)
		}
		fmt.Fprintln(w)
	}
	if o.Policy != nil && o.Policy.File != "" { // no file: the grants are the defaults
		fmt.Fprintf(w, "the grants are those of %s\n", oneLine(o.Policy.File))
	}
	fmt.Fprintf(w, "%s %s: calls made again: %d, with other outcomes: %d\n", oneLine(o.Plugin.Name), oneLine(o.Plugin.Version), r.Replayed, r.Differing)
	l := r.LeftOut
	for _, reason := range []struct {
		n    int
		what string
	}{
		{l.NotRecorded, "the log does not have their arguments: set arguments = \"full\" in [audit]"},
		{l.Truncated, "the log has only a part of their arguments"},
		{l.Asked, "they asked their client, whose answers the log does not have"},
		{l.Cancelled, "their client cancelled them"},
		{l.Other, "they are completions"},
		{int(l.Lost), "the log lacks their records"},
	} {
		if reason.n > 0 {
			fmt.Fprintf(w, "left out: %d calls, since %s\n", reason.n, reason.what)
		}
	}
}
