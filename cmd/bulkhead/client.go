package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/client"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/install"
	"github.com/bulkhead-mcp/bulkhead/internal/base/term"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/sdk/transaction"
)

func newClient() *cobra.Command {
	c := &cobra.Command{
		Use:   "client",
		Short: "Add the server to MCP clients",
		Long: `Edit the configuration of MCP clients, so that they start the server.

The clients are ` + wrapped(client.IDs()) + `.`,
		Example: `  bulkhead client list
  bulkhead client add claude-code
  bulkhead client add --all --config ~/bulkhead.toml
  bulkhead client remove cursor`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newClientAdd(), newClientRemove(), newClientList())
	return c
}

// wrapped joins names by commas, and breaks the list into two lines.
func wrapped(names []string) string {
	half := (len(names) + 1) / 2
	return strings.Join(names[:half], ", ") + ",\n" + strings.Join(names[half:], ", ")
}

// clientCommand contains the flags of client add and client remove.
type clientCommand struct {
	host                     host.Options
	options                  client.Options
	scope                    string
	all, yes, dryRun, asJSON bool

	plan func(c *client.Client, s client.System, o client.Options) (*client.Change, error)
	adds bool   // whether plan adds an entry
	none string // why the file of a client needs no change
	asks bool   // whether to ask for consent; begin sets it

	replace, publicWeb bool // only add has these
}

// done is the past tense of actions.
var done = map[client.Action]string{
	client.ActionAdd: "Added %s to %s.", client.ActionUpdate: "Updated %s in %s.", client.ActionRemove: "Removed %s from %s.",
}

func newClientAdd() *cobra.Command {
	a := clientCommand{plan: client.Add, adds: true, none: "has this entry already"}
	c := &cobra.Command{
		Use:   "add CLIENT… [flags]",
		Short: "Have MCP clients start the server",
		Long: `Add an entry to the configuration of MCP clients that starts "bulkhead serve" with the
absolute path of this program, or update the entry. The difference is shown first. All
else in the file is kept: entries, comments, format, permissions, a symbolic link to it.
A copy of the file is saved in the state directory.

If the claude or codex command is installed, and keeps the rest of the file, it makes the
change. Entries for one project (--scope project) are in a file that is meant to be shared.

With --replace, entries of the reference servers filesystem, git, memory, fetch and time
are removed too. The plugins of these names are added to the user's config, or to that of
the project with --scope project, with the grants that the entries have. An entry that is
not understood completely, or would need more, is left, with the reason. All files change
in one transaction. "client remove" brings the entries back; the config stays.

Exit codes: 0 success; 1 no consent; 2 the entry cannot be added (an invalid file, a
different entry of that name), or consent cannot be asked for.`,
		Example: `  bulkhead client add claude-code
  bulkhead client add claude-desktop --project ~/src/app --config ~/src/app/bulkhead.toml
  bulkhead client add vscode cursor --scope project
  bulkhead client add --all --dry-run        # every client that is installed
  bulkhead client add codex --name chant --plugins /opt/plugins/chant --yes
  bulkhead client add claude-desktop --replace --dry-run
  bulkhead client add --all --replace --public-web   # fetch may read the public web`,
		Args:      knownClients,
		ValidArgs: client.IDs(),
		RunE: func(c *cobra.Command, ids []string) error {
			if a.replace {
				return a.runReplace(c, ids)
			}
			if a.publicWeb {
				return usage.Errorf("--public-web has no effect without --replace: remove the flag")
			}
			return a.run(c, ids)
		},
	}
	f := c.Flags()
	a.flags(c)
	f.BoolVar(&a.replace, "replace", false, "replace entries of reference servers by plugins, with the same grants")
	f.BoolVar(&a.publicWeb, "public-web", false, publicWebUsage)
	f.BoolVar(&a.all, "all", false, "all clients that are installed: their program is in PATH, or their directory exists")
	f.StringVar(&a.options.Serve.Config, "config", "", "config `file` that the server uses (default: what it discovers)")
	f.StringVar(&a.options.Serve.Plugins, "plugins", "", "`directory` of plugins that the server uses if there is no config")
	return c
}

func newClientRemove() *cobra.Command {
	a := clientCommand{plan: client.Remove, none: "has no such entry"}
	c := &cobra.Command{
		Use:   "remove CLIENT… [flags]",
		Short: "Remove the server from MCP clients",
		Long: `Remove the entry that "bulkhead client add" has added from the configuration of MCP
clients. The lines are shown first. All else in the file is kept, and a copy of it is
saved in the state directory. An entry that starts a different program is refused.

With --all, the entries that are left are listed: those of other names and scopes, of
this project and of projects whose config is trusted.

Exit codes: 0 success; 1 no consent; 2 the entry cannot be removed, or consent cannot be
asked for.`,
		Example: `  bulkhead client remove cursor
  bulkhead client remove vscode --scope project --yes
  bulkhead client remove --all --dry-run`,
		Args:      knownClients,
		ValidArgs: client.IDs(),
		RunE:      func(c *cobra.Command, ids []string) error { return a.run(c, ids) },
	}
	a.flags(c)
	c.Flags().BoolVar(&a.all, "all", false, "all clients that are installed")
	return c
}

