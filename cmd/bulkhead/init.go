package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/client"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/codecache"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/install"
	"github.com/bulkhead-mcp/bulkhead/internal/base/ownedpath"
	"github.com/bulkhead-mcp/bulkhead/internal/base/term"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

// initCommand contains the flags of init.
type initCommand struct {
	host                host.Options
	names, env          []string
	all, allowWrite     bool
	publicWeb           bool
	yes, dryRun, asJSON bool
}

func newInit() *cobra.Command {
	var i initCommand
	c := &cobra.Command{
		Use:   "init [flags]",
		Short: "Prepare a project: choose plugins, grant what they need, try them",
		Long: `Prepare the project for installed plugins: write a bulkhead.toml that lists them with what
they are granted, create the files without which they cannot work, such as .chant, trust
the config, and make one call of each plugin. Everything is shown first.

The config names the plugins instead of their directories, and contains ${project} and
${home} instead of paths, so that it can be shared. A config that exists is extended:
tables of plugins that it has already are not changed.

Installed plugins are those in the directory of --plugins, else of $BULKHEAD_PLUGINS,
else in plugins/ beside this program.

Exit codes: 0 every plugin answers; 1 no consent, or a plugin does not answer; 2 the
project cannot be prepared, or consent cannot be asked for.`,
		Example: `  bulkhead init                                # asks which plugins
  bulkhead init --plugin chant --plugin openspec
  bulkhead init --plugin mcpkg --env MCPKG_PROJECT=orchard --yes
  bulkhead init --all --dry-run`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return i.run(c.Context(), c.InOrStdin(), c.OutOrStdout()) },
	}
	f := c.Flags()
	f.StringArrayVar(&i.names, "plugin", nil, "`name` of a plugin, repeatable (default: asks)")
	f.BoolVar(&i.all, "all", false, "all installed plugins")
	f.StringArrayVar(&i.env, "env", nil, "value of a variable that a plugin requests: `NAME=VALUE`, repeatable")
	f.BoolVar(&i.allowWrite, "allow-write", false, "offer the write tools of plugins with write = \"opt-in\"")
	f.BoolVar(&i.publicWeb, "public-web", false, publicWebUsage)
	projectFlag(c, &i.host)
	f.StringVar(&i.host.ConfigFile, "config", "", "config `file` (default: bulkhead.toml in the working directory if it exists, else\nin the project)")
	f.StringVar(&i.host.PluginsDir, "plugins", "", "`directory` of installed plugins")
	f.BoolVarP(&i.yes, "yes", "y", false, "do it without a prompt")
	f.BoolVar(&i.dryRun, "dry-run", false, "show everything, change nothing")
	f.BoolVar(&i.asJSON, "json", false, "print JSON: {\"config\", \"plugins\": [{\"name\", \"call\", …}], \"created\", \"calls\": [{\"tool\", \"ok\", …}]};\nnever prompts")
	must(c.RegisterFlagCompletionFunc("plugin", i.completeNames))
	return c
}

