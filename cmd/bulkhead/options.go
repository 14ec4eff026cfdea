package main

import (
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

// options contains the flags of the commands that open a host.
type options struct {
	host.Options
	env      []string
	answers  []string // see questions
	logLevel string
	logJSON  bool
	stderr   io.Writer // receives the log; nil means os.Stderr
}

var logLevels = []string{"trace", "debug", "info", "warn", "error", "off"}

// add defines the flags on c, with level as the default log level.
func (o *options) add(c *cobra.Command, level string) {
	f := c.Flags()
	f.StringVar(&o.ConfigFile, "config", "", "config `file` (default: $BULKHEAD_CONFIG, else bulkhead.toml in the working\ndirectory or the project, once bulkhead trust has recorded it, else the user's\nbulkhead/bulkhead.toml in $XDG_CONFIG_HOME or ~/.config)")
	f.BoolVar(&o.NoConfig, "no-config", false, "use no config, not even that of $BULKHEAD_CONFIG: plugins get only the project\n(the organisation's ceiling applies nevertheless)")
	projectFlag(c, &o.Options)
	f.StringVar(&o.PluginsDir, "plugins", "", "`directory` of plugins, used if there is no config (default: $BULKHEAD_PLUGINS,\nelse plugins/ beside the executable, else ./dist/plugins if it is trusted)")
	f.StringArrayVar(&o.Plugins, "plugin", nil, "`name` of a plugin to offer, repeatable (default: all discovered plugins)")
	o.addGrants(c)
	f.StringVar(&o.Tools, "tools", "", "which tools clients list: `MODE` all, or search, in which they find the others\n(default: tools of [server] in the config, else all)")
	o.addLog(c, level)
	must(c.RegisterFlagCompletionFunc("plugin", o.completePlugins))
	must(c.RegisterFlagCompletionFunc("tools", cobra.FixedCompletions([]string{"all", "search"}, cobra.ShellCompDirectiveNoFileComp)))
}

// addGrants defines the flags that grant something to plugins.
func (o *options) addGrants(c *cobra.Command) {
	f := c.Flags()
	f.BoolVar(&o.AllowWrite, "allow-write", false, "offer the write tools of plugins with write = \"opt-in\"")
	f.BoolVar(&o.AllTools, "all-tools", o.AllTools, "also offer the tools that a plugin hides when it is served alone")
	f.StringArrayVar(&o.env, "env", nil, "grant a variable to the plugins that ask for it: `NAME=VALUE`, or NAME for\nits value in the current environment; repeatable")
}

// addLog defines the flags of the log.
func (o *options) addLog(c *cobra.Command, level string) {
	f := c.Flags()
	f.StringVar(&o.logLevel, "log-level", level, "minimum level of the log on stderr: "+strings.Join(logLevels, ", "))
	f.BoolVar(&o.logJSON, "log-json", false, "log in JSON, one object per line")
	must(c.RegisterFlagCompletionFunc("log-level", cobra.FixedCompletions(logLevels, cobra.ShellCompDirectiveNoFileComp)))
}

// projectFlag defines --project on c.
func projectFlag(c *cobra.Command, o *host.Options) {
	c.Flags().StringVar(&o.Project, "project", "", "`directory` that ${project} stands for (default: $BULKHEAD_PROJECT, else the\nrepository that contains the working directory, else the working directory;\nnever / or the home directory)")
}

// open opens the host with the options of the flags.
func (o *options) open() (*host.Host, error) {
	opened, err := o.complete()
	if err != nil {
		return nil, err
	}
	// Parsing manifests produces much garbage on a small heap: with the default GC target the collector takes a
	// quarter of the start time of 50 plugins.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	return host.Open(opened)
}

// complete returns the options of the flags.
func (o *options) complete() (host.Options, error) {
	log, err := o.log()
	if err != nil {
		return host.Options{}, err
	}
	opened := o.Options
	opened.Log, opened.Version = log, version()
	opened.Env, err = parseEnv(o.env)
	return opened, err
}

func (o *options) log() (hclog.Logger, error) {
	level := hclog.LevelFromString(o.logLevel)
	if level == hclog.NoLevel {
		return nil, usage.Errorf("--log-level: %q is not one of %s", o.logLevel, strings.Join(logLevels, ", "))
	}
	if o.stderr != nil {
		return o.logTo(o.stderr, level), nil
	}
	return o.logTo(os.Stderr, level), nil
}

func (o *options) logTo(w io.Writer, level hclog.Level) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{Name: "bulkhead", Level: level, Output: w, JSONFormat: o.logJSON})
}

// parseEnv parses NAME=VALUE and NAME. Errors do not contain values, which are often secret.
func parseEnv(pairs []string) (map[string]string, error) {
	env, lookup := map[string]string{}, discovery.LookupEnv(discovery.System{})
	for _, pair := range pairs {
		name, value, given := strings.Cut(pair, "=")
		if name == "" {
			return nil, usage.Errorf("--env: the name of the variable is missing: write NAME=VALUE")
		}
		if !given {
			var set bool
			if value, set = lookup(name); !set {
				return nil, usage.Errorf("--env: %s is not set here: write %s=VALUE", name, name)
			}
		}
		if _, twice := env[name]; twice {
			return nil, usage.Errorf("--env: %s is given twice", name)
		}
		env[name] = value
	}
	return env, nil
}

// completePlugins completes the names of the plugins that the host discovers with the other flags.
func (o *options) completePlugins(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	o.Plugins = nil
	var names []string
	if h, err := o.openToComplete(); err == nil {
		for _, p := range h.Plugins() {
			names = append(names, cobra.CompletionWithDesc(p.Name, visible.Text(firstLine(p.Description))))
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// must panics on an error that only a bug in this program can cause.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