func knownClients(_ *cobra.Command, ids []string) error {
	_, err := client.FindAll(ids)
	return err
}

func (a *clientCommand) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&a.scope, "scope", string(client.UserScope), "whose `entry`: user (in all projects), or project (for everyone in it)")
	f.StringVar(&a.options.Name, "name", client.DefaultName, "`name` of the entry")
	f.StringVar(&a.host.Project, "project", "", "`directory` of the project: passed to the server, and used by --scope project\n(default there: as for serve)")
	f.BoolVarP(&a.yes, "yes", "y", false, "change the files without a prompt")
	f.BoolVar(&a.dryRun, "dry-run", false, "show everything, change nothing")
	f.BoolVar(&a.asJSON, "json", false, "print JSON: {\"changes\": [{\"client\", \"file\", \"action\", \"diff\", \"changed\", …}], \"errors\"};\nnever prompts")
	must(c.RegisterFlagCompletionFunc("scope", cobra.FixedCompletions([]string{"user", "project"}, cobra.ShellCompDirectiveNoFileComp)))
}

// begin selects the system and the clients, and ends the change of a process that was killed.
func (a *clientCommand) begin(c *cobra.Command, ids []string) (client.System, []*client.Client, error) {
	a.asks = !a.yes && !a.dryRun
	if a.asks && (a.asJSON || !term.IsTerminal(c.InOrStdin())) {
		return client.System{}, nil, usage.Errorf("cannot ask for consent: pass --yes to change the files, or --dry-run to only show the difference")
	}
	system, which, err := a.complete(ids)
	if err != nil {
		return system, nil, err
	}
	if a.dryRun {
		interrupted, err := client.IsInterrupted(system)
		if interrupted {
			fmt.Fprintln(os.Stderr, "bulkhead: an earlier change of clients was interrupted, or is in progress. The files are shown as it left them; the next change without --dry-run ends it")
		}
		return system, which, err
	}
	report, err := client.Recover(system)
	if report.Outcome != transaction.Nothing {
		fmt.Fprintf(os.Stderr, "bulkhead: an earlier change of clients was interrupted, and is now %s\n", report.Outcome)
	}
	for _, file := range report.Kept {
		fmt.Fprintf(os.Stderr, "bulkhead: %s was changed since, and is left as it is\n", oneLine(file))
	}
	return system, which, err
}

func (a *clientCommand) run(c *cobra.Command, ids []string) error {
	stdin, stdout := c.InOrStdin(), c.OutOrStdout()
	system, which, err := a.begin(c, ids)
	if err != nil {
		return err
	}
	changes, failed := []*client.Change{}, []error(nil)
	pending := 0
	for _, one := range which {
		options, err := a.optionsFor(c.Context(), stdin, one, system)
		var change *client.Change
		if err == nil {
			change, err = a.plan(one, system, options)
		}
		if err != nil {
			failed = append(failed, err)
			continue
		}
		changes = append(changes, change)
		if change.Action != client.ActionNone {
			pending++
		}
	}
	text := textOf(stdout, a.asJSON)
	a.printChanges(text, changes)
	for _, err := range failed {
		report(err)
	}
	if a.asks && pending > 0 {
		if err := confirm(c.Context(), stdin, fmt.Sprintf("Change %s", counted(pending, "file"))); err != nil {
			return err
		}
	}
	if !a.dryRun {
		failed = append(failed, a.apply(c.Context(), text, changes)...)
	} else if pending > 0 {
		fmt.Fprintln(text, "\nNothing was changed.")
	}
	var left []client.Left
	if a.all && !a.adds {
		projects, err := install.TrustedProjects(a.host)
		if err != nil {
			report(err) // of the records that are ignored
		}
		left = client.LeftBy(changes, system, projects)
		printLeft(text, left)
	}
	if a.asJSON {
		texts := []string{}
		for _, err := range failed {
			texts = append(texts, err.Error())
		}
		result := map[string]any{"changes": changes, "errors": texts}
		if left != nil {
			result["left"] = left
		}
		if err := printJSON(stdout, result); err != nil {
			return err
		}
	}
	if len(failed) > 0 {
		return exitStatus(exitUsage) // the errors have been printed
	}
	return nil
}

// printLeft prints the entries that remove leaves.
func printLeft(w io.Writer, left []client.Left) {
	for i, l := range left {
		if i == 0 {
			fmt.Fprintln(w, "\nThese entries are left:")
		}
		where := ""
		if l.Scope == client.LocalScope {
			where = ", run in " + oneLine(l.Project)
		}
		fmt.Fprintf(w, "  %s: %s in %s\n    remedy: %s%s\n", l.Title, oneLine(l.Name), oneLine(l.File), oneLine(l.RemoveLine()), where)
	}
}