// completeNames completes the names of installed plugins.
func (i *initCommand) completeNames(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	choices, _, _ := install.Choices(i.host) // without plugins there is nothing to complete
	var names []string
	for _, c := range choices {
		names = append(names, cobra.CompletionWithDesc(c.Name, visible.Text(firstLine(c.Description))))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// initialized is the result of init.
type initialized struct {
	*install.Setup
	Written bool        `json:"written"`
	Created []string    `json:"created"`
	Calls   []firstCall `json:"calls"`
	List    string      `json:"list,omitempty"` // what the list of tools costs
	Next    []string    `json:"next,omitempty"` // commands
	Error   string      `json:"error,omitempty"`
}

// firstCall is the first call of a plugin.
type firstCall struct {
	Plugin string `json:"plugin"`
	Tool   string `json:"tool,omitempty"`
	OK     bool   `json:"ok"`
	Text   string `json:"text,omitempty"` // text of the answer if the call failed, or the reason why no call was made
}

func (i *initCommand) run(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
	asks := !i.yes && !i.dryRun
	if asks && (i.asJSON || !term.IsTerminal(stdin)) {
		return usage.Errorf("cannot ask for consent: pass --plugin NAME (or --all) and --yes to prepare the project, or --dry-run to only show what would be done")
	}
	env, err := parseEnv(i.env)
	if err != nil {
		return err
	}
	if err := i.choose(ctx, stdin, stdout, asks); err != nil {
		return err
	}
	setup, err := install.ProposeSetup(i.host, install.Preparation{Plugins: i.names, Env: env, PublicWeb: i.publicWeb, AllowWrite: i.allowWrite})
	if err != nil {
		return err
	}
	text := textOf(stdout, i.asJSON)
	printSetup(text, setup)
	if asks && setup.Changes() {
		if err := confirm(ctx, stdin, "Prepare "+oneLine(setup.Project)); err != nil {
			return err
		}
	}
	result := initialized{Setup: setup, Created: []string{}, Calls: []firstCall{}}
	if i.dryRun {
		if !i.asJSON {
			fmt.Fprintln(stdout, "\nNothing was changed.")
			return nil
		}
		return printJSON(stdout, result)
	}
	return i.apply(ctx, stdout, &result)
}

// choose sets the names of the plugins, and asks for them if no flag does.
func (i *initCommand) choose(ctx context.Context, stdin io.Reader, stdout io.Writer, asks bool) error {
	if i.all && len(i.names) > 0 {
		return usage.Errorf("--all and --plugin contradict each other: keep one of the two")
	}
	if len(i.names) > 0 {
		return nil
	}
	choices, dir, err := install.Choices(i.host)
	if err != nil {
		return err
	}
	var names []string
	for _, c := range choices {
		names = append(names, c.Name)
	}
	if i.all {
		i.names = names
		return nil
	}
	if !asks {
		return usage.Errorf("name the plugins with --plugin, or pass --all: the plugins in %s are %s", dir, strings.Join(slices.Sorted(slices.Values(names)), ", "))
	}
	fmt.Fprintf(stdout, "The plugins in %s:\n", oneLine(dir))
	for n, c := range choices {
		if n == 0 || c.Everyday != choices[n-1].Everyday {
			fmt.Fprintf(stdout, "\n%s\n", map[bool]string{true: "For every day:", false: "For workflows of projects that are prepared for them:"}[c.Everyday])
		}
		fmt.Fprintf(stdout, " %2d  %-10s  %s\n                 needs %s\n", n+1, c.Name, excerpt(c.Description), oneLine(c.Needs))
	}
	i.names, err = askNames(ctx, stdin, names)
	return err
}

// askNames asks for names, or their numbers.
func askNames(ctx context.Context, stdin io.Reader, names []string) ([]string, error) {
	answer := ask(ctx, stdin, 1024, "\nWhich ones? Names or numbers, or all: ")
	var chosen []string
	for _, word := range strings.FieldsFunc(answer, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' || r == '\r' }) {
		n, err := strconv.Atoi(word)
		switch {
		case word == "all":
			return names, nil
		case err == nil && n >= 1 && n <= len(names):
			word = names[n-1]
		case !slices.Contains(names, word):
			return nil, usage.Errorf("%q is neither the name nor the number of a plugin: %s", word, usage.DidYouMean(word, names, "the plugins are "+strings.Join(slices.Sorted(slices.Values(names)), ", ")))
		}
		if !slices.Contains(chosen, word) {
			chosen = append(chosen, word)
		}
	}
	if len(chosen) == 0 {
		fmt.Fprintln(os.Stderr, "Nothing was changed.")
		return nil, exitStatus(exitNo)
	}
	return chosen, nil
}

// apply makes the changes, then the calls, and prints both. It reports created files even after an error.
func (i *initCommand) apply(ctx context.Context, stdout io.Writer, r *initialized) error {
	text := textOf(stdout, i.asJSON)
	created, failed := r.Write()
	printUnrecorded(r.Unrecorded)
	r.Created, r.Written = append(r.Created, created...), failed == nil
	for _, path := range created {
		fmt.Fprintf(text, "created  %s\n", inProject(r.Project, path))
	}
	if failed == nil {
		printConfigTrust(text, i.host, r.Trust)
		failed = i.callAll(ctx, text, r)
	}
	if failed == nil {
		r.Next, failed = i.next(r.Setup)
	}
	if i.asJSON {
		if failed != nil {
			r.Error = failed.Error()
		}
		if err := printJSON(stdout, r); err != nil {
			return err
		}
	}
	if failed != nil {
		return failed
	}
	if slices.ContainsFunc(r.Calls, func(c firstCall) bool { return !c.OK }) {
		fmt.Fprintln(text, "\nThe config is in force. Correct what the failed calls report, then run bulkhead init again: it changes nothing that exists.")
		return exitStatus(exitNo)
	}
	fmt.Fprintf(text, "\nNext: have a client start the server, in this project:\n\n")
	for _, line := range r.Next {
		fmt.Fprintf(text, "  %s\n", line)
	}
	return nil
}

// callAll makes the first call of each plugin.
func (i *initCommand) callAll(ctx context.Context, text io.Writer, r *initialized) error {
	o := options{Options: i.host, logLevel: "error"}
	o.Project = r.Project
	if o.ConfigFile == "" {
		o.System.Dir = filepath.Dir(r.Config)
	}
	if err := i.compile(ctx, o, r.Plugins); err != nil {
		return err
	}
	h, err := o.open()
	if err != nil {
		return err
	}
	for _, p := range r.Plugins {
		c := i.call(ctx, h, p)
		r.Calls = append(r.Calls, c)
		switch {
		case c.OK && c.Tool == "":
			fmt.Fprintf(text, "ok       %s: %s\n", c.Plugin, excerpt(c.Text))
		case c.OK:
			fmt.Fprintf(text, "ok       %s: %s answers\n", c.Plugin, c.Tool)
		default:
			fmt.Fprintf(text, "failed   %s: %s\n", c.Plugin, excerpt(c.Text))
		}
	}
	r.List = h.DescribeList()
	fmt.Fprintf(text, "\n%s: bulkhead tools --tokens shows each.\n", oneLine(r.List))
	return closeHost(ctx, h, os.Stderr)
}

// compile compiles the modules that are not in the cache yet, concurrently, and shows the progress. A module that cannot be compiled is
// no error here: the call of its plugin fails with the reason.
func (i *initCommand) compile(ctx context.Context, o options, plugins []install.SetupPlugin) error {
	tasks := tasksOn(os.Stderr, i.asJSON)
	defer tasks.Close()
	tasks.RepeatSteps(stepInterval)
	for _, p := range plugins {
		if p.Call != "" && len(p.Lacks) == 0 {
			o.Plugins = append(o.Plugins, p.Name)
		}
	}
	if len(o.Plugins) == 0 {
		return nil
	}
	o.logLevel = "off" // the host that makes the calls logs
	opened, err := o.complete()
	if err != nil {
		return err
	}
	_, err = codecache.Warm(ctx, opened, showWarming(tasks))
	if err == nil || ctx.Err() != nil || errors.As(err, new(*usage.Error)) {
		return err
	}
	// There is no usable cache, so each call compiles its plugin. The host that makes the calls logs an unsafe cache as an error.
	if !errors.As(err, new(*ownedpath.Error)) {
		fmt.Fprintf(tasks, "compiled modules are not kept: %s\n", oneLine(err.Error()))
	}
	return nil
}

// stepInterval is how often a step that continues is reported where lines cannot be redrawn.
const stepInterval = 10 * time.Second

// call makes the first call of a plugin.
func (i *initCommand) call(ctx context.Context, h *host.Host, p install.SetupPlugin) firstCall {
	c := firstCall{Plugin: p.Name, Tool: p.Call}
	switch {
	case len(p.Lacks) > 0:
		c.Text = strings.Join(p.Lacks, "; ")
		return c
	case p.Call == "":
		c.OK, c.Text = true, "not called: no tool of it reads without arguments"
		return c
	}
	if why := h.Refusal(p.Call); why != "" {
		c.Text = why
		return c
	}
	if !i.asJSON {
		fmt.Fprintf(os.Stderr, "calling %s\n", p.Call)
	}
	answer, err := h.Call(ctx, p.Call, nil, host.Client{})
	switch {
	case ctx.Err() != nil:
		c.Text = "interrupted"
	case err != nil:
		c.Text = err.Error()
	case answer.Error != nil:
		c.Text = answer.Error.Message
	case answer.IsError:
		c.Text = string(answer.Result)
	default:
		c.OK = true
	}
	return c
}

// next returns the commands that add the server to the clients that are installed, or to one as an example.
func (i *initCommand) next(s *install.Setup) ([]string, error) {
	system, err := client.NewSystem(host.Options{Project: s.Project}, runtime.GOOS)
	if err != nil {
		return nil, err
	}
	clients := client.Installed(system, client.UserScope)
	if len(clients) == 0 {
		clients, err = client.FindAll(client.IDs()[:1])
	}
	config, plugins := "", cmp.Or(i.host.PluginsDir, os.Getenv("BULKHEAD_PLUGINS"))
	if i.host.ConfigFile != "" {
		config = s.Config
	}
	if plugins != "" {
		var aerr error
		plugins, aerr = filepath.Abs(plugins)
		err = errors.Join(err, aerr)
	}
	var lines []string
	for _, c := range clients {
		lines = append(lines, c.AddLine(config, plugins))
	}
	return lines, err
}