// complete returns the system and the clients that the flags and arguments select.
func (a *clientCommand) complete(ids []string) (client.System, []*client.Client, error) {
	if a.all == (len(ids) > 0) {
		return client.System{}, nil, usage.Errorf("name clients or pass --all: the clients are %s", strings.Join(client.IDs(), ", "))
	}
	a.options.Scope = client.Scope(a.scope)
	if a.options.Scope != client.UserScope && a.options.Scope != client.ProjectScope {
		return client.System{}, nil, usage.Errorf("--scope: %q is not user or project", a.scope)
	}
	for flag, path := range map[string]*string{"--config": &a.options.Serve.Config, "--plugins": &a.options.Serve.Plugins} {
		if *path == "" {
			continue
		}
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return client.System{}, nil, err
		}
		if err := client.CheckPath(absolute, flag == "--plugins"); err != nil {
			return client.System{}, nil, usage.Errorf("%s: %w", flag, err)
		}
		*path = absolute
	}
	o := a.host
	if client.IsVariable(o.Project) {
		a.options.Serve.Project, o.Project = o.Project, ""
	}
	system, err := client.NewSystem(o, runtime.GOOS)
	if err != nil {
		return system, nil, err
	}
	if o.Project != "" {
		a.options.Serve.Project = system.Project
	}
	if a.all {
		which := client.Installed(system, a.options.Scope)
		if len(which) == 0 {
			err = usage.Errorf("no installed client has a file for the scope %s: name a client: %s", a.scope, strings.Join(client.IDs(), ", "))
		}
		return system, which, err
	}
	which, err := client.FindAll(ids)
	return system, which, err
}

// optionsFor returns the options of the entry of a client. At a terminal it asks for the project of a client that does not start servers in it.
func (a *clientCommand) optionsFor(ctx context.Context, stdin io.Reader, c *client.Client, s client.System) (client.Options, error) {
	o := a.options
	if !a.asks || !a.adds || !c.LacksProject(o) {
		return o, nil
	}
	otherwise := "empty for none"
	if s.Project != "" {
		otherwise = "empty for " + oneLine(s.Project)
	}
	answer := strings.TrimSpace(ask(ctx, stdin, maxProject, fmt.Sprintf("%s does not start servers in your project. Its directory (%s): ", c.Title, otherwise)))
	if answer == "" {
		o.Serve.Project = s.Project
		return o, nil
	}
	named, err := client.NewSystem(host.Options{Project: answer}, runtime.GOOS)
	o.Serve.Project = named.Project
	return o, err
}

// maxProject is the maximum size of the answer that names a project, in bytes.
const maxProject = 4096

// apply makes the changes, and prints what the user has to do next. It continues after an error, since the files are independent.
func (a *clientCommand) apply(ctx context.Context, text io.Writer, changes []*client.Change) []error {
	var failed []error
	for _, change := range changes {
		if change.Action == client.ActionNone {
			continue
		}
		if err := change.Apply(ctx); err != nil {
			failed = append(failed, err)
			report(err)
			continue
		}
		fmt.Fprintf(text, "\n"+done[change.Action]+"\n", change.Name, change.Title)
		if len(change.Restores) > 0 {
			fmt.Fprintf(text, "  back    %s\n", oneLine(strings.Join(change.Restores, ", ")))
		}
		if change.Backup != "" {
			fmt.Fprintf(text, "  backup  %s\n", oneLine(change.Backup))
		}
		fmt.Fprintf(text, "  next    %s\n", change.Next)
	}
	return failed
}

func (a *clientCommand) printChanges(to io.Writer, changes []*client.Change) {
	w, style := bufio.NewWriter(to), term.StyleOf(to)
	defer w.Flush()
	for i, c := range changes {
		if i > 0 {
			fmt.Fprintln(w)
		}
		file := oneLine(c.File)
		if c.Target != "" {
			file += " -> " + oneLine(c.Target)
		}
		if c.Action == client.ActionNone {
			fmt.Fprintf(w, "%s: %s %s.\n", c.Title, file, a.none)
			continue
		}
		if c.Creates {
			file += " (new)"
		}
		fmt.Fprintf(w, "%s: %s, in %s\n\n", c.Title, file, oneLine(c.In))
		for _, line := range c.Diff {
			fmt.Fprintf(w, "  %s\n", paintChange(style, visible.Text(line)))
		}
		if line := c.CommandLine(); line != "" {
			fmt.Fprintf(w, "\n  by %s\n", oneLine(line))
		}
		for _, note := range c.Notes {
			fmt.Fprintf(w, "\n  note: %s\n", oneLine(note))
		}
	}
}

// counted returns a number with a noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
